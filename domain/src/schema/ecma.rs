//! Patterns as ECMA 262 has them, rewritten where the engine's own syntax means something else or
//! knows no such thing. What is not here: what a pattern costs (`pattern`).

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::keywords::{self, Holds};

/// `.`: anything but what ends a line.
const ANY_OF_LINE: &str = r"[^\n\r\u2028\u2029]";
/// `[^]`: anything.
const ANYTHING: &str = "(?s:.)";
/// `[]`: nothing.
const NOTHING: &str = r"\P{any}";

/// `pattern` with the meaning of ECMA 262 for the engine. The library does classes such as `\d` in
/// brackets; it does each one outside of them apart, reading the whole pattern anew.
pub(super) fn translated(pattern: &str) -> Cow<'_, str> {
    if !pattern.contains(['.', '\\', '[']) {
        return Cow::Borrowed(pattern);
    }
    let mut out = String::with_capacity(pattern.len() + 32);
    let dots = !sets_flags(pattern);
    let mut rest = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                let Some(escaped) = rest.next() else {
                    out.push(c);
                    break;
                };
                let next = rest.peek().copied();
                match escaped {
                    '0' if !next.is_some_and(|c| c.is_ascii_digit()) => out.push_str(r"\x00"),
                    'b' if in_class => out.push_str(r"\x08"),
                    'c' if next.is_some_and(|c| c.is_ascii_alphabetic()) => {
                        let letter = rest.next().map_or(0, |c| u32::from(c) % 32);
                        out.push_str(&format!("\\x{letter:02x}"));
                    }
                    _ => match class(escaped).filter(|_| !in_class) {
                        Some(class) => out.push_str(class),
                        None => out.extend([c, escaped]),
                    },
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(c);
            }
            '[' if !in_class => {
                let is_negated = rest.next_if_eq(&'^').is_some();
                if rest.next_if_eq(&']').is_some() {
                    out.push_str(if is_negated { ANYTHING } else { NOTHING });
                } else {
                    in_class = true;
                    out.push_str(if is_negated { "[^" } else { "[" });
                }
            }
            '.' if !in_class && dots => out.push_str(ANY_OF_LINE),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// What a class that is named by a letter holds.
const fn class(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        's' => r"[\t-\r\x20\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]",
        'S' => r"[^\t-\r\x20\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]",
        _ => return None,
    })
}

/// Whether a group as `(?s:` sets flags, under which a dot may be anything.
fn sets_flags(pattern: &str) -> bool {
    pattern.match_indices("(?").any(|(at, _)| {
        let escapes = pattern[..at].bytes().rev().take_while(|b| *b == b'\\').count();
        let flags = pattern[at + 2..].bytes().take_while(|b| b.is_ascii_alphabetic() || *b == b'-');
        escapes % 2 == 0 && flags.into_iter().any(|flag| flag == b's')
    })
}

/// `schema` with every pattern [`translated`].
pub(super) fn with_translated_patterns(schema: &Value) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    let each = members.iter().map(|(keyword, value)| {
        let value = match (keywords::holds(keyword), value) {
            (Some(Holds::Schema), schema) => with_translated_patterns(schema),
            (Some(Holds::Listed), Value::Array(listed)) => {
                listed.iter().map(with_translated_patterns).collect()
            }
            (Some(Holds::Named), Value::Object(named)) => {
                Value::Object(of_named(named, keyword == "patternProperties"))
            }
            (_, Value::String(pattern)) if keyword == "pattern" => {
                Value::String(translated(pattern).into_owned())
            }
            _ => value.clone(),
        };
        (keyword.clone(), value)
    });
    Value::Object(each.collect())
}

fn of_named(named: &Map<String, Value>, are_patterns: bool) -> Map<String, Value> {
    let mut out = Map::new();
    for (name, schema) in named {
        let mut key = name.clone();
        if are_patterns {
            key = translated(name).into_owned();
            // Two that mean the same are two all the same.
            while out.contains_key(&key) {
                key.push_str("(?:)");
            }
        }
        out.insert(key, with_translated_patterns(schema));
    }
    out
}
