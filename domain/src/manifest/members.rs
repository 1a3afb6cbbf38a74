//! Reading the members of one object of the manifest, with a violation for each that does not fit,
//! and the small grammars that several rules share.
//!
//! What is not here: which members an object has; each rule says so itself.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};

use super::{
    Mode,
    model::{Collection, Role},
    schemas::Schemas,
    violations::{Violations, at, quoted, quoted_text},
};
use crate::json::whole;

/// Bytes of a collection's, role's or event type's name.
pub(super) const NAME_BYTES_MAX: usize = 64;
/// Characters of a field name.
pub(super) const FIELD_CHARS_MAX: usize = 128;
/// Characters of a dotted path.
pub(super) const DOT_PATH_CHARS_MAX: usize = 256;
/// Segments of a dotted path.
const DOT_PATH_SEGMENTS_MAX: usize = 16;

/// What the rules that react to rows may refer to.
pub(super) struct Scope<'a> {
    pub(super) collections: &'a BTreeMap<Arc<str>, Arc<Collection>>,
    pub(super) schemas: &'a Schemas<'a>,
    pub(super) roles: &'a BTreeMap<Arc<str>, Role>,
    /// Whether the app will be public.
    pub(super) public: bool,
    /// Whether mail may go to people who are not members.
    pub(super) external_sending: bool,
    /// One that was admitted before is not judged anew.
    pub(super) mode: Mode,
}

impl Scope<'_> {
    /// Whether rows of the collection can have the top-level member `field`.
    pub(super) fn admits(&self, collection: &Collection, field: &str) -> bool {
        self.schemas.admits(collection.schema.as_ref(), field)
    }

    /// Whether the member can be a date.
    pub(super) fn admits_date(&self, collection: &Collection, field: &str) -> bool {
        self.schemas.admits_date(collection.schema.as_ref(), field)
    }
}

/// One object of the manifest while it is read.
pub(super) struct Members<'a, 'v> {
    map: &'a Map<String, Value>,
    path: String,
    pub(super) violations: &'v mut Violations,
}

/// What is said of a member that is not among `known`.
pub(super) fn unknown(known: &[&str]) -> String {
    format!("unknown member; known: {}", known.join(", "))
}

impl<'a, 'v> Members<'a, 'v> {
    /// The object at `path`, with a violation for each member that is not in `known`; a violation and
    /// `None` if it is something else.
    pub(super) fn open(
        value: &'a Value,
        path: String,
        known: &[&str],
        violations: &'v mut Violations,
    ) -> Option<Self> {
        let Value::Object(map) = value else {
            violations.push(path, format!("must be an object, not {}", quoted(value)));
            return None;
        };
        for name in map.keys().filter(|name| !known.contains(&name.as_str())) {
            violations.push(at(&path, name), unknown(known));
        }
        Some(Self::of(map, path, violations))
    }

    /// The object at `path`, whose members were looked at.
    pub(super) const fn of(
        map: &'a Map<String, Value>,
        path: String,
        violations: &'v mut Violations,
    ) -> Self {
        Self { map, path, violations }
    }

    pub(super) fn at(&self, name: &str) -> String {
        at(&self.path, name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name)
    }

    pub(super) fn refuse(&mut self, name: &str, message: impl Into<String>) {
        let path = self.at(name);
        self.violations.push(path, message);
    }

