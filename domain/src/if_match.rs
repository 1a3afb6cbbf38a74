//! The entity tag of a row, and the condition of a write on it: `if_match`, and the header
//! `If-Match` (RFC 9110, 13.1.1).

use crate::{Error, ErrorCode, Result, Timestamp, text::quoted};

/// The largest number that a member may name a version by: integers of most languages hold it.
pub const VERSION_MAX: u64 = i64::MAX as u64;

/// What a tag takes for a version below a million, in this century.
const ETAG_BYTES_USUAL: usize = 20;

/// The entity tag of a row, quotes included: its version, and the millisecond of its last write.
/// Versions begin anew with an app that takes over a slug, and go back with a backup.
#[must_use]
pub fn etag(version: u32, updated_at: Timestamp) -> String {
    let mut tag = String::with_capacity(ETAG_BYTES_USUAL);
    tag.push('"');
    State::of(version, Some(updated_at)).write(&mut tag);
    tag.push('"');
    tag
}

/// What a tag says of a row. The time is as finely as rows show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    version: u64,
    written_ms: Option<u64>,
}

impl State {
    fn of(version: u32, written: Option<Timestamp>) -> Self {
        let written_ms = written.map(|at| at.0.div_euclid(1_000).cast_unsigned());
        Self { version: version.into(), written_ms }
    }

    /// What this text says, in its one spelling.
    fn parse(text: &str) -> Option<Self> {
        let (version, written_ms) = match text.split_once('-') {
            Some((version, ms)) => (version, Some(u64::from_str_radix(ms, 16).ok()?)),
            None => (text, None),
        };
        let state = Self { version: version.parse().ok()?, written_ms };
        let mut spelled = String::with_capacity(text.len());
        state.write(&mut spelled);
        (spelled == text).then_some(state)
    }

    /// Appends its spelling: the version, and after a hyphen the time in hexadecimal. Each answer with a row
    /// has one, so it goes around the machinery of `format!`.
    fn write(self, out: &mut String) {
        out.push_str(itoa::Buffer::new().format(self.version));
        let Some(ms) = self.written_ms else { return };
        out.push('-');
        let digits = (u64::BITS - (ms | 1).leading_zeros()).div_ceil(4);
        let digit = |place: u32| char::from_digit((ms >> (4 * place)) as u32 & 0xf, 16);
        out.extend((0..digits).rev().filter_map(digit));
    }

    /// Whether a row in the state `row` is what this names.
    fn names(self, row: Self) -> bool {
        let Self { version, written_ms } = self;
        version == row.version && (written_ms.is_none() || written_ms == row.written_ms)
    }
}

/// What is said of a weak tag.
const WEAK: &str = "a weak tag (W/) is met by nothing, and a proxy that compresses makes tags weak";

/// The states that the row may be in: a version, or a version that was written at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IfMatch {
    tags: Vec<Tag>,
    from: Source,
}

