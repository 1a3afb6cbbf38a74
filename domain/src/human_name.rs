//! What a human is called, and other single lines that a human types about itself.

use crate::{Error, Result, agent_name::AgentName, text::is_unseen};

/// A human's name: one line, trimmed, 1 to 100 characters, by the rules of an agent's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HumanName(AgentName);

/// What joins the parts of a host's or a mailbox's address: `.` and `@`, and the characters that
/// browsers read as those (UTS #46).
const JOINTS: [char; 7] = ['.', '\u{2024}', '\u{3002}', '\u{ff0e}', '\u{ff61}', '@', '\u{ff20}'];

/// How an encoded word begins (RFC 2047): in a subject mail programs show what it says.
const ENCODED_WORD: &str = "=?";

/// Whether a mail program, or a reader, could take a part of `name` for an address: of a page or of a
/// mailbox. What nobody sees stands between nothing; what a mail program decodes may be anything.
#[must_use]
pub fn may_become_link(name: &str) -> bool {
    let is_seen = |c: &char| c.is_whitespace() || !is_unseen(*c);
    let lower = name.chars().filter(is_seen).collect::<String>().to_lowercase();
    // Programs that make links take combining marks and symbols for parts of a host, too.
    let is_of_host =
        |c: Option<char>| c.is_some_and(|c| !c.is_whitespace() && !c.is_ascii_punctuation());
    let joins = |(at, joint): (usize, &str)| {
        let (before, after) = (&lower[..at], &lower[at + joint.len()..]);
        is_of_host(before.chars().next_back()) && is_of_host(after.chars().next())
    };
    ["://", "www.", ENCODED_WORD].iter().any(|part| lower.contains(part))
        || lower.match_indices(JOINTS).any(joins)
}

impl HumanName {
    /// Reads the member `member` of a request; `None` for one that is empty, which clears it.
    ///
    /// # Errors
    /// `invalid_request`, naming the member.
    pub fn parse(member: &str, text: &str) -> Result<Option<Self>> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let named =
            |error: Error| Error::invalid(error.message.replace("`name`", &format!("`{member}`")));
        AgentName::parse(text).map(|name| Some(Self(name))).map_err(named)
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}
