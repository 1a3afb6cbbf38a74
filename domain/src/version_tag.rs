//! Versions as conditions: `if_match` of the query and body, and the headers `If-Match`,
//! `If-None-Match` and `ETag` (RFC 9110 sections 8.8.3 and 13.1). A row's tag is its version.

use crate::{Error, Result};

/// Tags of one header that are looked at.
const TAGS_MAX: usize = 50;

/// The tag of a row's version: `"3"`.
#[must_use]
pub fn etag(version: u32) -> String {
    format!("\"{version}\"")
}

/// On which versions a write may act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfMatch {
    /// `*`: on any that exists.
    Any,
    /// On one of these. May be empty: weak and foreign tags match no version.
    Versions(Vec<u32>),
}

impl IfMatch {
    /// Reads `if_match` of a query: a version number.
    ///
    /// # Errors
    /// `invalid_request`.
    pub fn parse_query(text: &str) -> Result<Self> {
        match version(text) {
            Some(version) => Ok(Self::Versions(vec![version])),
            None => Err(Error::invalid("`if_match` must be a row's version number")),
        }
    }

    /// Reads the header `If-Match`: `*` or a list of tags. It compares strongly, so a weak tag
    /// (`W/"3"`) matches nothing.
    ///
    /// # Errors
    /// `invalid_request` for a malformed header.
    pub fn parse_header(text: &str) -> Result<Self> {
        if text.trim() == "*" {
            return Ok(Self::Any);
        }
        let tags = tags(text).ok_or_else(|| {
            Error::invalid("`If-Match` must be `*` or entity tags such as `\"3\"`")
        })?;
        let strong = tags.iter().filter(|tag| !tag.weak);
        Ok(Self::Versions(strong.filter_map(|tag| version(tag.opaque)).collect()))
    }

    /// One condition from two places.
    ///
    /// # Errors
    /// `invalid_request` when they differ.
    pub fn combine(a: Option<Self>, b: Option<Self>) -> Result<Option<Self>> {
        match (a, b) {
            (Some(a), Some(b)) if a != b => {
                Err(Error::invalid("`if_match` and `If-Match` name different versions"))
            }
            (a, b) => Ok(a.or(b)),
        }
    }

    /// Whether a row of this version may be written.
    #[must_use]
    pub fn admits(&self, current: u32) -> bool {
        match self {
            Self::Any => true,
            Self::Versions(versions) => versions.contains(&current),
        }
    }
}

impl From<u32> for IfMatch {
    /// `if_match` of a body.
    fn from(version: u32) -> Self {
        Self::Versions(vec![version])
    }
}

/// Whether `If-None-Match` says that the client holds `etag` already (then 304). It compares
/// weakly; a malformed header names nothing.
#[must_use]
pub fn none_match_holds(header: &str, etag: &str) -> bool {
    let opaque = etag.trim_start_matches("W/").trim_matches('"');
    header.trim() == "*"
        || tags(header).is_some_and(|tags| tags.iter().any(|tag| tag.opaque == opaque))
}

struct Tag<'a> {
    weak: bool,
    opaque: &'a str,
}

/// A comma-separated list of entity tags; `None` when malformed, empty or too long.
fn tags(header: &str) -> Option<Vec<Tag<'_>>> {
    let mut tags = Vec::new();
    let mut rest = header.trim();
    loop {
        let (weak, quoted) = rest.strip_prefix("W/").map_or((false, rest), |rest| (true, rest));
        let (opaque, after) = quoted.strip_prefix('"')?.split_once('"')?;
        if tags.len() == TAGS_MAX || opaque.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return None;
        }
        tags.push(Tag { weak, opaque });
        rest = after.trim_start();
        if rest.is_empty() {
            return Some(tags);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

fn version(text: &str) -> Option<u32> {
    let canonical = !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| canonical)
}
