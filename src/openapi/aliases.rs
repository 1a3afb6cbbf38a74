//! Members of requests that are understood by a second name. A body is read strictly, so the document
//! has to list both; the second one is deprecated.

use serde_json::json;
use utoipa::openapi::{Deprecated, OpenApi, RefOr, Schema, schema::Object};

use super::rules;

/// Schema, member, and its second name: each is a `#[serde(alias)]` of the type. Names that differ in
/// their spelling alone are not among them: generators make one member of both, and lose its value.
const ALIASES: &[(&str, &str, &str)] = &[
    ("NewMember", "custom_role", "role"),
    ("UpdateMember", "custom_role", "role"),
    ("NewGrant", "role", "custom_role"),
];

/// Lists every second name beside the first.
pub fn list_aliases(document: &mut OpenApi) {
    let Some(components) = &mut document.components else { return };
    for (schema, name, second) in ALIASES {
        if let Some(RefOr::T(Schema::Object(object))) = components.schemas.get_mut(*schema) {
            list(object, name, second);
        }
    }
}

fn list(object: &mut Object, name: &str, second: &str) {
    let Some(RefOr::T(Schema::Object(member))) = object.properties.get(name) else { return };
    let mut member = member.clone();
    member.description = Some(format!("`{name}`, by another name."));
    member.deprecated = Some(Deprecated::True);
    object.properties.insert(second.to_owned(), Schema::Object(member).into());
    // One of them, not both.
    let both = json!({"required": [name, second]});
    let (keyword, rule) = match object.required.iter().position(|required| required == name) {
        Some(at) => {
            object.required.remove(at);
            // Beside members, generators take it for a choice of types, and drop the members.
            ("allOf", json!([{"oneOf": [{"required": [name]}, {"required": [second]}]}]))
        }
        None => ("not", both),
    };
    rules::add(object, keyword, rule);
}
