//! What "the same value" means for a unique field (part 2.2, contract part 5): the normal form
//! under which the values of live rows may not collide.
//!
//! Strings are trimmed (Unicode White_Space) and compared as the Unicode Standard's canonical
//! caseless match does (section 3.13, D145: NFD, full case folding, NFD), so an `é` typed as one
//! character and as two is one value, and `STRASSE` is `straße`. Compatibility forms stay apart
//! (`①` is not `1`): folding them would merge values that look different. Numbers are compared by
//! value (`1` and `1.0`), arrays and objects by their parts, strings inside them likewise. Values
//! of different JSON types never collide. Absent and null collide with nothing.

use std::fmt::Write as _;

use caseless::Caseless as _;
use serde_json::{Number, Value};
use unicode_normalization::UnicodeNormalization as _;

use crate::json;

/// The normal form of a value of a unique field: equal exactly when the values collide.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UniqueKey(String);

impl UniqueKey {
    /// The normal form of `value`; `None` for null, which collides with nothing.
    #[must_use]
    pub fn of(value: &Value) -> Option<Self> {
        if value.is_null() {
            return None;
        }
        let mut form = String::new();
        write_form(value, &mut form);
        Some(Self(form))
    }

    /// The form itself; as long as the value is. An index keeps a digest of it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Appends `text`, trimmed and case-folded; applying it again changes nothing.
fn write_normal(text: &str, out: &mut String) {
    let text = text.trim();
    if text.is_ascii() {
        let start = out.len();
        out.push_str(text);
        out[start..].make_ascii_lowercase();
    } else {
        out.extend(text.chars().nfd().default_case_fold().nfd());
    }
}

/// Appends the form of `value`. Its first character tells the type, and a string inside an array
/// or object is quoted, so no two values that differ share a form.
fn write_form(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push('~'),
        Value::Bool(value) => out.push(if *value { 't' } else { 'f' }),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => {
            out.reserve(1 + text.len());
            out.push('"');
            write_normal(text, out);
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_part(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            out.push('{');
            for name in names {
                let _ = write!(out, "{}:{name}", name.len());
                write_part(&members[name], out);
            }
            out.push('}');
        }
    }
}

fn write_part(value: &Value, out: &mut String) {
    let mut part = String::new();
    write_form(value, &mut part);
    let _ = write!(out, "{}:{part}", part.len());
}

/// A number by its value: every integer that a double or 64 bits can hold is written as one.
fn write_number(number: &Number, out: &mut String) {
    let written = match json::exact_integer(number) {
        Some(integer) => write!(out, "{integer}"),
        None => write!(out, "{:e}", number.as_f64().unwrap_or_default()),
    };
    // Writing to a String cannot fail.
    debug_assert!(written.is_ok());
}
