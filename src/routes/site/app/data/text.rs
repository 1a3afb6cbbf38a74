//! JSON as people read it: indented without changing a number or the order of members, and cut to
//! a table's cell.

use std::{borrow::Cow, fmt::Write as _};

use rookery_domain::{Error, Result, json, text::cut};
use serde_json::value::RawValue;

use crate::pages::visible::{cut_to_difference, visible};

/// How many times as long as it is JSON may become by being indented. Where it nests deeper than that,
/// its indentation would be most of a page.
pub(super) const INDENTED_MAX: usize = 4;
/// Bytes that it may become however short it is.
const INDENTED_BYTES: usize = 1 << 10;
/// Characters of a cell.
const CELL_CHARS_MAX: usize = 80;
/// Characters of a key that a table shows of its beginning, and of its end.
const KEY_HEAD_CHARS: usize = 9;
const KEY_TAIL_CHARS: usize = 9;
/// Characters that a cell says when it is asked for all of it; the row's page has the rest.
const WHOLE_CHARS_MAX: usize = 300;

/// The JSON that was typed, read as the API reads it within a body: so that what is wrong with it is said
/// by where it stands in what was typed.
///
/// # Errors
/// `invalid_request`.
pub fn typed(text: &str) -> Result<Box<RawValue>> {
    let raw = RawValue::from_string(text.to_owned())
        .map_err(|why| Error::invalid(format!("this is not JSON: {why}")))?;
    // It is one level down in the body that it is sent in.
    let depth_max = json::DEPTH_MAX - 1;
    if depth(text) > depth_max {
        return Err(Error::invalid(format!("`data`: nests deeper than {depth_max} levels")));
    }
    json::parse(text.as_bytes())?;
    Ok(raw)
}

/// How deep the arrays and objects of JSON text nest.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            b'"' if !escaped => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        escaped = in_string && byte == b'\\' && !escaped;
        deepest = deepest.max(depth);
    }
    deepest
}

/// Indents JSON text. Numbers and strings stay as they are written, and so does all of it where it would
/// become longer than [`INDENTED_MAX`] times as long.
#[must_use]
pub fn indent(json: &str) -> String {
    let bytes_max = (json.len() * INDENTED_MAX).max(INDENTED_BYTES);
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut characters = json.chars().peekable();
    while let Some(character) = characters.next() {
        if out.len() > bytes_max {
            return json.to_owned();
        }
        if in_string {
            out.push(character);
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        match character {
            '"' => {
                in_string = true;
                out.push(character);
            }
            '{' | '[' => {
                out.push(character);
                while characters.peek().is_some_and(|next| next.is_ascii_whitespace()) {
                    characters.next();
                }
                if matches!(characters.peek(), Some('}' | ']')) {
                    out.extend(characters.next());
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(character);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            space if space.is_ascii_whitespace() => {}
            other => out.push(other),
        }
    }
    out
}

fn line(out: &mut String, depth: usize) {
    let _ = write!(out, "\n{:width$}", "", width = depth * 2);
}

/// A value in a table's cell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// What is shown.
    pub shown: String,
    /// More of it, where that is cut.
    pub whole: Option<String>,
}

impl Cell {
    /// The cell of a value: a text as it reads, all else as it is written; empty for null.
    #[must_use]
    pub fn of(value: &RawValue) -> Self {
        let json = value.get();
        if json == "null" {
            return Self::default();
        }
        let text = text(json);
        let shown = cut(&text, CELL_CHARS_MAX);
        let whole = (shown != text).then(|| visible(&cut(&text, WHOLE_CHARS_MAX)));
        Self { shown: visible(&shown), whole }
    }
}

/// The beginning of a name that strangers chose, as a page shows it.
#[must_use]
pub fn short(name: &str) -> String {
    visible(&cut(name, CELL_CHARS_MAX))
}

/// What several contents have in one place, each as a cell shows it, from shortly before the first
/// character in which it differs from the first of them, and that one from the others; `None` is a
/// content that has nothing there.
#[must_use]
pub fn compared<const N: usize>(values: [Option<&RawValue>; N]) -> [String; N] {
    let texts = values.map(|value| value.map(|value| text(value.get())));
    let first = texts.first().and_then(Option::as_deref);
    texts.each_ref().map(|text| {
        let Some(text) = text.as_deref() else { return "(none)".to_owned() };
        let others = match first {
            Some(first) if first != text => &texts[..1],
            _ => &texts[..],
        };
        let others = others.iter().flatten().map(|other| &**other);
        visible(&cut_to_difference(text, others, CELL_CHARS_MAX))
    })
}

/// Keys beside each other, long ones without their middle: those that were made at once share their
/// beginning. One that would then look like another stays whole.
#[must_use]
pub fn told_apart(keys: &[&str]) -> Vec<String> {
    let short: Vec<_> = keys.iter().map(|key| without_middle(key)).collect();
    let is_alone = |text: &String| short.iter().filter(|other| *other == text).count() == 1;
    let shown = keys.iter().zip(&short);
    shown.map(|(key, text)| if is_alone(text) { text.clone() } else { (*key).to_owned() }).collect()
}

/// A key's beginning and end, where it is longer than both.
fn without_middle(key: &str) -> String {
    let count = key.chars().count();
    if count <= KEY_HEAD_CHARS + 1 + KEY_TAIL_CHARS {
        return key.to_owned();
    }
    let head = key.chars().take(KEY_HEAD_CHARS);
    head.chain(['…']).chain(key.chars().skip(count - KEY_TAIL_CHARS)).collect()
}

/// A text as it reads, all else as it is written.
fn text(json: &str) -> Cow<'_, str> {
    serde_json::from_str::<String>(json).map_or(Cow::Borrowed(json), Cow::Owned)
}
