//! Some members of a stored object, without building the rest: a unique index is made of every row.

use std::{fmt, sync::Arc};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// The values of `names` in the text of an object, in their order, in place of what was `found` in
/// another; `None` where a member is absent. A text that is no object has none of them.
pub fn pick(text: &str, names: &[Arc<str>], found: &mut Vec<Option<Value>>) {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    clear(found, names);
    if deserializer.deserialize_map(Members { names, found }).is_err() {
        clear(found, names);
    }
}

fn clear(found: &mut Vec<Option<Value>>, names: &[Arc<str>]) {
    found.clear();
    found.resize(names.len(), None);
}

struct Members<'a> {
    names: &'a [Arc<str>],
    found: &'a mut [Option<Value>],
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while let Some(place) = map.next_key_seed(Name(self.names))? {
            match place {
                Some(place) => self.found[place] = Some(map.next_value()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// A member's name, as its place among the wanted ones.
struct Name<'a>(&'a [Arc<str>]);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|wanted| **wanted == *name))
    }
}
