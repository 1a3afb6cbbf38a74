//! Fields that a query names, and reading just these from a row.

use std::{borrow::Cow, fmt};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Number;

use super::{
    PATH_BYTES_MAX,
    value::{ReadSlot, Ref, Slot},
};
use crate::{Error, Result, Timestamp, row::Row};

/// A member of the row record beside `data`. These names win over members of `data`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SystemField {
    CreatedAt,
    UpdatedAt,
    Key,
    Version,
}

impl SystemField {
    /// The one of this name.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "created_at" => Self::CreatedAt,
            "updated_at" => Self::UpdatedAt,
            "key" => Self::Key,
            "version" => Self::Version,
            _ => return None,
        })
    }
}

/// A field, compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    System(SystemField),
    /// The member of `data` in this slot of the projection, and the steps below it.
    Data {
        slot: usize,
        rest: Box<[Box<str>]>,
    },
}

impl Field {
    /// Compiles a dotted path. `parameter` is named in the refusal.
    pub(super) fn parse(path: &str, parameter: &str, projection: &mut Projection) -> Result<Self> {
        if let Some(system) = SystemField::of(path) {
            return Ok(Self::System(system));
        }
        if path.len() > PATH_BYTES_MAX {
            return Err(Error::invalid(format!(
                "`{parameter}`: a path has at most {PATH_BYTES_MAX} bytes"
            )));
        }
        if path.is_empty() {
            return Err(Error::invalid(format!("`{parameter}`: a field path is empty")));
        }
        let mut steps = path.split('.').map(Box::<str>::from);
        let root = steps.next().unwrap_or_default();
        let rest: Box<[Box<str>]> = steps.collect();
        if root.is_empty() || rest.iter().any(|step| step.is_empty()) {
            return Err(Error::invalid(format!("`{parameter}`: `{path}` is not a field path")));
        }
        Ok(Self::Data { slot: projection.slot(root), rest })
    }
}

/// The members of `data` that a query reads.
#[derive(Debug, Clone, Default)]
pub(super) struct Projection(Vec<Box<str>>);

impl Projection {
    fn slot(&mut self, name: Box<str>) -> usize {
        self.0.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.0.push(name);
            self.0.len() - 1
        })
    }
}

/// A row with the members that a query reads.
pub(super) struct View<'r> {
    row: &'r Row,
    slots: Vec<Slot<'r>>,
}

impl<'r> View<'r> {
    pub(super) fn new(row: &'r Row, projection: &Projection) -> Self {
        let mut slots = Vec::new();
        if !projection.0.is_empty() {
            slots.resize_with(projection.0.len(), Slot::default);
            let mut text = serde_json::Deserializer::from_str(row.data());
            // Reading stops at the last member that is asked for, which serde_json then reports
            // as text that goes on. The data itself was checked when it was written.
            let _ = Members { projection, slots: &mut slots }.deserialize(&mut text);
        }
        Self { row, slots }
    }

    /// The value of a field of `data`; `None` when it is absent.
    pub(super) fn data(&self, slot: usize, rest: &[Box<str>]) -> Option<Ref<'_>> {
        let mut value = self.slots.get(slot)?.get()?;
        for step in rest {
            value = value.step(step)?;
        }
        Some(value)
    }

    /// The value of a field as filters compare it: times as they are shown, in milliseconds,
    /// so that one which is given more finely lies between two of them.
    pub(super) fn value(&self, field: &Field) -> Option<Ref<'_>> {
        match field {
            Field::Data { slot, rest } => self.data(*slot, rest),
            Field::System(SystemField::Key) => Some(Ref::String(self.row.key())),
            Field::System(SystemField::Version) => Some(Ref::Number(self.row.version.into())),
            Field::System(SystemField::CreatedAt) => Some(shown(self.row.created_at)),
            Field::System(SystemField::UpdatedAt) => Some(shown(self.row.updated_at)),
        }
    }

    pub(super) const fn row(&self) -> &'r Row {
        self.row
    }
}

fn shown(at: Timestamp) -> Ref<'static> {
    Ref::Number(Number::from(at.as_shown().0))
}

struct Members<'p, 's, 'r> {
    projection: &'p Projection,
    slots: &'s mut [Slot<'r>],
}

impl<'r> DeserializeSeed<'r> for Members<'_, '_, 'r> {
    type Value = ();

    fn deserialize<D: Deserializer<'r>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'r> Visitor<'r> for Members<'_, '_, 'r> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'r>>(self, mut members: A) -> Result<(), A::Error> {
        let mut missing = self.slots.len();
        while missing > 0 {
            let Some(name) = members.next_key_seed(Name)? else { break };
            match self.projection.0.iter().position(|asked| **asked == *name) {
                Some(slot) => {
                    self.slots[slot] = members.next_value_seed(ReadSlot)?;
                    missing -= 1;
                }
                None => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// A member's name, borrowed unless it is written with escapes.
struct Name;

impl<'r> DeserializeSeed<'r> for Name {
    type Value = Cow<'r, str>;

    fn deserialize<D: Deserializer<'r>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'r> Visitor<'r> for Name {
    type Value = Cow<'r, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_borrowed_str<E>(self, name: &'r str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}
