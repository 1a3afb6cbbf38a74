//! The order of a list, and a row's place in it as a value that a cursor can carry.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::{
    SORT_FIELDS_MAX, SORT_TEXT_BYTES_MAX,
    field::{Field, Projection, SystemField, View},
    value::{Ref, compare_numbers},
};
use crate::{Error, Result, text::quoted};

/// A compiled sort.
#[derive(Debug, Clone)]
pub(super) struct Sort {
    fields: Vec<(Field, bool)>,
    text: String,
}

impl Sort {
    /// Compiles `-created_at,title`; an empty text is `created_at`.
    pub(super) fn parse(text: &str, projection: &mut Projection) -> Result<Self> {
        let text = if text.is_empty() { "created_at" } else { text };
        let mut fields: Vec<(Field, bool)> = Vec::new();
        for part in text.split(',') {
            let (path, descending) = part.strip_prefix('-').map_or((part, false), |p| (p, true));
            let field = Field::parse(path, "sort", projection)?;
            if fields.iter().any(|(known, _)| *known == field) {
                return Err(Error::invalid(format!("`sort` names `{path}` twice")));
            }
            if fields.len() == SORT_FIELDS_MAX {
                return Err(Error::invalid(format!("`sort` has at most {SORT_FIELDS_MAX} fields")));
            }
            fields.push((field, descending));
        }
        Ok(Self { fields, text: text.to_owned() })
    }

    /// Whether a list can be sorted by the member of `data` that has just this name.
    pub(super) fn names_member(name: &str) -> bool {
        let sort = Self::parse(name, &mut Projection::default());
        let fields = sort.as_ref().map(|sort| &sort.fields[..]);
        let Ok([(Field::Data { rest, .. }, false)]) = fields else { return false };
        rest.is_empty() && !name.is_empty() && misspelt(name).is_none()
    }

    /// Refuses a field that looks like an order as others write it, unless rows have it: the schema
    /// `declares` a member of just this name.
    pub(super) fn check_spelling(&self, declares: impl Fn(&str) -> bool) -> Result<()> {
        for part in self.text.split(',') {
            let path = part.strip_prefix('-').unwrap_or(part);
            if let Some(meant) = misspelt(path).filter(|_| !declares(path)) {
                return Err(Error::invalid(format!(
                    "`sort`: no field is called {}; write `{meant}` to ascend, `-{meant}` to descend",
                    quoted(path)
                )));
            }
        }
        Ok(())
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn creation_order(&self) -> Option<bool> {
        match self.fields[..] {
            [(Field::System(SystemField::CreatedAt), descending)] => Some(descending),
            _ => None,
        }
    }

    pub(super) fn key(&self, view: &View<'_>) -> SortKey {
        let value = |field| view.value(field).map_or(SortValue::Null, SortValue::of);
        let values = self.fields.iter().map(|(field, _)| value(field)).collect();
        SortKey { values, key: view.row().key().into() }
    }

    pub(super) fn compare(&self, a: &SortKey, b: &SortKey) -> Ordering {
        for ((_, descending), (a, b)) in self.fields.iter().zip(a.values.iter().zip(&b.values)) {
            let order = a.compare(b);
            if order.is_ne() {
                return if *descending { order.reverse() } else { order };
            }
        }
        a.key.cmp(&b.key)
    }
}

/// The field that is meant by a path with an order in it, as other languages and services write one:
/// `n desc`, `n:desc`, `desc(n)`, `created_at.desc`, `+n`, `--n`, ` n`, `["-n"]`, `{"n":-1}`.
fn misspelt(path: &str) -> Option<&str> {
    let is_sign = |c: char| c.is_whitespace() || matches!(c, '+' | '-');
    let meant = quoted_in(path).or_else(|| called_in(path)).unwrap_or(path).trim_matches(is_sign);
    let word = meant
        .rsplit_once([' ', ':'])
        // A dot leads into a row's data, but nowhere from what the record has.
        .or_else(|| meant.rsplit_once('.').filter(|(field, _)| SystemField::of(field).is_some()))
        .filter(|(_, word)| is_order(word));
    let meant = word.map_or(meant, |(field, _)| field.trim_matches(is_sign));
    (meant != path && !meant.is_empty()).then_some(meant)
}

fn is_order(word: &str) -> bool {
    ["asc", "desc"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// What a list or an object of JSON names first.
fn quoted_in(path: &str) -> Option<&str> {
    path.trim_start_matches(['[', '{']).strip_prefix('"')?.split('"').next()
}

/// What a function is called with that has the name of an order.
fn called_in(path: &str) -> Option<&str> {
    let (function, field) = path.strip_suffix(')')?.split_once('(')?;
    is_order(function).then_some(field)
}

/// A row's place in an order: the values it is sorted by, and its key.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    pub(super) values: Vec<SortValue>,
    pub(super) key: Box<str>,
}

impl SortKey {
    /// The row's key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The row's creation time in microseconds, when that is what the order begins with.
    #[must_use]
    pub fn first_integer(&self) -> Option<i64> {
        match self.values.first()? {
            SortValue::Number(number) => number.as_i64(),
            _ => None,
        }
    }
}

/// One value to sort by. The variants stand in their order.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SortValue {
    Null,
    Bool(bool),
    Number(Number),
    String(Box<str>),
    Array(Box<str>),
    Object(Box<str>),
}

impl SortValue {
    fn of(value: Ref<'_>) -> Self {
        match value {
            Ref::Null => Self::Null,
            Ref::Bool(value) => Self::Bool(value),
            Ref::Number(value) => Self::Number(value),
            Ref::String(text) => Self::String(cut(text)),
            Ref::Array(items) => Self::Array(cut(&Value::from(items).to_string())),
            Ref::Object(members) => Self::Object(cut(&Value::from(members.clone()).to_string())),
        }
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Number(_) => 2,
            Self::String(_) => 3,
            Self::Array(_) => 4,
            Self::Object(_) => 5,
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => compare_numbers(a, b),
            (Self::String(a), Self::String(b))
            | (Self::Array(a), Self::Array(b))
            | (Self::Object(a), Self::Object(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// Appends tag, length and text to a cursor.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let text = match self {
            Self::Null => String::new(),
            Self::Bool(value) => u8::from(*value).to_string(),
            Self::Number(number) => number.to_string(),
            Self::String(text) | Self::Array(text) | Self::Object(text) => text.to_string(),
        };
        out.push(self.rank());
        super::cursor::put_text(out, &text);
    }

    pub(super) fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let (&rank, rest) = bytes.split_first()?;
        *bytes = rest;
        let text = super::cursor::take_text(bytes)?;
        Some(match rank {
            0 => Self::Null,
            1 => Self::Bool(text == "1"),
            2 => Self::Number(serde_json::from_str(text).ok()?),
            3 => Self::String(text.into()),
            4 => Self::Array(text.into()),
            5 => Self::Object(text.into()),
            _ => return None,
        })
    }
}

fn cut(text: &str) -> Box<str> {
    text[..text.floor_char_boundary(SORT_TEXT_BYTES_MAX)].into()
}
