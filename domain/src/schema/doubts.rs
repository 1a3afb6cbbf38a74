//! What a schema says that JSON Schema passes over in silence: keywords that the draft does not
//! know. They are no fault (the draft has them ignored), and seldom what the author meant.

use serde_json::Value;

use super::{
    inspect::{Fault, Faults, escaped},
    keywords::{self, Holds},
};

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
        let pointer = format!("{pointer}/{}", escaped(keyword));
        match (keywords::holds(keyword), value) {
            (Some(Holds::Schema), schema) => walk(schema, &pointer, found),
            (Some(Holds::Named), Value::Object(named)) => {
                for (name, schema) in named {
                    walk(schema, &format!("{pointer}/{}", escaped(name)), found);
                }
            }
            (Some(Holds::Listed), Value::Array(listed)) => {
                for (index, schema) in listed.iter().enumerate() {
                    walk(schema, &format!("{pointer}/{index}"), found);
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

/// Whether `schema` names types and `object` is not among them.
#[must_use]
pub fn excludes_objects(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind != "object",
        Some(Value::Array(kinds)) => kinds.iter().all(|kind| kind != "object"),
        _ => false,
    }
}
