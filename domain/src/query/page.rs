//! Pages of any list: how many records, and the cursor of lists that are not rows.

use std::{fmt, str::FromStr};

use sha2::{Digest as _, Sha256};

use crate::{
    Error, Result, Timestamp,
    error::Parameter,
    sealed::{ServerKey, TokenPurpose},
};

/// Bytes of rows' data with which a page of rows ends, whatever its limit: a reader that is slow has it in
/// half a minute at 300 kbit/s.
pub const PAGE_BYTES_MAX: usize = 1 << 20;

/// Records on one page: 1 to 200, 50 unless asked otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageLimit(u16);

impl PageLimit {
    /// The largest page.
    pub const MAX: u16 = 200;
    /// The page of a request that does not say.
    pub const DEFAULT: u16 = 50;

    /// Reads the query parameter `limit`.
    ///
    /// # Errors
    /// `invalid_request` for anything but a whole number from 1 to 200.
    pub fn parse(text: Option<&str>) -> Result<Self> {
        let Some(text) = text else { return Ok(Self::default()) };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse::<u16>() {
            Ok(limit @ 1..=Self::MAX) if digits => Ok(Self(limit)),
            _ => Err(Self::out_of_bounds()),
        }
    }

    /// A limit that was read as a number already.
    ///
    /// # Errors
    /// As [`PageLimit::parse`].
    pub fn of(limit: Option<usize>) -> Result<Self> {
        let Some(limit) = limit else { return Ok(Self::default()) };
        match u16::try_from(limit) {
            Ok(limit @ 1..=Self::MAX) => Ok(Self(limit)),
            _ => Err(Self::out_of_bounds()),
        }
    }

    fn out_of_bounds() -> Error {
        Error::parameter(Parameter::Limit, format_args!("must be a number from 1 to {}", Self::MAX))
    }

    /// As a number of records.
    #[must_use]
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

impl Default for PageLimit {
    fn default() -> Self {
        Self(Self::DEFAULT)
    }
}

const DIGEST_BYTES: usize = 16;

/// The cursor of a list that is not rows: after which record the next page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListCursor {
    /// The last record that was shown, in whatever words the list orders by.
    pub after: String,
}

impl ListCursor {
    /// Behind the record with this time and id (or key) in a list that is ordered by both.
    #[must_use]
    pub fn behind(at: Timestamp, id: impl fmt::Display) -> Self {
        Self { after: format!("{} {id}", at.0) }
    }

    /// The time and id of [`Self::behind`].
    ///
    /// # Errors
    /// `invalid_request` for the cursor of a list that once told its places in other words.
    pub fn place<I: FromStr>(&self) -> Result<(Timestamp, I)> {
        let place = self.after.split_once(' ');
        let place =
            place.and_then(|(at, id)| Some((Timestamp(at.parse().ok()?), id.parse().ok()?)));
        place.ok_or_else(|| Error::parameter(Parameter::Cursor, "is out of date"))
    }

    /// The text that the client holds. `scope` names the list, the caller and the parameters
    /// ("apps hum_... status=live"): the cursor fits no other.
    #[must_use]
    pub fn to_token(&self, key: &ServerKey, scope: &str) -> String {
        let mut bytes = digest(scope).to_vec();
        bytes.extend_from_slice(self.after.as_bytes());
        key.sign(TokenPurpose::ListPage, &bytes)
    }

    /// Reads a client's text.
    ///
    /// # Errors
    /// `invalid_request` for a text that this server did not sign for this scope.
    pub fn parse(token: &str, key: &ServerKey, scope: &str) -> Result<Self> {
        Self::decode(token, key, scope).ok_or_else(foreign_cursor)
    }

    fn decode(token: &str, key: &ServerKey, scope: &str) -> Option<Self> {
        let bytes = key.verify(TokenPurpose::ListPage, token)?;
        let (bound, after) = bytes.split_first_chunk::<DIGEST_BYTES>()?;
        if *bound != digest(scope) {
            return None;
        }
        Some(Self { after: String::from_utf8(after.to_vec()).ok()? })
    }
}

/// `invalid_request`: a cursor is no place in the list that is asked for.
#[must_use]
pub fn foreign_cursor() -> Error {
    Error::parameter(Parameter::Cursor, "does not belong to this list; begin again without it")
}

fn digest(scope: &str) -> [u8; DIGEST_BYTES] {
    let digest: [u8; 32] = Sha256::digest(scope).into();
    std::array::from_fn(|at| digest[at])
}
