//! JSON as people read it: indented without changing a number or the order of members, and cut to
//! a table's cell.

use std::fmt::Write as _;

use rookery_domain::{Error, Result, json, text::turns_direction};
use serde_json::value::RawValue;

/// How many times as long as it is JSON may become by being indented. Where it nests deeper than that,
/// its indentation would be most of a page.
pub(super) const INDENTED_MAX: usize = 4;
/// Bytes that it may become however short it is.
const INDENTED_BYTES: usize = 1 << 10;
/// Characters of a cell.
const CELL_CHARS_MAX: usize = 80;
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
        let text: String = serde_json::from_str(json).unwrap_or_else(|_| json.to_owned());
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

/// The first characters of a text; how many at most.
fn cut(text: &str, max: usize) -> String {
    let mut characters = text.chars();
    let mut short: String = characters.by_ref().take(max).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

/// Text that strangers chose, as a page shows it: characters that nobody sees or that no page may hold, and
/// those that turn the direction of what stands around them, by their numbers; text of which nothing is
/// seen, in quotes.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        let unseen =
            matches!(character, '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{feff}');
        let controls = character.is_control() && !matches!(character, '\t' | '\n' | '\r');
        if unseen || controls || turns_direction(character) {
            let _ = write!(shown, "\\u{:04x}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    if !text.is_empty() && shown.trim().is_empty() {
        return format!("\"{text}\"");
    }
    shown
}
