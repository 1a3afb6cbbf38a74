//! The condition of a write on a row's version: `if_match`, and the header `If-Match` (RFC 9110,
//! 13.1.1). A row's entity tag is its version in quotes.

use crate::{Error, ErrorCode, Result};

/// The largest number that a member may name a version by: integers of most languages hold it.
pub const VERSION_MAX: u64 = i64::MAX as u64;

/// The versions that the row may have; a number or tag that is no row's version is met by none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IfMatch(Vec<u64>);

impl IfMatch {
    /// The row has this version.
    #[must_use]
    pub fn version(version: u64) -> Self {
        Self(vec![version])
    }

    /// What the header says: `None` for `*`, which every row meets. Tags are compared strongly, so a
    /// weak one is met by no row. A bare version is taken for its tag.
    ///
    /// # Errors
    /// `invalid_request`, for what is no list of entity tags.
    pub fn of_header(text: &str) -> Result<Option<Self>> {
        let wrong = || Error::invalid("If-Match: must be row versions, such as \"3\", or *");
        let mut rest = text.trim();
        if rest == "*" {
            return Ok(None);
        }
        if let Some(version) = version(rest) {
            return Ok(Some(Self::version(version)));
        }
        let mut versions = Vec::new();
        loop {
            let weak = rest.strip_prefix("W/");
            let (tag, behind) = weak
                .unwrap_or(rest)
                .strip_prefix('"')
                .and_then(|tag| tag.split_once('"'))
                .ok_or_else(wrong)?;
            versions.extend(version(tag).filter(|_| weak.is_none()));
            rest = match behind.trim_start().strip_prefix(',') {
                Some(next) => next.trim_start(),
                None if behind.trim().is_empty() => break,
                None => return Err(wrong()),
            };
        }
        versions.sort_unstable();
        versions.dedup();
        Ok(Some(Self(versions)))
    }

    /// Checks the version that the row has.
    ///
    /// # Errors
    /// `conflict`.
    pub fn check(&self, version: u32) -> Result<()> {
        if self.0.contains(&version.into()) {
            return Ok(());
        }
        let seen: Vec<_> = self.0.iter().map(u64::to_string).collect();
        let message = match seen[..] {
            [] => format!("`if_match` names no version, and the row's is {version}"),
            _ => format!("`if_match` is {}, but the row's version is {version}", seen.join(" or ")),
        };
        Err(Error::new(ErrorCode::Conflict, message))
    }
}

/// The version that this text is, in its one spelling.
fn version(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|version| version.to_string() == text)
}
