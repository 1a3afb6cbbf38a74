//! Strict JSON (contract part 1, "Bodies"): one reading of a text, the same on every database.
//!
//! Refused beyond what RFC 8259 refuses: nesting deeper than [`DEPTH_MAX`], NUL, lone
//! surrogates, members that occur twice, numbers out of range. The lexing is serde_json's; in
//! here is what it lets pass, and the words in which a refusal names the place. What is not
//! here: what a body means (its own type says that) and row schemas.

mod canonical;
mod check;
mod pick;

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::{Number, Value, value::RawValue};

pub use canonical::canonical;
pub use pick::pick;

use crate::{Error, Result, row::write_json_string};

/// How deep arrays and objects may nest; the outermost one counts as 1.
pub const DEPTH_MAX: usize = 64;

/// The text of an object without members.
pub const EMPTY_OBJECT: &str = "{}";

/// Bytes of a refusal's message that quote the request (a member's name can be as long as a body).
const QUOTE_BYTES_MAX: usize = 200;

/// Reads any JSON value.
///
/// # Errors
/// `invalid_request` that says what is wrong and at which line and column.
pub fn parse(bytes: &[u8]) -> Result<Value> {
    check::build(utf8(bytes)?).map_err(malformed)
}

/// Reads a request body into its type, as strictly as [`parse`].
///
/// # Errors
/// `invalid_request` that names the member which is unknown, missing or of another type. A value
/// is never quoted: it may be a secret.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let text = utf8(bytes)?;
    check::check(text).map_err(malformed)?;
    serde_json::from_str(text).map_err(|_| mistyped::<T>(text))
}

/// A byte order mark in front is none of the text (RFC 8259, 8.1): some editors write one.
fn utf8(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Error::invalid(format!("invalid JSON: not UTF-8 at byte {}", error.valid_up_to()))
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

fn malformed(error: serde_json::Error) -> Error {
    // What serde_json calls the second half of a pair that is missing.
    let words = error.to_string().replace("unexpected end of hex escape", "lone surrogate");
    Error::invalid(format!("invalid JSON: {}", shortened(&words)))
}

/// The words for a body that is JSON but not what was asked for. It is read once more, now
/// with an eye on where the reader is; only a refusal pays for that.
fn mistyped<T: DeserializeOwned>(text: &str) -> Error {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut deserializer) else {
        return Error::invalid("the body does not have the expected shape");
    };
    let words = error.inner().to_string();
    let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
    // What was expected is the developer's business; what was found may be a secret.
    const QUOTING: [&str; 3] = ["invalid type: ", "invalid value: ", "unknown variant "];
    let expected = words.rsplit_once(", expected ").map(|(_, expected)| expected);
    let words: Cow<'_, str> = match expected {
        Some(expected) if QUOTING.iter().any(|start| words.starts_with(start)) => {
            format!("expected {}", in_json(expected)).into()
        }
        _ => shortened(words),
    };
    // A member that stands there twice was refused before, so this one has two names.
    if let Some(name) = words.strip_prefix("duplicate field ") {
        return Error::invalid(format!("{name} is given twice, once by another of its names"));
    }
    let path = error.path().to_string();
    // serde names an unknown member itself; a path of one segment would say it twice.
    if path == "." || words.starts_with("unknown field") && !path.contains(['.', '[']) {
        Error::invalid(words)
    } else {
        Error::invalid(format!("`{}`: {words}", shortened(&path)))
    }
}

/// What serde expected, in the words of JSON instead of Rust.
fn in_json(expected: &str) -> &str {
    match expected {
        "a sequence" => "an array",
        "a map" => "an object",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number, not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        _ if expected.starts_with("struct ") => "an object",
        _ => expected,
    }
}

fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= QUOTE_BYTES_MAX {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}...", &text[..text.floor_char_boundary(QUOTE_BYTES_MAX)]))
}

