//! The fields of a page's forms, of which some have several of one name, as checkboxes do; and what a
//! form asks for. What is not here: who sent it, and for whom (`posted`).

use rookery_domain::Error;
use serde::{
    Deserialize,
    de::{IntoDeserializer as _, value},
};

/// What a form sent, in its order.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// The first value of a name; empty without one.
    #[must_use]
    pub fn one(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim())
    }

    /// The first value of a name, unless it is empty.
    #[must_use]
    pub fn some(&self, name: &str) -> Option<&str> {
        Some(self.one(name)).filter(|value| !value.is_empty())
    }

    /// What the form asks for, by the word that its button sends.
    ///
    /// # Errors
    /// `invalid_request`, for a word that its page does not have.
    pub fn action<'a, A: Deserialize<'a>>(&'a self) -> Result<A, Error> {
        let unknown = |_: value::Error| Error::invalid("this page has no such form");
        A::deserialize(self.one("action").into_deserializer()).map_err(unknown)
    }

    /// What was typed under a name into the form of this action; empty, where another form was sent.
    #[must_use]
    pub fn typed(&self, action: &str, name: &str) -> &str {
        if self.one("action") == action { self.one(name) } else { "" }
    }

    /// Whether the form of this action was sent with this choice.
    #[must_use]
    pub fn chose(&self, action: &str, name: &str, value: &str) -> bool {
        self.one("action") == action && self.all(name).contains(&value)
    }

    /// All values of a name.
    #[must_use]
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    }

    /// A number, where something was typed; what is none goes to the API as it is, which refuses it
    /// by name.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<serde_json::Value> {
        let text = self.some(name)?;
        Some(text.parse::<u64>().map_or_else(|_| text.into(), Into::into))
    }
}
