//! Return paths: where sign-in leads back to. A page on the same origin: nothing that any browser or
//! decoder could read as another host, and no address that does something by being opened, such as
//! signing in as somebody else. Checked when a flow starts and again when it ends, for what was stored
//! in between may be somebody else's words.

use std::fmt;

use percent_encoding::percent_decode_str;

use crate::{Error, Result};

/// Bytes of a return path.
const PATH_BYTES_MAX: usize = 2_048;

/// A path (with query and fragment) on the origin that redirects to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnPath(Box<str>);

impl ReturnPath {
    /// Reads the parameter `name`, a page of the site.
    ///
    /// # Errors
    /// `invalid_request` for an absolute address, `//host`, a backslash, control or non-ASCII
    /// characters, empty or dot segments, and encoded forms of these in the path; for a path of the
    /// API (`/v1/`), and for one of an app's service in path mode (`/a/<slug>/s/`).
    pub fn of_site(name: &str, text: &str) -> Result<Self> {
        Self::parse(name, text, |segments| matches!(segments, ["v1", ..] | ["a", _, "s", ..]))
    }

    /// Reads the parameter `name`, a page of an app.
    ///
    /// # Errors
    /// As [`Self::of_site`], but for a path of the app's service (`/s/`).
    pub fn of_app(name: &str, text: &str) -> Result<Self> {
        Self::parse(name, text, |segments| matches!(segments, ["s", _, ..]))
    }

    /// What `read` makes of a path that somebody may have named. An empty one names none, as an absent one.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn named(
        text: Option<&str>,
        read: impl FnOnce(&str) -> Result<Self>,
    ) -> Result<Option<Self>> {
        text.filter(|text| !text.is_empty()).map(read).transpose()
    }

    fn parse(name: &str, text: &str, is_no_page: impl Fn(&[&str]) -> bool) -> Result<Self> {
        let fault = fault(text).or_else(|| {
            let path = percent_decode_str(path_of(text)).decode_utf8_lossy();
            let segments: Vec<&str> = path.split('/').skip(1).collect();
            is_no_page(&segments).then_some("leads to no page")
        });
        match fault {
            None => Ok(Self(text.into())),
            Some(fault) => Err(Error::invalid(format!("`{name}` {fault}"))),
        }
    }

    /// Whether a text is too long to be one, whatever else it is.
    #[must_use]
    pub const fn is_too_long(text: &str) -> bool {
        text.len() > PATH_BYTES_MAX
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
    if ReturnPath::is_too_long(text) {
        return Some("is too long");
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return Some("holds a character that a path must not hold");
    }
    let path = path_of(text);
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

/// What stands before the query and the fragment.
fn path_of(text: &str) -> &str {
    text.split(['?', '#']).next().unwrap_or_default()
}

/// Whether a percent sign stands for syntax once it is decoded (`/ \ .` or a control character), or for
/// nothing at all, or is itself encoded where that makes another escape: nothing can be encoded twice.
fn has_escaped_syntax(path: &str) -> bool {
    path.match_indices('%').any(|(at, _)| match escaped(&path[at..]) {
        None => true,
        Some(b'%') => escaped(&path[at + 2..]).is_some(),
        Some(byte) => byte.is_ascii_control() || matches!(byte, b'/' | b'\\' | b'.'),
    })
}

/// The byte that the two digits behind the first character stand for.
fn escaped(text: &str) -> Option<u8> {
    let code = text.get(1..3).filter(|code| code.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u8::from_str_radix(code, 16).ok()
}
