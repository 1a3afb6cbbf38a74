//! Custom domains: which names an app may be given, and how control over one is proven. What is not
//! here: who holds which name (storage), and asking the DNS.

use std::fmt;

use crate::{Error, ErrorCode, Result, dns_name, public_net::is_public_name};

/// Bytes of a DNS name (RFC 1035, 2.3.4), of which a refusal quotes no more.
const NAME_BYTES_MAX: usize = 253;
/// Domains of one app, those that are not proven yet included.
pub const DOMAINS_PER_APP_MAX: u32 = 20;
/// Below this name of a domain its owner puts the TXT record.
const PROOF_LABEL: &str = "_rookery";
/// What the TXT record's value begins with.
const PROOF_PREFIX: &str = "rookery-verify=";

/// A bare DNS name of at least two labels, in lower case and ASCII: one that an app can be given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainName(Box<str>);

impl DomainName {
    /// Checks a name. International names become ASCII (UTS 46). `platform` are the names of the
    /// service itself: they and everything below them are refused.
    ///
    /// # Errors
    /// `domain_invalid`, saying why.
    pub fn parse(text: &str, platform: &[&str]) -> Result<Self> {
        let invalid = |why: &str| {
            let shown: String = text.chars().take(NAME_BYTES_MAX).collect();
            Error::new(ErrorCode::DomainInvalid, format!("`domain` {shown:?}: {why}"))
        };
        if text.contains('*') {
            return Err(invalid("a wildcard is no domain"));
        }
        let name = dns_name::to_ascii(text)
            .ok_or_else(|| invalid("must be a bare DNS name such as app.example.com"))?;
        if !name.contains('.') {
            return Err(invalid("needs a dot"));
        }
        if !dns_name::is_name(&name) {
            return Err(invalid("is an address, not a name"));
        }
        if PROOF_LABEL.len() + 1 + name.len() > NAME_BYTES_MAX {
            return Err(invalid(&format!(
                "is too long: with `{PROOF_LABEL}.` before it, it must have {NAME_BYTES_MAX} characters at most"
            )));
        }
        if !is_public_name(&name) {
            return Err(invalid("is a local or reserved name"));
        }
        if platform.iter().any(|own| is_at_or_below(&name, own)) {
            return Err(invalid("is a name of this service"));
        }
        Ok(Self(name.into()))
    }

    /// A name that was checked when it was stored.
    #[must_use]
    pub fn stored(name: &str) -> Self {
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where the TXT record that proves control is looked for.
    #[must_use]
    pub fn proof_name(&self) -> String {
        format!("{PROOF_LABEL}.{}", self.0)
    }
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The TXT value that proves control for the binding with this token.
#[must_use]
pub fn proof_value(token: &str) -> String {
    format!("{PROOF_PREFIX}{token}")
}

fn is_at_or_below(name: &str, of: &str) -> bool {
    !of.is_empty()
        && name.strip_suffix(of).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}
