//! A header that a request may have once. Of two nobody knows which is meant, and who forwards the
//! request may read the other.

use http::{HeaderMap, HeaderValue, header::AsHeaderName};

/// Such a header, as a request has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SingleHeader<'a> {
    /// Not at all.
    Absent,
    /// Once.
    Once(&'a HeaderValue),
    /// More than once.
    Repeated,
}

impl<'a> SingleHeader<'a> {
    /// The header called `name`.
    #[must_use]
    pub fn of(headers: &'a HeaderMap, name: impl AsHeaderName) -> Self {
        let mut sent = headers.get_all(name).iter();
        match (sent.next(), sent.next()) {
            (None, _) => Self::Absent,
            (Some(value), None) => Self::Once(value),
            (Some(_), Some(_)) => Self::Repeated,
        }
    }

    /// Its text: nothing where it is not there once, and for bytes that are no visible ASCII.
    #[must_use]
    pub fn text(self) -> Option<&'a str> {
        match self {
            Self::Once(value) => value.to_str().ok(),
            Self::Absent | Self::Repeated => None,
        }
    }
}
