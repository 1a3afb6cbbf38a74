//! What an agent calls itself: one line that a page can show beside a question.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::{
    Error, Result,
    text::{is_unseen, turns_direction},
};

/// Characters of a name.
pub const NAME_CHARS_MAX: usize = 100;
/// What [`AgentName::parse`] takes, as far as a regular expression says it: a character that shows
/// something, and none within that controls or turns the text. The separators of lines and paragraphs are
/// what is left of `\s` beside the spaces: code that is generated with their escapes does not always compile.
pub const PATTERN: &str = r"^[\s\u0085]*(?=.*[^\s\u0085\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8])(?:[^\s\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\ufeff])+[\s\u0085]*$";

/// An agent's name: trimmed, 1 to [`NAME_CHARS_MAX`] characters of which one shows something, without
/// control characters and without those that turn the direction of text (a page shows the name beside
/// "approve").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentName(Box<str>);

impl AgentName {
    /// Reads the member `name` of a request.
    ///
    /// # Errors
    /// `invalid_request`.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let chars = text.chars().count();
        if chars == 0 || chars > NAME_CHARS_MAX {
            return Err(Error::invalid(format!(
                "`name` must have 1 to {NAME_CHARS_MAX} characters"
            )));
        }
        // Line and paragraph separators are no control characters of Unicode's.
        let separates = |c| matches!(c, '\u{2028}' | '\u{2029}');
        if text.chars().any(|c| c.is_control() || separates(c) || turns_direction(c)) {
            return Err(Error::invalid("`name` must not hold control characters"));
        }
        if text.chars().all(is_unseen) {
            return Err(Error::invalid("`name` must hold something that is seen"));
        }
        Ok(Self(text.into()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for AgentName {
    /// The name of an agent that gave none.
    fn default() -> Self {
        Self("Unnamed agent".into())
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for AgentName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}
