//! A form that makes something is good for one: the token that is drawn for each page, by which a
//! form that is sent twice makes nothing twice. It becomes the `Idempotency-Key` of the request that
//! the page makes of the API, which remembers it; nothing is kept here.

use std::fmt;

use http::HeaderValue;
use rookery_domain::{Error, Result, text::hex};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::fields::Fields;
use crate::http::idempotency::hash_json;

/// What the field of a form is called that holds it.
const FIELD: &str = "form";
/// Longest token that is taken, in bytes. One of a page is much shorter.
const LEN_MAX: usize = 64;

/// The token of a page's forms; empty for a form that has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct FormToken(String);

impl FormToken {
    /// A new one. It tells forms apart and proves nothing, so it need not be secret.
    #[must_use]
    pub fn draw() -> Self {
        Self(Uuid::new_v4().simple().to_string())
    }

    /// The token that a form sent.
    #[must_use]
    pub fn of(fields: &Fields) -> Self {
        Self(fields.one(FIELD).to_owned())
    }

    /// The key of a request with this body. The same form with other values is another request.
    ///
    /// # Errors
    /// `invalid_request`, for a token that no page has drawn.
    pub fn key(&self, body: &impl Serialize) -> Result<Option<HeaderValue>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let plain = self.0.len() <= LEN_MAX && self.0.bytes().all(|b| b.is_ascii_alphanumeric());
        let key = format!("form-{}-{}", self.0, hex(&hash_json(body)));
        let key = plain.then(|| HeaderValue::try_from(key).ok()).flatten();
        key.map(Some).ok_or_else(|| Error::invalid("the form is none of this page"))
    }
}

impl fmt::Display for FormToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
