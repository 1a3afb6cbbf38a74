//! Writes to a row's data: JSON Merge Patch (RFC 7396), whole replacement, and who may change a
//! relation's field. What is not here: whether the caller may write the row (`access`) and
//! whether the result fits its schema.

use serde_json::{Map, Value};

use crate::{Error, ErrorCode, Principal, Result, json::Object, manifest::Collection};

/// Applies `patch` to `target` after RFC 7396: members of objects merge, `null` removes, anything
/// else replaces.
pub fn merge(target: &mut Value, patch: Value) {
    let Value::Object(members) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(object) = target else { return };
    for (name, value) in members {
        if value.is_null() {
            object.remove(&name);
        } else if let Some(member) = object.get_mut(&name) {
            merge(member, value);
        } else {
            // Also a new object is merged: its own nulls are removals of nothing.
            let mut member = Value::Null;
            merge(&mut member, value);
            object.insert(name, member);
        }
    }
}

/// The data of a row after a `PATCH`: `sent` itself when it replaces, merged into `before`
/// otherwise. A merged object is written anew, with its members sorted by name.
///
/// # Errors
/// `invalid_request` when `before` is not an object.
pub fn apply(before: Value, sent: Object, replace: bool) -> Result<Object> {
    if replace {
        return Ok(sent);
    }
    let mut merged = before;
    merge(&mut merged, sent.into_parts().1);
    Object::from_value(merged)
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