/// Where a condition stands in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// In the member `if_match` of the query or the body.
    Member,
    /// In the header.
    Header {
        /// Whether a tag of it was weak.
        has_weak: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Tag {
    Row(State),
    /// One that no row has.
    Other(Box<str>),
}

impl Tag {
    /// The tag with this text between its quotes.
    fn of(text: &str) -> Self {
        State::parse(text).map_or_else(|| Self::Other(text.into()), Self::Row)
    }
}

/// What follows the commas and blanks: empty elements of a list are nothing (RFC 9110, section 5.6.1.2).
fn next_element(rest: &str) -> &str {
    rest.trim_start_matches([',', ' ', '\t'])
}

impl IfMatch {
    /// The row has this version.
    #[must_use]
    pub fn version(version: u64) -> Self {
        Self { tags: vec![Tag::Row(State { version, written_ms: None })], from: Source::Member }
    }

    /// What the header says: `None` for `*`, which everything meets. Tags are compared strongly, so a
    /// weak one is met by nothing. A bare version is taken for its tag.
    ///
    /// # Errors
    /// `invalid_request`, for what is no list of entity tags.
    pub fn of_header(text: &str) -> Result<Option<Self>> {
        let wrong =
            || Error::invalid("If-Match: must be entity tags, versions such as \"3\", or *");
        let text = text.trim();
        if text == "*" {
            return Ok(None);
        }
        if let Some(state) = State::parse(text).filter(|state| state.written_ms.is_none()) {
            let from = Source::Header { has_weak: false };
            return Ok(Some(Self { from, ..Self::version(state.version) }));
        }
        let (mut tags, mut has_weak) = (Vec::new(), false);
        let mut rest = next_element(text);
        while !rest.is_empty() {
            let weak = rest.strip_prefix("W/");
            let (tag, behind) = weak
                .unwrap_or(rest)
                .strip_prefix('"')
                .and_then(|tag| tag.split_once('"'))
                .ok_or_else(wrong)?;
            match weak {
                Some(_) => has_weak = true,
                None => tags.push(Tag::of(tag)),
            }
            if !behind.is_empty() && !behind.trim_start().starts_with(',') {
                return Err(wrong());
            }
            rest = next_element(behind);
        }
        if tags.is_empty() && !has_weak {
            return Err(wrong());
        }
        Ok(Some(Self { tags, from: Source::Header { has_weak } }))
    }

    fn states(&self) -> impl Iterator<Item = State> {
        self.tags.iter().filter_map(|tag| match tag {
            Tag::Row(state) => Some(*state),
            Tag::Other(_) => None,
        })
    }

    /// The versions that it names, in order, each once.
    #[must_use]
    pub fn versions(&self) -> Vec<u64> {
        let mut versions: Vec<_> = self.states().map(|state| state.version).collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }

    /// Whether a time is part of what it asks for.
    #[must_use]
    pub fn names_times(&self) -> bool {
        self.states().any(|state| state.written_ms.is_some())
    }

    /// Has the version alone stand for the row in this state: in one app it was never another's.
    pub fn know(&mut self, version: u32, written: Timestamp) {
        let row = State::of(version, Some(written));
        if self.states().any(|state| state.names(row)) {
            self.tags.push(Tag::Row(State { written_ms: None, ..row }));
        }
    }

    /// Checks the row's version, and when it was written last; a row of which that is not known is
    /// met by its version alone.
    ///
    /// # Errors
    /// `conflict`.
    pub fn check(&self, version: u32, written: Option<Timestamp>) -> Result<()> {
        let row = State::of(version, written);
        if self.states().any(|state| state.names(row)) {
            return Ok(());
        }
        let seen: Vec<_> = self.versions().iter().map(u64::to_string).collect();
        let what = if self.from == Source::Member { "`if_match`" } else { "If-Match" };
        let message = match seen[..] {
            [] => format!("If-Match: {}; the row's version is {version}", self.nothing()),
            _ if self.versions().contains(&row.version) => {
                format!("{what} is version {version} of another row that had this address")
            }
            _ => format!("{what} is {}, but the row's version is {version}", seen.join(" or ")),
        };
        Err(Error::new(ErrorCode::Conflict, message))
    }

    /// Why a header that names no version names none.
    fn nothing(&self) -> String {
        let other = self.tags.iter().find_map(|tag| match tag {
            Tag::Other(text) => Some(text),
            Tag::Row(_) => None,
        });
        match other {
            Some(text) => format!("{} is no version in quotes, and no row's ETag", quoted(text)),
            None => {
                format!("{WEAK}: send the version that you have read, as \"1\" or in `if_match`")
            }
        }
    }

    /// Checks the entity tag of an answer, with its quotes; that of a row is met by its version, as
    /// for a write.
    ///
    /// # Errors
    /// `conflict`.
    pub fn check_etag(&self, etag: &str) -> Result<()> {
        // A weak tag is met by none.
        let tag = etag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).map(Tag::of);
        let is_met = match tag {
            Some(Tag::Row(row)) => self.states().any(|state| state.names(row)),
            Some(other) => self.tags.contains(&other),
            None => false,
        };
        if is_met {
            return Ok(());
        }
        let why = match self.from {
            Source::Header { has_weak: true } if self.tags.is_empty() => WEAK,
            _ => "it does not name what is there",
        };
        let message = format!("If-Match: {why}; what is there is {etag}");
        Err(Error::new(ErrorCode::Conflict, message))
    }
}
