//! The shapes of row answers, for the OpenAPI document: the answers themselves are written as text
//! from the rows' own.

#![expect(dead_code, reason = "these types describe; nothing builds them")]

use serde_json::Value;
use utoipa::ToSchema;

use crate::openapi::shapes::{AnyObject, PrincipalRecord};

/// One row.
#[derive(ToSchema)]
pub(crate) struct RowRecord {
    /// Its address in the collection.
    key: String,
    /// Its content.
    #[schema(value_type = AnyObject)]
    data: Value,
    /// Starts at 1 and rises by 1 with every write.
    version: u32,
    /// Who created it.
    creator: PrincipalRecord,
    /// Who wrote its content last: deleting and restoring leave it.
    editor: PrincipalRecord,
    /// RFC 3339, UTC.
    #[schema(format = DateTime)]
    created_at: String,
    /// RFC 3339, UTC.
    #[schema(format = DateTime)]
    updated_at: String,
    /// When it went to the trash; absent for a live row.
    #[schema(format = DateTime)]
    deleted_at: Option<String>,
}

/// A page of rows.
#[derive(ToSchema)]
pub(crate) struct RowPageRecord {
    /// The rows.
    items: Vec<RowRecord>,
    /// Leads to the next page; null on the last one.
    #[schema(required)]
    next_cursor: Option<String>,
    /// The feed's position at the first page, the same on all pages: whoever follows the feed from
    /// there and applies by row version ends with the server's rows.
    feed_cursor: String,
}

/// A page of the trash.
#[derive(ToSchema)]
pub(crate) struct TrashPageRecord {
    /// The rows, the last deleted first.
    items: Vec<RowRecord>,
    /// Leads to the next page; null on the last one.
    #[schema(required)]
    next_cursor: Option<String>,
}

/// What a purge leaves.
#[derive(ToSchema)]
pub(crate) struct TombstoneRecord {
    /// The row's key.
    key: String,
    /// Its last version.
    version: u32,
    /// When it was destroyed.
    #[schema(format = DateTime)]
    purged_at: String,
}

/// Results of a batch, one for each entry in order.
#[derive(ToSchema)]
pub(crate) struct BatchRecord {
    /// The results.
    results: Vec<BatchResult>,
}

/// How one entry of a batch ended: with a row or an error.
#[derive(ToSchema)]
pub(crate) struct BatchResult {
    /// The entry's place, from 0.
    index: usize,
    /// The status that the single call would have answered.
    status: u16,
    /// `true` where the key of a create was taken: nothing was written, and `row` is the one that
    /// is there.
    existed: Option<bool>,
    /// The row after the write.
    row: Option<RowRecord>,
    /// The refusal.
    error: Option<EntryError>,
}

/// A refusal of one entry: as in the error envelope, without `request_id`.
#[derive(ToSchema)]
pub(crate) struct EntryError {
    /// A stable code of the error reference.
    #[schema(example = "row_not_found")]
    code: String,
    /// The HTTP status.
    status: u16,
    /// What is wrong with this entry.
    message: String,
    /// What the code means and what to do about it.
    hint: String,
    /// Whether the same entry may succeed later.
    retryable: bool,
    /// The code's entry in the error reference.
    docs_url: String,
    /// More about this entry, for codes that have it.
    #[schema(value_type = Option<AnyObject>)]
    details: Option<Value>,
    /// The subjects that were consulted, for role refusals.
    required: Option<Vec<String>>,
}

/// How many rows there are.
#[derive(ToSchema)]
pub(crate) struct CountRecord {
    /// Live rows.
    count: u64,
}

/// A custom event that was sent.
#[derive(ToSchema)]
pub(crate) struct SentEvent {
    /// Its number in the feed.
    seq: u64,
    /// `event.` and the declared type.
    r#type: String,
    /// RFC 3339, UTC.
    #[schema(format = DateTime)]
    at: String,
    /// Who sent it.
    by: PrincipalRecord,
    /// Its data.
    #[schema(value_type = AnyObject)]
    data: Value,
}

/// A page of the feed.
#[derive(ToSchema)]
pub(crate) struct FeedRecord {
    /// The events, in order.
    events: Vec<EventRecord>,
    /// Where to go on: `since` of the next request.
    cursor: String,
    /// Whether more events were there already.
    more: bool,
}

/// One event as the caller may see it now.
///
/// The types, and the `data` of each: `row.created`, `row.updated` and `row.restored` the row's
/// content, if it is there still;
/// `row.deleted`, `row.purged` and `row.hidden` (the row left your sight) none.
/// `app.deployed` `{version}`.
/// `app.updated` one of `{visibility, timezone, org_id}` (the settings as they are now),
/// `{share_link: "rotated"}`, `{unrestricted}`, `{migration_mode}`, `{retention: {collection}}`,
/// `{owner, org_id, unrestricted?}` (the app has another owner) and `{status: "closed"}`.
/// `app.deleted`, `app.restored` and `app.woken` none.
/// `member.added` and `member.updated` `{human_id, custom_role}`, `member.removed` `{human_id}`.
/// `grant.created`, `grant.redeemed` and `grant.revoked` `{grant_id, role}`.
/// `event.<type>`, of a type that the manifest declares, what its sender sent.
///
/// A row's events reach whoever may read it, and the owner and the owner's agents in any case, without
/// `data` if they may not; `app.deployed` reaches everybody, other `app.*` the owner, members and the owner's
/// agents, `member.*` and `grant.*` the owner and the owner's agents, `event.*` those, members and the sender.
#[derive(ToSchema)]
pub(crate) struct EventRecord {
    /// Rises by 1 with every event of the app.
    seq: u64,
    /// Where to go on behind it.
    cursor: String,
    /// What happened: one of the types that are listed above.
    r#type: String,
    /// RFC 3339, UTC.
    #[schema(format = DateTime)]
    at: String,
    /// Who did it.
    by: PrincipalRecord,
    /// The row's collection, for `row.*`.
    collection: Option<String>,
    /// The row's key, for `row.*`.
    key: Option<String>,
    /// The row's version after the event. `row.hidden` has none: the row is out of your sight,
    /// whichever version you have.
    version: Option<u32>,
    /// The row's content after the event, or the event's own data.
    #[schema(value_type = Option<AnyObject>)]
    data: Option<Value>,
    /// True for what the owner wrote in migration mode.
    silent: Option<bool>,
}
