//! Cursors: opaque, signed positions. A row page's is bound to app, collection, caller, the rows
//! that it reads there, filter and sort, so it is of no use anywhere else; a feed's holds where its
//! client has read to.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{RowQuery, SORT_FIELDS_MAX, SortKey, page::foreign_cursor, sort::SortValue};
use crate::{
    Error, Principal, Result,
    id::{AppId, HistoryId},
    sealed::{ServerKey, TokenPurpose},
};

/// Where a client stands in an app's feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedCursor {
    /// The history it belongs to.
    pub history: HistoryId,
    /// The last event it has seen; 0 before the first.
    pub seq: u64,
    /// `access::read_rights` of the caller it was made for. When they have changed, what the
    /// client holds may no longer be what it may see: `resync_required`.
    pub rights: u64,
}

const FEED_BYTES: usize = 32;

impl FeedCursor {
    /// The text that the client holds; good for the feed of `app` only.
    #[must_use]
    pub fn to_token(self, key: &ServerKey, app: AppId) -> String {
        key.sign_within(TokenPurpose::Feed, app.uuid().as_bytes(), &self.encode())
    }

    /// Reads a client's text.
    ///
    /// # Errors
    /// `invalid_request` for a text that this server did not sign as a cursor of this app's feed.
    pub fn parse(token: &str, key: &ServerKey, app: AppId) -> Result<Self> {
        let bytes = key.verify_within(TokenPurpose::Feed, app.uuid().as_bytes(), token);
        bytes
            .and_then(|bytes| Self::decode(bytes.as_slice().try_into().ok()?))
            .ok_or_else(|| Error::invalid("`since` is not a cursor of this feed"))
    }

    fn encode(self) -> [u8; FEED_BYTES] {
        let mut bytes = [0; FEED_BYTES];
        bytes[..16].copy_from_slice(self.history.uuid().as_bytes());
        bytes[16..24].copy_from_slice(&self.seq.to_be_bytes());
        bytes[24..].copy_from_slice(&self.rights.to_be_bytes());
        bytes
    }

    fn decode(bytes: &[u8; FEED_BYTES]) -> Option<Self> {
        let (history, rest) = bytes.split_first_chunk::<16>()?;
        let (seq, rights) = rest.split_first_chunk::<8>()?;
        Some(Self {
            history: HistoryId::from_uuid(Uuid::from_bytes(*history)),
            seq: u64::from_be_bytes(*seq),
            rights: u64::from_be_bytes(rights.try_into().ok()?),
        })
    }
}

/// What a row page's cursor is bound to.
#[derive(Debug, Clone, Copy)]
pub struct PageBinding<'a> {
    /// The app.
    pub app: AppId,
    /// The collection.
    pub collection: &'a str,
    /// The caller.
    pub caller: Principal,
    /// `access::RowScope::fingerprint` of what the caller reads of the collection.
    pub scope: u64,
    /// Filter and sort.
    pub query: &'a RowQuery,
    /// Whether deleted rows are shown.
    pub include_deleted: bool,
}

const DIGEST_BYTES: usize = 16;

impl PageBinding<'_> {
    fn digest(&self) -> [u8; DIGEST_BYTES] {
        let mut hash = Sha256::new()
            .chain_update(self.app.uuid().as_bytes())
            .chain_update([self.caller.kind as u8, u8::from(self.include_deleted)])
            .chain_update(self.caller.id)
            .chain_update(self.scope.to_be_bytes());
        for text in [self.collection, self.query.sort_text(), self.query.filter_text()] {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
        let digest: [u8; 32] = hash.finalize().into();
        std::array::from_fn(|at| digest[at])
    }
}

/// Where the next page of rows begins.
#[derive(Debug, Clone, PartialEq)]
pub struct PageCursor {
    /// The place of the last row that was shown.
    pub after: SortKey,
    /// The feed's position at the first page, repeated on every page of the chain.
    pub feed: FeedCursor,
}

impl PageCursor {
    /// The text that the client holds.
    #[must_use]
    pub fn to_token(&self, key: &ServerKey, binding: &PageBinding<'_>) -> String {
        let mut bytes = Vec::with_capacity(128);
        bytes.extend_from_slice(&binding.digest());
        bytes.extend_from_slice(&self.feed.encode());
        put_text(&mut bytes, &self.after.key);
        for value in &self.after.values {
            value.encode(&mut bytes);
        }
        key.sign(TokenPurpose::RowPage, &bytes)
    }

    /// Reads a client's text.
    ///
    /// # Errors
    /// `invalid_request` for a text that this server did not sign for exactly this binding.
    pub fn parse(token: &str, key: &ServerKey, binding: &PageBinding<'_>) -> Result<Self> {
        Self::decode(token, key, binding).ok_or_else(foreign_cursor)
    }

    fn decode(token: &str, key: &ServerKey, binding: &PageBinding<'_>) -> Option<Self> {
        let bytes = key.verify(TokenPurpose::RowPage, token)?;
        let (digest, rest) = bytes.split_first_chunk::<DIGEST_BYTES>()?;
        if *digest != binding.digest() {
            return None;
        }
        let (feed, mut rest) = rest.split_first_chunk::<FEED_BYTES>()?;
        let feed = FeedCursor::decode(feed)?;
        let key = take_text(&mut rest)?.into();
        let mut values = Vec::with_capacity(SORT_FIELDS_MAX);
        while !rest.is_empty() {
            values.push(SortValue::decode(&mut rest)?);
        }
        Some(Self { after: SortKey { values, key }, feed })
    }
}

/// Appends a text with its length. Every text in a cursor is bounded far below 64 KiB.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    let len = u16::try_from(text.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(&text.as_bytes()[..usize::from(len)]);
}

/// Reads what [`put_text`] wrote.
pub(super) fn take_text<'b>(bytes: &mut &'b [u8]) -> Option<&'b str> {
    let (len, rest) = bytes.split_first_chunk::<2>()?;
    let (text, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
    *bytes = rest;
    std::str::from_utf8(text).ok()
}
