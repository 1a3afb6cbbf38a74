//! Return paths: where sign-in leads back to. A path on the same origin and nothing that any
//! browser or decoder could read as another host. Checked when a flow starts and again when it
//! ends, for what was stored in between may be somebody else's words.

use std::fmt;

use crate::{Error, Result};

/// Bytes of a return path.
pub const PATH_BYTES_MAX: usize = 2_048;

/// A path (with query and fragment) on the origin that redirects to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnPath(Box<str>);

impl ReturnPath {
    /// Reads the parameter `name`.
    ///
    /// # Errors
    /// `invalid_request` for an absolute address, `//host`, a backslash, control or non-ASCII
    /// characters, empty or dot segments, and encoded forms of these in the path.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        match fault(text) {
            None => Ok(Self(text.into())),
            Some(fault) => Err(Error::invalid(format!("`{name}` {fault}"))),
        }
    }

    /// The path as it stands in a `Location` header.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ReturnPath {
    fn default() -> Self {
        Self("/".into())
    }
}

impl fmt::Display for ReturnPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn fault(text: &str) -> Option<&'static str> {
    if text.len() > PATH_BYTES_MAX {
        return Some("is too long");
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return Some("holds a character that a path must not hold");
    }
    let path = text.split(['?', '#']).next().unwrap_or_default();
    let Some(rest) = path.strip_prefix('/') else {
        return Some("must be a path that begins with one '/'");
    };
    if has_escaped_syntax(path) {
        return Some("holds an encoded character that a path must not hold");
    }
    let mut segments = rest.split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        if segment.is_empty() && !last || segment == "." || segment == ".." {
            return Some("holds an empty or relative segment");
        }
    }
    None
}

/// Whether a percent sign stands for syntax once it is decoded (`/ \ . %` or a control character),
/// or for nothing at all. `%` itself is among them, so nothing can be encoded twice.
fn has_escaped_syntax(path: &str) -> bool {
    path.split('%').skip(1).any(|escape| {
        let code = escape.get(..2).filter(|code| code.bytes().all(|b| b.is_ascii_hexdigit()));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            None => true,
            Some(byte) => byte.is_ascii_control() || matches!(byte, b'/' | b'\\' | b'.' | b'%'),
        }
    })
}
