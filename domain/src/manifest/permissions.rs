//! Permission lists (part 2.2): subjects, and which list may hold which.
//!
//! `editor` is a row-scoped subject and also a likely name for a role. A manifest that declares a
//! role of that name means the role wherever it writes `editor`; `author` still says "who wrote it
//! last". What is not here: deciding with the lists (`access`).

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use serde_json::Value;

use super::{
    model::{Permissions, Role},
    shape::TopLevel,
    violations::{Violations, at, quoted, quoted_text},
};
use crate::{
    ErrorCode, Result,
    access::{Subject, SubjectList},
};

/// What a list may hold and whether it may be missing or empty.
struct Rule {
    name: &'static str,
    required: bool,
    may_be_empty: bool,
    row_scoped: bool,
}

const READ: Rule = Rule { name: "read", required: true, may_be_empty: true, row_scoped: true };
const WRITE: Rule = Rule { name: "write", required: true, may_be_empty: false, row_scoped: false };
const UPDATE: Rule = Rule { name: "update", required: false, may_be_empty: true, row_scoped: true };
const DELETE: Rule = Rule { name: "delete", required: true, may_be_empty: false, row_scoped: true };
const COUNT_READ: Rule =
    Rule { name: "countRead", required: false, may_be_empty: true, row_scoped: false };

/// Reads the five lists of every collection.
///
/// # Errors
/// `permission_role_invalid`.
pub(super) fn parse<'a>(
    top: &TopLevel<'a>,
    roles: &BTreeMap<Arc<str>, Role>,
) -> Result<HashMap<&'a str, Permissions>> {
    let mut lists = Lists {
        roles,
        violations: Violations::new(ErrorCode::PermissionRoleInvalid),
        known: HashSet::new(),
    };
    let mut all = HashMap::new();
    for (name, collection) in top.collections() {
        let path = at(&at("/collections", name), "permissions");
        all.insert(name.as_str(), lists.permissions(collection.get("permissions"), &path));
    }
    top.finish(lists.violations)?;
    Ok(all)
}

struct Lists<'a> {
    roles: &'a BTreeMap<Arc<str>, Role>,
    violations: Violations,
    /// Lists seen so far: most collections of an app repeat the same few, so they share them.
    known: HashSet<SubjectList>,
}

impl Lists<'_> {
    fn permissions(&mut self, value: Option<&Value>, path: &str) -> Permissions {
        let Some(value) = value else {
            self.violations.push(path, "is required: read, write and delete at least");
            return Permissions::default();
        };
        if !value.is_object() {
            self.violations.push(path, format!("must be an object, not {}", quoted(value)));
            return Permissions::default();
        }
        let read = self.list(value, path, &READ).unwrap_or_default();
        let write = self.list(value, path, &WRITE).unwrap_or_default();
        let update = self.list(value, path, &UPDATE);
        let delete = self.list(value, path, &DELETE).unwrap_or_default();
        let count_read = self.list(value, path, &COUNT_READ).unwrap_or_default();
        if update.is_none() && write.contains(&Subject::Anyone) {
            self.violations.push(
                at(path, "update"),
                "is required because write includes anyone: declare [\"creator\"], [\"owner\"], \
                 [] or [\"anyone\"]",
            );
        }
        let update = update.unwrap_or_else(|| SubjectList::clone(&write));
        Permissions { read, write, update, delete, count_read }
    }

    fn list(&mut self, permissions: &Value, path: &str, rule: &Rule) -> Option<SubjectList> {
        let path = at(path, rule.name);
        let Some(value) = permissions.get(rule.name) else {
            if rule.required {
                self.violations.push(path, "is required");
            }
            return None;
        };
        let Value::Array(items) = value else {
            self.violations.push(path, format!("must be an array, not {}", quoted(value)));
            return Some(SubjectList::default());
        };
        if items.is_empty() && !rule.may_be_empty {
            self.violations.push(path.as_str(), "must not be empty");
        }
        let mut subjects: Vec<Subject> = Vec::with_capacity(items.len().min(8));
        let mut named = HashSet::new();
        for (index, item) in items.iter().enumerate() {
            match self.subject(item, rule) {
                Ok(subject) if named.insert(in_one_spelling(&subject)) => subjects.push(subject),
                Ok(_) => {}
                Err(message) => self.violations.push(at(&path, index), message),
            }
        }
        Some(self.shared(subjects))
    }

    fn subject(&self, item: &Value, rule: &Rule) -> std::result::Result<Subject, String> {
        let Value::String(text) = item else {
            return Err(format!("must be a string, not {}", quoted(item)));
        };
        let subject = self.named(text)?;
        if subject.is_row_scoped() && !rule.row_scoped {
            let list = rule.name;
            return Err(format!(
                "{} is decided row by row, which {list} cannot be",
                quoted_text(text)
            ));
        }
        Ok(subject)
    }

    fn named(&self, text: &str) -> std::result::Result<Subject, String> {
        if let Some((role, _)) = self.roles.get_key_value(text) {
            return Ok(Subject::Role(Arc::clone(role)));
        }
        if let Some((name, form)) = text.split_once(':') {
            let role = self.roles.get_key_value(name).map(|(role, _)| Arc::clone(role));
            return match (role, form) {
                (Some(role), "creator") => Ok(Subject::RoleCreator(role)),
                (Some(role), "own") => Ok(Subject::RoleOwn(role)),
                (Some(_), _) => {
                    Err(format!("{} is neither <role>:own nor <role>:creator", quoted_text(text)))
                }
                (None, _) => {
                    Err(format!("{} is not a custom role declared under roles", quoted_text(name)))
                }
            };
        }
        match text {
            "owner" => Ok(Subject::Owner),
            "member" => Ok(Subject::Member),
            "anyone" => Ok(Subject::Anyone),
            "creator" => Ok(Subject::Creator),
            "editor" => Ok(Subject::Editor { legacy_author: false }),
            "author" => Ok(Subject::Editor { legacy_author: true }),
            "agent" => Err("\"agent\" is retired: \"owner\" replaces it".to_owned()),
            _ => Err(format!(
                "{} is neither a built-in subject nor a role declared under roles",
                quoted_text(text)
            )),
        }
    }

    fn shared(&mut self, subjects: Vec<Subject>) -> SubjectList {
        if let Some(list) = self.known.get(&*subjects) {
            return SubjectList::clone(list);
        }
        let list = SubjectList::from(subjects);
        self.known.insert(SubjectList::clone(&list));
        list
    }
}

/// `author` and `editor` are one subject in two spellings.
fn in_one_spelling(subject: &Subject) -> Subject {
    match subject {
        Subject::Editor { .. } => Subject::Editor { legacy_author: false },
        other => other.clone(),
    }
}
