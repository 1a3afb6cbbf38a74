//! The two strict passes: one builds a value, the other only looks. Both are visitors over
//! serde_json's lexer, which refuses lone surrogates, control characters, numbers out of range
//! and trailing data by itself; depth, NUL and repeated members are refused here.

use std::{borrow::Cow, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, map::Entry};

use super::{DEPTH_MAX, shortened};

/// Members up to which repeated names are looked for one by one; beyond, by sorting at the end.
const PAIRWISE_MAX: usize = 12;

/// Names that are open at once in most bodies, so that the stack need not grow.
const NAMES_USUAL: usize = 32;

/// Reads `text` into a value.
pub(super) fn build(text: &str) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Build { depth: 0 }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Reads `text` and keeps nothing.
pub(super) fn check(text: &str) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    Check { depth: 0, names: &mut Vec::with_capacity(NAMES_USUAL) }
        .deserialize(&mut deserializer)?;
    deserializer.end()
}

fn deeper<E: Error>(depth: usize) -> Result<usize, E> {
    if depth == DEPTH_MAX {
        return Err(E::custom(format_args!("nesting is deeper than {DEPTH_MAX}")));
    }
    Ok(depth + 1)
}

fn no_nul<E: Error>(text: &str) -> Result<(), E> {
    if text.as_bytes().contains(&0) {
        return Err(E::custom("a string holds the character NUL (\\u0000)"));
    }
    Ok(())
}

fn repeated<E: Error>(name: &str) -> E {
    E::custom(format_args!("member `{}` occurs twice", shortened(name)))
}

fn expecting(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("a JSON value")
}

#[derive(Clone, Copy)]
struct Build {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Build {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Build {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        expecting(f)
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("number out of range"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        no_nul(value)?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = Self { depth: deeper(self.depth)? };
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inner = Self { depth: deeper(self.depth)? };
        let mut map = Map::new();
        while let Some(name) = members.next_key_seed(Name)? {
            match map.entry(name.into_owned()) {
                Entry::Occupied(known) => return Err(repeated(known.key())),
                Entry::Vacant(free) => {
                    free.insert(members.next_value_seed(inner)?);
                }
            }
        }
        Ok(Value::Object(map))
    }
}

/// A member's name, borrowed from the text unless it is written with escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Self::Value, E> {
        no_nul(name)?;
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        no_nul(name)?;
        Ok(Cow::Owned(name.to_owned()))
    }
}

/// `names` is a stack over all open objects, so a whole text costs one allocation.
struct Check<'a, 'de> {
    depth: usize,
    names: &'a mut Vec<Cow<'de, str>>,
}

impl<'de> DeserializeSeed<'de> for Check<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Check<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        expecting(f)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        no_nul(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let depth = deeper(self.depth)?;
        while items.next_element_seed(Check { depth, names: &mut *self.names })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let depth = deeper(self.depth)?;
        let first = self.names.len();
        while let Some(name) = members.next_key_seed(Name)? {
            let before = &self.names[first..];
            if before.len() <= PAIRWISE_MAX && before.contains(&name) {
                return Err(repeated(&name));
            }
            self.names.push(name);
            members.next_value_seed(Check { depth, names: &mut *self.names })?;
        }
        let names = &mut self.names[first..];
        if names.len() > PAIRWISE_MAX {
            names.sort_unstable();
            if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(repeated(&pair[0]));
            }
        }
        self.names.truncate(first);
        Ok(())
    }
}
