//! E-mail addresses: read once, compared exactly ever after. Whether an address is verified is
//! the account's to know.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::{Error, Result, dns_name};

/// Bytes of an address (RFC 5321 section 4.5.3.1.3, less the angle brackets).
pub const ADDRESS_BYTES_MAX: usize = 254;
/// Bytes of the part before the `@` (RFC 5321 section 4.5.3.1.1).
const LOCAL_BYTES_MAX: usize = 64;

/// An address in normal form: lowercase, the domain in its ASCII form. Two that look alike in
/// another script differ here.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Email(Box<str>);

impl Email {
    /// Reads an address; surrounding spaces are dropped.
    ///
    /// A dot-atom before the `@` (RFC 5322 section 3.4.1): no quoted forms, comments or address
    /// literals, which no sign-up has needed and several have been fooled by.
    ///
    /// # Errors
    /// `invalid_request`.
    pub fn parse(text: &str) -> Result<Self> {
        Self::normalise(text.trim())
            .ok_or_else(|| Error::invalid("`email` is not a valid e-mail address"))
    }

    fn normalise(text: &str) -> Option<Self> {
        if text.len() > ADDRESS_BYTES_MAX {
            return None;
        }
        let (local, domain) = text.rsplit_once('@')?;
        let atext =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
        let dot_atom = local.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(atext));
        if local.len() > LOCAL_BYTES_MAX || !dot_atom {
            return None;
        }
        let domain = dns_name::to_ascii(domain)?;
        let labels = domain.split('.').count();
        if !dns_name::is_name(&domain) || labels < 2 && domain != "localhost" {
            return None;
        }
        let address = format!("{}@{domain}", local.to_ascii_lowercase());
        (address.len() <= ADDRESS_BYTES_MAX).then(|| Self(address.into()))
    }

    /// The address in normal form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Email {
    /// Logs tell that there is an address and not whose.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Email(..)")
    }
}

impl Serialize for Email {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}
