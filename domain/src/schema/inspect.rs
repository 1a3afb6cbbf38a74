//! What a schema must not hold, found by walking it as a schema before it is compiled.
//!
//! The walk knows which members are subschemas and which are plain data, so a property that is
//! *called* `$ref`, or a `$ref` inside `enum`, is no reference. What is not here: whether the
//! keywords themselves are well-formed; the metaschema decides that when compiling.

use serde_json::{Map, Value};

use super::keywords::{self, Holds};
use crate::pointer;

/// Characters of one `pattern` or `patternProperties` name. Translating a pattern from ECMA 262
/// takes time that grows with the square of its length.
pub const PATTERN_CHARS_MAX: usize = 512;
/// Patterns of one schema.
pub const PATTERNS_MAX: usize = 64;
/// Levels of JSON nesting of one schema.
pub const SCHEMA_DEPTH_MAX: usize = 64;
/// How many `unevaluatedProperties` and `unevaluatedItems` may make the same subschema run again.
/// Each runs what `allOf`, `anyOf`, `contains` and their like hold beside it a second time, so time
/// grows exponentially with such nesting: 18 levels were measured at 3 s for a one-member object.
/// Closed objects inside the `properties` of closed objects do not count.
pub const UNEVALUATED_NESTING_MAX: usize = 4;
/// Faults of one schema that are told; how many more there are is counted.
pub const FAULTS_MAX: usize = 100;

/// Keywords whose subschemas an unevaluated keyword beside them runs again.
const RUNS_AGAIN: [&str; 9] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "contains"];
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// What is wrong with a schema, and where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// JSON pointer into the schema; empty for the schema itself.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

/// The faults of one schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    /// The first [`FAULTS_MAX`].
    pub list: Vec<Fault>,
    /// How many more there are.
    pub left_out: usize,
}

impl Faults {
    pub(super) fn push(&mut self, fault: Fault) {
        if self.list.len() < FAULTS_MAX {
            self.list.push(fault);
        } else {
            self.left_out += 1;
        }
    }
}

/// A pattern of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// JSON pointer to it in the schema.
    pub pointer: String,
    /// Its text.
    pub text: String,
}

/// Walks `schema` and answers its patterns. `row_bytes_max` is the bound on every `maxLength`: a
/// longer string could never be stored.
///
/// # Errors
/// The faults, never an empty list: references and identifiers, another dialect, a `maxLength`
/// beyond the row's cap, or more depth or patterns than the bounds of this module.
pub fn inspect(schema: &Value, row_bytes_max: usize) -> Result<Vec<Pattern>, Vec<Fault>> {
    let (patterns, faults) = survey(schema, row_bytes_max);
    if faults.list.is_empty() { Ok(patterns) } else { Err(faults.list) }
}

/// Like [`inspect`], for who goes on behind the faults: the patterns are those that may be looked at
/// all the same, none where there are too many.
pub(crate) fn survey(schema: &Value, row_bytes_max: usize) -> (Vec<Pattern>, Faults) {
    let mut walk =
        Walk { row_bytes_max, patterns: Vec::new(), count: 0, faults: Faults::default() };
    walk.schema(schema, Location { pointer: "", depth: 0, unevaluated: 0 });
    if walk.count > PATTERNS_MAX {
        let has = walk.count;
        walk.fault("", format!("has {has} patterns, at most {PATTERNS_MAX} are allowed"));
        walk.patterns.clear();
    }
    (walk.patterns, walk.faults)
}

/// Whether a row under `schema` can have the top-level member `field`: `false` only when the
/// schema is closed by `additionalProperties: false` and does not name it.
#[must_use]
pub fn admits_field(schema: &Value, field: &str) -> bool {
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
        && schema.get("patternProperties").is_none();
    !closed || schema.get("properties").and_then(|fields| fields.get(field)).is_some()
}

/// Whether the top-level member `field` of a row under `schema` can be a date, which is text: `false`
/// when the schema names fields and this one is not among them, and when it names another type for it
/// or only values that are no text.
#[must_use]
pub fn admits_date(schema: &Value, field: &str) -> bool {
    let Some(fields) = schema.get("properties") else { return true };
    let Some(declared) = fields.get(field) else {
        return schema.get("patternProperties").is_some();
    };
    let is_typed = match declared.get("type") {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        _ => *declared != Value::Bool(false),
    };
    let is_listed = match declared.get("enum") {
        Some(Value::Array(values)) => values.iter().any(Value::is_string),
        _ => true,
    };
    is_typed && is_listed && declared.get("const").is_none_or(Value::is_string)
}

#[derive(Clone, Copy)]
struct Location<'a> {
    pointer: &'a str,
    depth: usize,
    /// Unevaluated keywords that make this location run again.
    unevaluated: usize,
}

