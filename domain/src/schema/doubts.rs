//! What a schema says that JSON Schema passes over in silence: keywords that the draft does not
//! know. They are no fault (the draft has them ignored), and seldom what the author meant.

use serde_json::Value;

use crate::{pointer, text::quoted};

use super::{
    inspect::{Fault, Faults, admits_field},
    keywords::{self, Holds},
};

/// What is said of a schema that only others than objects fit.
const NO_OBJECT: &str = "data is always an object, so nothing fits this schema";

/// The unknown keywords of a schema that [`inspect`](super::inspect()) has admitted. Names that begin
/// with `x-` are the author's own.
#[must_use]
pub fn doubts(schema: &Value) -> Faults {
    let mut found = Faults::default();
    walk(schema, "", &mut found);
    found
}

fn walk(schema: &Value, pointer: &str, found: &mut Faults) {
    let Value::Object(members) = schema else { return };
    for (keyword, value) in members {
        let pointer = pointer::at(pointer, keyword);
        match (keywords::holds(keyword), value) {
            (Some(Holds::Schema), schema) => walk(schema, &pointer, found),
            (Some(Holds::Named), Value::Object(named)) => {
                for (name, schema) in named {
                    walk(schema, &pointer::at(&pointer, name), found);
                }
            }
            (Some(Holds::Listed), Value::Array(listed)) => {
                for (index, schema) in listed.iter().enumerate() {
                    walk(schema, &pointer::at(&pointer, index), found);
                }
            }
            (Some(_), _) => {}
            (None, _) if keyword.starts_with("x-") => {}
            (None, _) => {
                let mut message =
                    "JSON Schema does not know this keyword and ignores it".to_owned();
                if let Some(meant) = keywords::meant(keyword) {
                    message.push_str(&format!(": `{meant}`?"));
                }
                found.push(Fault { pointer, message });
            }
        }
    }
}

/// The keyword by which a schema keeps every object out, and what it does there.
#[must_use]
pub fn excludes_objects(schema: &Value) -> Option<(&'static str, String)> {
    let of_objects = |kinds: &[Value]| kinds.iter().any(|kind| kind == "object");
    match schema.get("type") {
        Some(Value::String(kind)) if kind != "object" => return Some(("type", NO_OBJECT.into())),
        Some(Value::Array(kinds)) if !of_objects(kinds) => return Some(("type", NO_OBJECT.into())),
        _ => {}
    }
    match schema.get("enum") {
        Some(Value::Array(values)) if !values.iter().any(Value::is_object) => {
            return Some(("enum", NO_OBJECT.into()));
        }
        _ => {}
    }
    if schema.get("const").is_some_and(|value| !value.is_object()) {
        return Some(("const", NO_OBJECT.into()));
    }
    let mut needed = schema.get("required")?.as_array()?.iter().filter_map(Value::as_str);
    let missing = needed.find(|name| !admits_field(schema, name))?;
    let message = format!(
        "{} is required, and neither under `properties` nor admitted beside them, so nothing fits this \
         schema",
        quoted(missing)
    );
    Some(("required", message))
}
