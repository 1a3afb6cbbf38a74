//! What a body is held to beyond the types of its members: members that exclude each other, those
//! that need another, and what a text may hold.

use rookery_domain::{agent_name, row_key};
use serde_json::{Value, json};
use utoipa::openapi::{OpenApi, RefOr, Schema, schema::Object};

/// Schema, and two members of which a body has one at most.
const EXCLUSIVE: &[(&str, &str, &str)] = &[
    ("WriteBody", "key", "on"),
    ("NewGrant", "expires_at", "expires_in_s"),
    ("NewPreview", "expires_at", "expires_in_s"),
];

/// Schema, member, and the pattern that its text has to match.
const PATTERNS: &[(&str, &str, &str)] = &[
    ("WriteBody", "key", row_key::PATTERN),
    ("Register", "name", agent_name::PATTERN),
    ("DeviceRequest", "name", agent_name::PATTERN),
    ("Rename", "name", agent_name::PATTERN),
    ("OrgNameBody", "name", agent_name::PATTERN),
    ("NewCredential", "name", agent_name::PATTERN),
];

/// Schema, member, and the pattern that its text has to match unless it is blank, which clears it.
const CLEARED_BY_BLANK: &[(&str, &str, &str)] = &[("ProfilePatch", "name", agent_name::PATTERN)];

/// Writes the rules into the schemas.
pub(crate) fn write(document: &mut OpenApi) {
    for (schema, one, other) in EXCLUSIVE {
        // A member that is null is as good as absent.
        let is_there = json!({"not": {"type": "null"}});
        let both = json!({
            "required": [one, other],
            "properties": {*one: is_there.clone(), *other: is_there},
        });
        rule(document, schema, "not", both);
    }
    for (schema, member, pattern) in PATTERNS {
        set_pattern(document, schema, member, (*pattern).to_owned());
    }
    for (schema, member, pattern) in CLEARED_BY_BLANK {
        set_pattern(document, schema, member, format!("^\\s*$|{pattern}"));
    }
}

fn set_pattern(document: &mut OpenApi, schema: &str, member: &str, pattern: String) {
    let object = object(document, schema);
    if let Some(RefOr::T(Schema::Object(text))) =
        object.and_then(|object| object.properties.get_mut(member))
    {
        text.pattern = Some(pattern);
    }
}

fn rule(document: &mut OpenApi, schema: &str, keyword: &str, rule: Value) {
    if let Some(object) = object(document, schema) {
        add(object, keyword, rule);
    }
}

/// Adds a rule to a schema. Several become one `allOf`: the library keeps keywords that it does not know
/// without an order, and the document would be another each time.
pub(super) fn add(object: &mut Object, keyword: &str, rule: Value) {
    let rules = object.extensions.get_or_insert_default();
    let (keyword, rule) = match rules.drain().next() {
        None => (keyword.to_owned(), rule),
        Some((first, Value::Array(mut all))) if first == "allOf" => {
            all.push(json!({keyword: rule}));
            (first, Value::Array(all))
        }
        Some((first, other)) => {
            ("allOf".to_owned(), json!([{first.as_str(): other}, {keyword: rule}]))
        }
    };
    rules.insert(keyword, rule);
}

fn object<'a>(document: &'a mut OpenApi, schema: &str) -> Option<&'a mut Object> {
    match document.components.as_mut()?.schemas.get_mut(schema)? {
        RefOr::T(Schema::Object(object)) => Some(object),
        _ => None,
    }
}