impl Location<'_> {
    /// The location `pointer`, one level further down.
    const fn below<'p>(&self, pointer: &'p str) -> Location<'p> {
        Location { pointer, depth: self.depth + 1, unevaluated: self.unevaluated }
    }
}

struct Walk {
    row_bytes_max: usize,
    patterns: Vec<Pattern>,
    /// All patterns, also those that are too long.
    count: usize,
    faults: Faults,
}

impl Walk {
    fn fault(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.faults.push(Fault { pointer: pointer.into(), message: message.into() });
    }

    fn is_too_deep(&mut self, location: &Location<'_>) -> bool {
        let is_too_deep = location.depth > SCHEMA_DEPTH_MAX;
        if is_too_deep {
            let message = format!("is nested deeper than {SCHEMA_DEPTH_MAX} levels");
            self.fault(location.pointer, message);
        }
        is_too_deep
    }

    fn schema(&mut self, schema: &Value, location: Location<'_>) {
        let Value::Object(members) = schema else { return };
        if self.is_too_deep(&location) {
            return;
        }
        let own = unevaluated_keywords(members);
        if own > 0 && location.unevaluated + own > UNEVALUATED_NESTING_MAX {
            return self.fault(
                location.pointer,
                format!("nests more than {UNEVALUATED_NESTING_MAX} unevaluated keywords"),
            );
        }
        for (keyword, value) in members {
            let pointer = pointer::at(location.pointer, keyword);
            let mut below = location.below(&pointer);
            if RUNS_AGAIN.contains(&keyword.as_str()) {
                below.unevaluated += own;
            }
            self.keyword(keyword, value, below);
        }
    }

    fn keyword(&mut self, keyword: &str, value: &Value, location: Location<'_>) {
        match keyword {
            "$ref" | "$dynamicRef" | "$recursiveRef" => {
                self.fault(location.pointer, "references are not resolved: inline the schema");
            }
            "$schema" if value.as_str().map(|uri| uri.trim_end_matches('#')) != Some(DIALECT) => {
                self.fault(location.pointer, format!("the dialect is {DIALECT:?} and no other"));
            }
            "pattern" => {
                if let Value::String(pattern) = value {
                    self.pattern(pattern, location.pointer);
                }
            }
            "maxLength" => self.max_length(value, location.pointer),
            _ => self.held(keyword, value, location),
        }
    }

    /// Walks what a keyword holds.
    fn held(&mut self, keyword: &str, value: &Value, location: Location<'_>) {
        match (keywords::holds(keyword), value) {
            (Some(Holds::Named), Value::Object(named)) => {
                for (name, schema) in named {
                    let pointer = pointer::at(location.pointer, name);
                    if keyword == "patternProperties" {
                        self.pattern(name, &pointer);
                    }
                    self.schema(schema, location.below(&pointer));
                }
            }
            (Some(Holds::Schema), schema) => self.schema(schema, location),
            (Some(Holds::Listed), Value::Array(schemas)) => {
                for (index, schema) in schemas.iter().enumerate() {
                    let pointer = pointer::at(location.pointer, index);
                    self.schema(schema, location.below(&pointer));
                }
            }
            (Some(Holds::Named | Holds::Listed | Holds::AnyData), _) => {}
            (Some(Holds::Value) | None, value) => self.unknown(value, location),
        }
    }

    /// An unknown keyword means nothing to JSON Schema, but an author who puts a reference into it
    /// believes that it does.
    fn unknown(&mut self, value: &Value, location: Location<'_>) {
        if self.is_too_deep(&location) {
            return;
        }
        match value {
            Value::Object(map) => {
                for (name, member) in map {
                    let pointer = pointer::at(location.pointer, name);
                    if matches!(name.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef") {
                        self.keyword(name, member, location.below(&pointer));
                    } else {
                        self.unknown(member, location.below(&pointer));
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let pointer = pointer::at(location.pointer, index);
                    self.unknown(item, location.below(&pointer));
                }
            }
            _ => {}
        }
    }

    fn pattern(&mut self, pattern: &str, pointer: &str) {
        self.count += 1;
        if pattern.chars().nth(PATTERN_CHARS_MAX).is_some() {
            self.fault(pointer, format!("a pattern has at most {PATTERN_CHARS_MAX} characters"));
        } else if self.count <= PATTERNS_MAX {
            self.patterns.push(Pattern { pointer: pointer.to_owned(), text: pattern.to_owned() });
        }
    }

    fn max_length(&mut self, value: &Value, pointer: &str) {
        let cap = self.row_bytes_max;
        if value.as_f64().is_some_and(|length| length > cap as f64) {
            self.fault(pointer, format!("maxLength is beyond the {cap} bytes that a row may have"));
        }
    }
}

fn unevaluated_keywords(members: &Map<String, Value>) -> usize {
    ["unevaluatedProperties", "unevaluatedItems"]
        .into_iter()
        .filter(|keyword| members.contains_key(*keyword))
        .count()
}
