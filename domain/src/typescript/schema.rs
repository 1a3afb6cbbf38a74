//! The type that a JSON Schema (2020-12) describes.
//!
//! A schema refuses, a type describes: keywords that only refuse (bounds, patterns, `not`, `if`,
//! `contains`, `dependent...`) are left out, so the type admits at least what the schema does.
//! Where a schema names members or items but no `type`, an object or an array is meant.

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Map, Value};

use super::text::{comment, quoted};

/// Any object.
pub(super) const ANY_OBJECT: &str = "{ [member: string]: any; }";
/// An object without members.
const NO_MEMBERS: &str = "Record<string, never>";
/// Any value at all.
const ANY: &str = "unknown";
/// Alternatives of one `enum`, `anyOf` or `oneOf` that are spelt out; more are any value.
const ALTERNATIVES_MAX: usize = 200;
/// Levels that are spelt out; what is deeper is any value. A compiler has bounds of its own.
const DEPTH_MAX: usize = 24;
/// Items of a `prefixItems` that are spelt out.
const TUPLE_MAX: usize = 64;
/// Bytes of one schema's type; a longer one is any object. Types multiply where schemas repeat.
const TYPE_BYTES_MAX: usize = 256 << 10;

/// The type of an object under `schema`.
pub(super) fn of_object(schema: &Value) -> String {
    let spelt = type_of(schema, 0, Some("object"));
    // A row is an object whatever else its schema lets through.
    match spelt {
        any if any == ANY => ANY_OBJECT.to_owned(),
        long if long.len() > TYPE_BYTES_MAX => ANY_OBJECT.to_owned(),
        spelt => spelt,
    }
}

/// The type of a value under `schema`, of which it may be known that it has the JSON type `known`.
fn type_of(schema: &Value, depth: usize, known: Option<&str>) -> String {
    let members = match schema {
        Value::Bool(false) => return "never".to_owned(),
        Value::Object(members) if depth < DEPTH_MAX => members,
        _ => return ANY.to_owned(),
    };
    // What all have to hold, each on its own.
    let mut parts = Vec::new();
    if let Some(value) = members.get("const") {
        parts.push(literal(value, depth));
    }
    if let Some(Value::Array(values)) = members.get("enum") {
        parts.push(union(values.iter().map(|value| literal(value, depth + 1))));
    }
    // A literal has its type already.
    if parts.is_empty() {
        parts.push(own_type(members, depth, known));
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(schemas)) = members.get(keyword) {
            parts.push(union(schemas.iter().map(|it| type_of(it, depth + 1, known))));
        }
    }
    if let Some(Value::Array(schemas)) = members.get("allOf") {
        parts.extend(schemas.iter().map(|it| type_of(it, depth + 1, known)));
    }
    intersection(parts)
}

/// What `type` and the keywords about members and items say.
fn own_type(schema: &Map<String, Value>, depth: usize, known: Option<&str>) -> String {
    let one = |name: &str| match name {
        "null" | "boolean" | "string" | "number" => name.to_owned(),
        "integer" => "number".to_owned(),
        "array" => array(schema, depth),
        "object" => object(schema, depth),
        _ => ANY.to_owned(),
    };
    match schema.get("type") {
        // Of the types that are allowed, only the known one can be there.
        Some(_) if known == Some("object") => one("object"),
        Some(Value::String(name)) => one(name),
        Some(Value::Array(names)) => union(names.iter().filter_map(Value::as_str).map(one)),
        _ if known == Some("object") => one("object"),
        _ if has(schema, &["properties", "additionalProperties", "required"]) => one("object"),
        _ if has(schema, &["items", "prefixItems"]) => one("array"),
        _ => ANY.to_owned(),
    }
}

fn has(schema: &Map<String, Value>, keywords: &[&str]) -> bool {
    keywords.iter().any(|keyword| schema.contains_key(*keyword))
}

fn object(schema: &Map<String, Value>, depth: usize) -> String {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required: BTreeSet<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let patterned = schema.get("patternProperties").and_then(Value::as_object);
    let patterned = patterned.is_some_and(|patterns| !patterns.is_empty());
    let rest = schema.get("additionalProperties");
    let closed = rest == Some(&Value::Bool(false)) && !patterned;
    if closed && properties.is_empty() && required.is_empty() {
        // `{}` would be any value but null.
        return NO_MEMBERS.to_owned();
    }
    let mut out = String::from("{ ");
    for (name, property) in properties {
        let optional = if required.contains(name.as_str()) { "" } else { "?" };
        out.push_str(&described(property));
        let type_of = type_of(property, depth + 1, None);
        // Writing to a String cannot fail.
        let _ = write!(out, "{}{optional}: {type_of}; ", quoted(name));
    }
    for name in required.iter().filter(|name| !properties.contains_key(**name)) {
        let forbidden = if closed { "never" } else { ANY };
        let _ = write!(out, "{}: {forbidden}; ", quoted(name));
    }
    if !closed {
        // An index has to cover the named members as well.
        let alone = properties.is_empty() && required.is_empty() && !patterned;
        let rest = rest.filter(|_| alone).map_or(ANY.to_owned(), |it| type_of(it, depth + 1, None));
        let _ = write!(out, "[member: string]: {rest}; ");
    }
    out.push('}');
    out
}

/// What a schema's author wrote about it, before the member.
fn described(schema: &Value) -> String {
    let text = schema.get("description").or_else(|| schema.get("title")).and_then(Value::as_str);
    match text.map(comment) {
        Some(comment) if !comment.is_empty() => format!("{comment} "),
        _ => String::new(),
    }
}

fn array(schema: &Map<String, Value>, depth: usize) -> String {
    let items = schema.get("items").map_or(ANY.to_owned(), |it| type_of(it, depth + 1, None));
    match schema.get("prefixItems").and_then(Value::as_array) {
        Some(prefix) if (1..=TUPLE_MAX).contains(&prefix.len()) => {
            // Fewer items than the prefix are valid too.
            let first = prefix.iter().map(|it| format!("({})?", type_of(it, depth + 1, None)));
            let first = first.collect::<Vec<_>>().join(", ");
            if items == "never" {
                format!("[{first}]")
            } else {
                format!("[{first}, ...({items})[]]")
            }
        }
        Some(_) => format!("{ANY}[]"),
        None => format!("({items})[]"),
    }
}

/// The type of one value.
fn literal(value: &Value, depth: usize) -> String {
    if depth >= DEPTH_MAX {
        return ANY.to_owned();
    }
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| literal(item, depth + 1)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let mut out = String::from("{ ");
            for (name, member) in members {
                let _ = write!(out, "{}: {}; ", quoted(name), literal(member, depth + 1));
            }
            out.push('}');
            out
        }
    }
}

fn union(types: impl Iterator<Item = String>) -> String {
    let types: BTreeSet<String> = types.collect();
    if types.contains(ANY) || types.len() > ALTERNATIVES_MAX {
        return ANY.to_owned();
    }
    match types.len() {
        0 => "never".to_owned(),
        _ => joined(types.into_iter().filter(|it| it != "never").collect(), " | "),
    }
}

fn intersection(mut types: Vec<String>) -> String {
    types.dedup();
    types.retain(|it| it != ANY);
    match types.is_empty() {
        true => ANY.to_owned(),
        false => joined(types, " & "),
    }
}

fn joined(types: Vec<String>, with: &str) -> String {
    match &types[..] {
        [] => "never".to_owned(),
        [one] => one.clone(),
        many => {
            let many: Vec<_> = many.iter().map(|it| format!("({it})")).collect();
            many.join(with)
        }
    }
}