    /// A required member; a violation if it is missing.
    pub(super) fn required(&mut self, name: &str) -> Option<&'a Value> {
        let value = self.map.get(name);
        if value.is_none() {
            self.refuse(name, "is required");
        }
        value
    }

    /// A required text of 1 to `chars_max` characters that is not blank.
    pub(super) fn text(&mut self, name: &str, chars_max: usize) -> Option<&'a str> {
        match self.required(name)? {
            Value::String(text) if text.trim().is_empty() => {
                self.refuse(name, "must not be blank");
                None
            }
            Value::String(text) if text.chars().nth(chars_max).is_some() => {
                self.refuse(name, format!("has at most {chars_max} characters"));
                None
            }
            Value::String(text) => Some(text),
            other => {
                self.refuse(name, format!("must be a string, not {}", quoted(other)));
                None
            }
        }
    }

    /// An optional boolean, `false` when absent.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        match self.get(name) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                self.refuse(name, format!("must be true or false, not {}", quoted(other)));
                false
            }
        }
    }

    /// An optional whole number from 1 to `max`.
    pub(super) fn count(&mut self, name: &str, max: u64) -> Option<u64> {
        let value = self.get(name)?;
        let count = whole(value).and_then(|count| u64::try_from(count).ok());
        let count = count.filter(|count| (1..=max).contains(count));
        if count.is_none() {
            let shown = quoted(value);
            self.refuse(name, format!("must be a whole number from 1 to {max}, not {shown}"));
        }
        count
    }

    /// One of `choices`, if the member is there.
    pub(super) fn choice<T: Copy>(&mut self, name: &str, choices: &[(&str, T)]) -> Option<T> {
        let value = self.get(name)?;
        let chosen = value
            .as_str()
            .and_then(|text| choices.iter().find(|(word, _)| *word == text))
            .map(|(_, choice)| *choice);
        if chosen.is_none() {
            let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
            let shown = quoted(value);
            self.refuse(name, format!("must be one of {}, not {shown}", words.join(", ")));
        }
        chosen
    }

    /// A required one of `choices`.
    pub(super) fn required_choice<T: Copy>(
        &mut self,
        name: &str,
        choices: &[(&str, T)],
    ) -> Option<T> {
        self.required(name)?;
        self.choice(name, choices)
    }

    /// The strings of an array member, each with its pointer.
    pub(super) fn strings(&mut self, name: &str) -> Vec<(String, &'a str)> {
        let Some(value) = self.get(name) else { return Vec::new() };
        let path = self.at(name);
        let Value::Array(items) = value else {
            self.violations.push(path, format!("must be an array, not {}", quoted(value)));
            return Vec::new();
        };
        let mut strings = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match item {
                Value::String(text) => strings.push((at(&path, index), text.as_str())),
                other => self
                    .violations
                    .push(at(&path, index), format!("must be a string, not {}", quoted(other))),
            }
        }
        strings
    }

    /// The same, required and with at least one entry.
    pub(super) fn some_strings(&mut self, name: &str) -> Vec<(String, &'a str)> {
        match self.required(name) {
            Some(Value::Array(items)) if items.is_empty() => {
                self.refuse(name, "must not be empty");
                Vec::new()
            }
            _ => self.strings(name),
        }
    }

    /// The required member `collection`, which names a declared one.
    pub(super) fn collection(&mut self, scope: &Scope<'_>) -> Option<Arc<Collection>> {
        let value = self.required("collection")?;
        let found = value.as_str().and_then(|name| scope.collections.get(name));
        if found.is_none() {
            let shown = quoted(value);
            self.refuse("collection", format!("no collection {shown} is declared"));
        }
        found.cloned()
    }
}

/// The grammar of collection names: a lowercase letter, then lowercase letters, digits, `_` or
/// `-`; at most 64 characters. Roles and event types share it.
pub(super) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    text.len() <= NAME_BYTES_MAX
        && bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
}

/// A top-level field of row data.
pub(super) fn is_field(text: &str) -> bool {
    !text.is_empty()
        && text.chars().nth(FIELD_CHARS_MAX).is_none()
        && !text.chars().any(char::is_control)
}

/// A dotted path into a JSON body: fields joined by `.`.
pub(super) fn is_dot_path(text: &str) -> bool {
    text.split('.').count() <= DOT_PATH_SEGMENTS_MAX && text.split('.').all(is_field)
}

/// What to say about a field that the collection's schema rules out.
pub(super) fn no_such_field(collection: &str, field: &str) -> String {
    format!("rows of {collection:?} cannot have the field {}", quoted_text(field))
}
