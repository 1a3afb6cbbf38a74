//! What operations answer.

use std::sync::Arc;

use rookery_domain::{
    Error, Result, Timestamp, app::AppRecord, event::Event, idempotency::StoredResponse, row::Row,
};

use super::{
    super::{access_ops::AccessReply, deploy::DeployReport},
    op::Op,
};

/// What an operation answers.
#[derive(Debug, Clone)]
pub enum Reply {
    /// A row, after the operation.
    Row(RowReply),
    /// What is left of a purged row.
    Purged(PurgedRow),
    /// Results of a batch, one for each entry in order.
    Batch(Vec<Result<RowReply>>),
    /// The event that was written.
    Event(Arc<Event>),
    /// The app's record, after the operation.
    App(Arc<AppRecord>),
    /// The app's record with its new owner.
    HandedOver(Arc<AppRecord>),
    /// After a change of permissions.
    Access(AccessReply),
    /// What a deploy did.
    Deployed(Box<DeployReport>),
    /// Rows that a worker's operation touched.
    Count(u64),
    /// A first response, replayed for its idempotency key.
    Replayed(StoredResponse),
    /// Nothing was done: the row that the sender had read in the trash is another one by now. It
    /// reads again and comes back. Like every answer, this one waits for what it was computed from,
    /// so the next look sees that.
    Stale,
    /// As [`Self::Stale`], where storage may know a first response to the request by now. The
    /// operation comes back: it may be large, and the sender kept no copy.
    LookAgain(Box<Op>),
}

impl Reply {
    /// The internal error for a reply that this operation never gives.
    #[must_use]
    pub fn unexpected(&self) -> Error {
        Error::internal().caused_by(format!("an app answered this with {}", self.name()))
    }

    /// Its variant, without the content: that is the app's.
    const fn name(&self) -> &'static str {
        match self {
            Self::Row(_) => "Row",
            Self::Purged(_) => "Purged",
            Self::Batch(_) => "Batch",
            Self::Event(_) => "Event",
            Self::App(_) => "App",
            Self::HandedOver(_) => "HandedOver",
            Self::Access(_) => "Access",
            Self::Deployed(_) => "Deployed",
            Self::Count(_) => "Count",
            Self::Replayed(_) => "Replayed",
            Self::Stale => "Stale",
            Self::LookAgain(_) => "LookAgain",
        }
    }

    /// The keys of the rows that its answer quotes.
    pub(crate) fn quoted_keys(&self) -> Box<[Box<str>]> {
        let key = |reply: &RowReply| Box::from(reply.row.key());
        match self {
            Self::Row(reply) => [key(reply)].into(),
            Self::Batch(results) => results.iter().flatten().map(key).collect(),
            _ => [].into(),
        }
    }

    /// Whether anything was done: of a batch, any entry.
    pub(crate) fn succeeded(&self) -> bool {
        match self {
            Self::Batch(results) => results.iter().any(Result::is_ok),
            _ => true,
        }
    }

    /// Rows that this request wrote. Operations of workers count none, as nobody asked for them.
    pub(crate) fn row_writes(&self) -> u64 {
        let wrote = |row: &RowReply| row.fate != RowFate::Existed;
        match self {
            Self::Row(row) => u64::from(wrote(row)),
            Self::Purged(_) => 1,
            Self::Batch(results) => {
                results.iter().filter(|result| result.as_ref().is_ok_and(wrote)).count() as u64
            }
            _ => 0,
        }
    }
}

/// A row and how it came about.
#[derive(Debug, Clone)]
pub struct RowReply {
    /// The row as it is now.
    pub row: Arc<Row>,
    /// How it came about.
    pub fate: RowFate,
}

/// How the row of a reply came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFate {
    /// It is new.
    Created,
    /// It was there already; nothing was written.
    Existed,
    /// It was written.
    Updated,
    /// It went to the trash then.
    Deleted(Timestamp),
    /// It came back from the trash.
    Restored,
}

/// What a purge leaves: no content.
#[derive(Debug, Clone)]
pub struct PurgedRow {
    /// The row's key.
    pub key: Box<str>,
    /// Its last version.
    pub version: u32,
    /// When it was destroyed.
    pub purged_at: Timestamp,
}
