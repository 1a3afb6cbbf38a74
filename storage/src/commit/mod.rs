//! What one commit is made of, and how it can end.
//!
//! An app's actor seals a [`Group`]; a lane of the writer makes those that wait durable together
//! and resolves each group's [`Ticket`]. The words here are shared by both databases;
//! how they are written down is in `writer`.

mod writes;

use std::fmt;

use rookery_domain::{
    Timestamp,
    id::{AppId, HumanId},
    trace::Trace,
};

pub(crate) use self::writes::events_bytes;
pub use self::writes::{
    AccessWrite, AppWrite, ENTRY_BYTES, IdempotencyWrite, RowWrite, Scrub, SpentChallenge, Writes,
    WritesMark,
};
use crate::apps::{KeptCounts, room::FullOf};

/// Which process start may write: drawn at start from a counter in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub i64);

impl Epoch {
    /// That of the first process that wrote.
    pub const FIRST: Self = Self(1);
}

/// The ops of one app that commit together: all of it becomes durable, or none.
pub struct Group {
    /// The app.
    pub app: AppId,
    /// Whose it is: accounts take turns at what takes long.
    pub owner: HumanId,
    /// The app's `last_seq` that this group builds on. A head that says otherwise refuses it.
    pub prev_seq: u64,
    /// The app's `last_seq` after this group: `prev_seq` plus the number of events.
    pub seq: u64,
    /// Totals of the app after this group.
    pub totals: Totals,
    /// The counts of its collections after this group.
    pub collections: KeptCounts,
    /// What it writes; of several writes of one thing only the last one.
    pub writes: Writes,
    /// The traces of requests whose answers wait for it.
    pub traces: Vec<Trace>,
    /// Told how it ended, exactly once.
    pub ticket: Box<dyn Ticket>,
}

impl Group {
    /// The app's id as its column holds it.
    pub(crate) fn app_bytes(&self) -> [u8; 16] {
        self.app.uuid().into_bytes()
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group")
            .field("app", &self.app)
            .field("prev_seq", &self.prev_seq)
            .field("seq", &self.seq)
            .field("rows", &self.writes.rows.len())
            .finish_non_exhaustive()
    }
}

/// Receives a group's outcome. Called on the writer's thread: it must return at once.
pub trait Ticket: Send {
    /// The group ended like this.
    fn resolve(self: Box<Self>, outcome: Outcome);
}

/// How a commit ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Durable.
    Committed,
    /// Certainly not applied; the store works on.
    Aborted(Abort),
    /// The connection was lost around COMMIT: it may or may not be durable. Never retried.
    Unknown,
    /// An fsync failed: nothing can be promised any more and the process must end.
    StoreBroken,
}

/// Why a commit was certainly not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Abort {
    /// The app's head is not where the group expected it (another incarnation wrote), or the app
    /// is gone: the actor that sealed it is not the app's actor any more.
    Fenced,
    /// No space left.
    Full,
    /// The offer that an [`AppWrite`] accepts is gone.
    OfferGone,
    /// The account that an [`AppWrite`] adds an app to is closed.
    AccountClosed,
    /// The account that an [`AppWrite`] adds an app to has no room for it: what it is full of.
    AccountFull(FullOf),
    /// The database refused a statement, or could not be reached before anything was sent.
    Refused(String),
}

/// What an app holds, by its kinds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Live rows.
    pub live: u64,
    /// Rows in the trash.
    pub trashed: u64,
    /// Rows detached by a forced deploy.
    pub detached: u64,
    /// Bytes of keys and data of the live and the detached ones.
    pub bytes: u64,
    /// Bytes of keys and data of those in the trash.
    pub trashed_bytes: u64,
}

impl Totals {
    /// Rows that count towards `MAX_ROWS_PER_APP`: those that are kept, not those in the trash.
    #[must_use]
    pub const fn rows(self) -> u64 {
        self.live + self.detached
    }
}

/// Where a row is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowState {
    /// Served.
    Live,
    /// In the trash since then; can be restored.
    Trashed(Timestamp),
    /// Destroyed then: only key and version are left.
    Purged(Timestamp),
    /// Kept and counted but not served, because the manifest in force does not fit it.
    Detached,
}

impl RowState {
    /// The number in storage.
    #[must_use]
    pub const fn code(self) -> i64 {
        match self {
            Self::Live => 0,
            Self::Trashed(_) => 1,
            Self::Purged(_) => 2,
            Self::Detached => 3,
        }
    }

    /// The state with this number and time in storage, if there is one.
    #[must_use]
    pub const fn from_code(code: i64, at: Option<Timestamp>) -> Option<Self> {
        Some(match (code, at) {
            (0, _) => Self::Live,
            (1, Some(at)) => Self::Trashed(at),
            (2, Some(at)) => Self::Purged(at),
            (3, _) => Self::Detached,
            _ => return None,
        })
    }

    /// When it left the live rows, where that has a time.
    #[must_use]
    pub const fn at(self) -> Option<Timestamp> {
        match self {
            Self::Trashed(at) | Self::Purged(at) => Some(at),
            Self::Live | Self::Detached => None,
        }
    }
}
