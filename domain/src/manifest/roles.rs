//! Custom roles.
//!
//! What is not here: who holds one (`access`), and where they may be named (`permissions`).

use std::{collections::BTreeMap, sync::Arc};

use super::{
    members::{Members, is_name},
    model::Role,
    shape::TopLevel,
    violations::{Violations, at},
};

/// Roles of one app.
const ROLES_MAX: usize = 50;
/// Characters of a role's title.
const TITLE_CHARS_MAX: usize = 100;
/// Subjects of the service itself, which a role cannot be called. `editor` is missing on purpose:
/// see [`super::permissions`].
const RESERVED: [&str; 6] = ["owner", "member", "anyone", "creator", "author", "agent"];

/// The roles, and what is `invalid` about them.
pub(super) fn parse(top: &TopLevel<'_>, invalid: &mut Violations) -> BTreeMap<Arc<str>, Role> {
    let mut roles = BTreeMap::new();
    let declared = top.object("roles");
    if declared.len() > ROLES_MAX {
        let message = format!("has {} roles, at most {ROLES_MAX} are allowed", declared.len());
        invalid.push("/roles", message);
    }
    for (name, value) in declared {
        let path = at("/roles", name);
        if !is_name(name) {
            invalid.push(
                path.clone(),
                "a role's name is a lowercase letter, then lowercase letters, digits, _ or -; at \
                 most 64 characters",
            );
        }
        if RESERVED.contains(&name.as_str()) {
            invalid.push(path.clone(), format!("{name:?} is a built-in subject"));
        }
        if !top.looks_into(name) {
            continue;
        }
        let Some(mut members) = Members::open(value, path, &["title"], invalid) else {
            continue;
        };
        let title = match members.get("title") {
            None => None,
            Some(_) => members.text("title", TITLE_CHARS_MAX).map(str::to_owned),
        };
        roles.insert(Arc::from(name.as_str()), Role { title });
    }
    roles
}
