//! What a `PATCH` says of one field that may be empty: that the body leaves it out, and that it is null
//! there, mean different things. What is not here: patches of rows (`patch`).

use serde::{Deserialize, Deserializer};

/// What becomes of a field. A member of a body has `#[serde(default)]` beside it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FieldPatch<T> {
    /// It stays: the body leaves it out.
    #[default]
    Keep,
    /// It is emptied: null.
    Clear,
    /// It is set to this.
    Set(T),
}

impl<T> FieldPatch<T> {
    /// The field after it, which was `before`.
    #[must_use]
    pub fn apply(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Keep => before,
            Self::Clear => None,
            Self::Set(value) => Some(value),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FieldPatch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Self::Clear, Self::Set))
    }
}
