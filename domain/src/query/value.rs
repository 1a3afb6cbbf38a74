//! JSON values as filters compare them: by value, borrowed, numbers exactly.

use std::{borrow::Cow, cmp::Ordering, fmt};

use serde::{
    Deserialize as _,
    de::{
        DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use serde_json::{Map, Number, Value};

use crate::json::exact_integer;

/// A member as it was read from a row: scalars borrow from the row's text.
#[derive(Debug, Clone, Default)]
pub(super) enum Slot<'r> {
    #[default]
    Absent,
    Null,
    Bool(bool),
    Number(Number),
    String(Cow<'r, str>),
    Tree(Value),
}

/// A value to compare.
#[derive(Debug, Clone)]
pub(super) enum Ref<'v> {
    Null,
    Bool(bool),
    Number(Number),
    String(&'v str),
    Array(&'v [Value]),
    Object(&'v Map<String, Value>),
}

impl Slot<'_> {
    pub(super) fn get(&self) -> Option<Ref<'_>> {
        Some(match self {
            Self::Absent => return None,
            Self::Null => Ref::Null,
            Self::Bool(value) => Ref::Bool(*value),
            Self::Number(value) => Ref::Number(value.clone()),
            Self::String(value) => Ref::String(value),
            Self::Tree(value) => Ref::of(value),
        })
    }
}

impl<'v> Ref<'v> {
    pub(super) fn of(value: &'v Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(value) => Self::Number(value.clone()),
            Value::String(value) => Self::String(value),
            Value::Array(items) => Self::Array(items),
            Value::Object(members) => Self::Object(members),
        }
    }

    /// One step of a dotted path: a member, or an element by its index.
    pub(super) fn step(&self, name: &str) -> Option<Self> {
        match self {
            Self::Object(members) => members.get(name).map(Self::of),
            Self::Array(items) => items.get(index(name)?).map(Self::of),
            _ => None,
        }
    }

    /// Equal by value: `1` is `1.0`, members in any order.
    pub(super) fn equals(&self, other: &Ref<'_>) -> bool {
        match (self, other) {
            (Self::Null, Ref::Null) => true,
            (Self::Bool(a), Ref::Bool(b)) => a == b,
            (Self::Number(a), Ref::Number(b)) => compare_numbers(a, b).is_eq(),
            (Self::String(a), Ref::String(b)) => a == b,
            (Self::Array(a), Ref::Array(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b.iter()).all(|(a, b)| Ref::of(a).equals(&Ref::of(b)))
            }
            (Self::Object(a), Ref::Object(b)) => {
                a.len() == b.len()
                    && a.iter().all(|(name, a)| {
                        b.get(name).is_some_and(|b| Ref::of(a).equals(&Ref::of(b)))
                    })
            }
            _ => false,
        }
    }

    /// The order of two numbers or two strings; `None` for anything else.
    pub(super) fn order(&self, other: &Ref<'_>) -> Option<Ordering> {
        match (self, other) {
            (Self::Number(a), Ref::Number(b)) => Some(compare_numbers(a, b)),
            (Self::String(a), Ref::String(b)) => Some(str::cmp(a, b)),
            _ => None,
        }
    }
}

/// An index in its one spelling: `00` and `+1` are none.
fn index(step: &str) -> Option<usize> {
    let is_one = step == "0" || step.starts_with(|digit: char| matches!(digit, '1'..='9'));
    is_one.then(|| step.parse().ok())?
}

/// The order of two numbers by their exact values, whichever way they are held.
pub(super) fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (exact_integer(a), exact_integer(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        // At least one is a fraction (then below 2^53, where rounding the other cannot reach) or
        // beyond 1e38 (where no 64-bit integer is).
        _ => {
            let double = |n: &Number| n.as_f64().unwrap_or_default();
            double(a).partial_cmp(&double(b)).unwrap_or(Ordering::Equal)
        }
    }
}

/// Reads one member into its slot.
pub(super) struct ReadSlot;

impl<'de> DeserializeSeed<'de> for ReadSlot {
    type Value = Slot<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Slot<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ReadSlot {
    type Value = Slot<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Slot<'de>, E> {
        Ok(Slot::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Slot<'de>, E> {
        Ok(Slot::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Slot<'de>, E> {
        Ok(Slot::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Slot<'de>, E> {
        Ok(Slot::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Slot<'de>, E> {
        Ok(Number::from_f64(value).map_or(Slot::Null, Slot::Number))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Slot<'de>, E> {
        Ok(Slot::String(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Slot<'de>, E> {
        Ok(Slot::String(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Slot<'de>, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(items)).map(Slot::Tree)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Slot<'de>, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(members)).map(Slot::Tree)
    }
}
