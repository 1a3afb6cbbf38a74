//! Writes to a row's data: JSON Merge Patch (RFC 7396), whole replacement, and who may change a
//! relation's field. What is not here: whether the caller may write the row (`access`) and
//! whether the result fits its schema.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use crate::{
    Error, ErrorCode, Principal, Result, json::Object, manifest::Collection, row::write_json_string,
};

/// Applies `patch` to `target` after RFC 7396, both JSON texts: members of objects merge, `null`
/// removes, anything else replaces. What the patch does not name keeps its place and its text, so
/// that a number stays as it was written, however long.
///
/// # Errors
/// When the patch is not JSON, or what it merges into is not.
pub fn merge(target: &str, patch: &str) -> serde_json::Result<String> {
    let (target, patch) = (target.trim_start(), patch.trim());
    if !is_object(patch) {
        serde_json::from_str::<IgnoredAny>(patch)?;
    }
    let mut out = String::with_capacity(target.len() + patch.len());
    write_merged(Some(target), patch, &mut out)?;
    Ok(out)
}

fn write_merged(target: Option<&str>, patch: &str, out: &mut String) -> serde_json::Result<()> {
    if !is_object(patch) {
        out.push_str(patch);
        return Ok(());
    }
    let mut patch: BTreeMap<Name<'_>, &RawValue> = serde_json::from_str(patch)?;
    let target = match target.filter(|target| is_object(target)) {
        Some(target) => serde_json::from_str(target)?,
        None => Members::default(),
    };
    let mut comma = "";
    let mut name_member = |name: &Name<'_>, out: &mut String| {
        out.push_str(std::mem::replace(&mut comma, ","));
        write_json_string(&name.0, out);
        out.push(':');
    };
    out.push('{');
    for (name, value) in target.0 {
        match patch.remove(&name) {
            None => {
                name_member(&name, out);
                out.push_str(value.get());
            }
            Some(removed) if is_null(removed) => {}
            Some(changed) => {
                name_member(&name, out);
                write_merged(Some(value.get()), changed.get(), out)?;
            }
        }
    }
    for (name, value) in patch.into_iter().filter(|(_, value)| !is_null(value)) {
        name_member(&name, out);
        // Also a new object is merged: its own nulls are removals of nothing.
        write_merged(None, value.get(), out)?;
    }
    out.push('}');
    Ok(())
}

fn is_object(text: &str) -> bool {
    text.starts_with('{')
}

fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

/// The name of a member, borrowed from the text unless it is written with escapes.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(transparent)]
struct Name<'t>(#[serde(borrow)] Cow<'t, str>);

/// The members of an object in their order.
#[derive(Default)]
struct Members<'t>(Vec<(Name<'t>, &'t RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// The data of a row after a `PATCH`: `sent` itself when it replaces, merged into `before` (the
/// text of the row's data) otherwise.
///
/// # Errors
/// `internal` when `before` is not JSON.
pub fn apply(before: &str, sent: Object, replace: bool) -> Result<Object> {
    if replace {
        return Ok(sent);
    }
    let merged = merge(before, sent.text()).map_err(|_| Error::internal())?;
    Object::of_compact(merged)
}

/// Checks that nobody but the row's creator changes the field of a relation that is declared
/// `set: "writer"` (part 2.2), by whatever kind of write, removal included.
///
/// # Errors
/// `relation_set_forbidden`, with `details.field`.
pub fn check_relations(
    collection: &Collection,
    before: &Value,
    after: &Value,
    creator: Principal,
    caller: Principal,
) -> Result<()> {
    if caller == creator {
        return Ok(());
    }
    let changed = collection.relations.iter().find(|(field, relation)| {
        relation.set_by_writer && before.get(field.as_ref()) != after.get(field.as_ref())
    });
    match changed {
        None => Ok(()),
        Some((field, _)) => Err(Error::new(
            ErrorCode::RelationSetForbidden,
            format!("`{field}` is set by the row's creator, and only they may change it"),
        )
        .with_details(serde_json::json!({ "field": field.as_ref() }))),
    }
}