/// Up to here each whole number is one of its own among those that may have a fraction.
const EXACT_MAX: f64 = 9_007_199_254_740_991.0;

/// Doubles below this are integers that an `i128` holds exactly.
const INTEGER_BELOW: f64 = 1e38;

/// The integer that a number is, in whatever form it is written; `None` for one with a fraction, and from
/// 1e38 on.
#[must_use]
pub(crate) fn exact_integer(number: &Number) -> Option<i128> {
    if let Some(integer) = number.as_i64() {
        return Some(integer.into());
    }
    if let Some(integer) = number.as_u64() {
        return Some(integer.into());
    }
    let double = number.as_f64()?;
    (double.fract() == 0.0 && double.abs() < INTEGER_BELOW).then_some(double as i128)
}

/// The whole number that this is, which may be written with a fraction of zero: to JSON Schema `5.0` is
/// an integer (draft 2020-12, validation, 6.1.1).
#[must_use]
pub fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        // It has no fraction and is within the bounds of the type.
        (number.fract() == 0.0 && number.abs() <= EXACT_MAX).then_some(number as i64)
    })
}

/// A JSON object that was read strictly: its compact text, members in the order they were sent (what
/// a patch adds, in the order of its names), and the same as a value. Rows keep the text; rules look
/// at the value.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    text: Box<str>,
    value: Value,
}

impl Object {
    /// Reads an object.
    ///
    /// # Errors
    /// As [`parse`]; `invalid_request` also for any other JSON value.
    pub fn parse(text: &str) -> Result<Self> {
        let value = object(text)?;
        Ok(Self { text: compact(text).into(), value })
    }

    /// Reads an object whose text is made of compact ones.
    ///
    /// # Errors
    /// As [`Object::parse`].
    pub(crate) fn of_compact(text: String) -> Result<Self> {
        let value = object(&text)?;
        Ok(Self { text: text.into(), value })
    }

    /// Its text, without insignificant whitespace.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its value; always `Value::Object`.
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.value
    }

    /// Text and value.
    #[must_use]
    pub fn into_parts(self) -> (Box<str>, Value) {
        (self.text, self.value)
    }
}

fn object(text: &str) -> Result<Value> {
    let value = check::build(text).map_err(malformed)?;
    if !value.is_object() {
        return Err(Error::invalid("expected an object"));
    }
    Ok(value)
}

impl Serialize for Object {
    /// Writes the value; whoever has a place for raw text uses [`Object::text`].
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

/// An [`Object`] as a member of a request body: `struct Create { key: Option<String>, data:
/// RawObject }`. Its text is borrowed from the body while the rest is read, and read once.
///
/// It cannot stand below `#[serde(flatten)]`, `untagged` or an internal tag: these buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct RawObject(pub Object);

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Object::parse(raw.get()).map(Self).map_err(|error| serde::de::Error::custom(error.message))
    }
}

/// `text` without whitespace between its tokens, and with no character escaped that need not be, so
/// that one document has one length whoever wrote it; borrowed when it is so already. `text` is
/// JSON.
fn compact(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let (end, has_escapes) = string_end(bytes, at);
                if has_escapes
                    && let Ok(string) = serde_json::from_str::<Cow<'_, str>>(&text[at..end])
                {
                    out.push_str(&text[kept..at]);
                    write_json_string(&string, &mut out);
                    kept = end;
                }
                at = end;
            }
            b' ' | b'\t' | b'\n' | b'\r' => {
                out.push_str(&text[kept..at]);
                while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                    at += 1;
                }
                kept = at;
            }
            _ => at += 1,
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

/// The position behind the string whose opening quote is at `start`, and whether it has escapes.
fn string_end(bytes: &[u8], start: usize) -> (usize, bool) {
    let mut at = start + 1;
    let mut has_escapes = false;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return (at + 1, has_escapes),
            b'\\' => {
                has_escapes = true;
                at += 2;
            }
            _ => at += 1,
        }
    }
    (bytes.len(), has_escapes)
}
