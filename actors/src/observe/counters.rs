//! What each shard counts of its apps' messages, and what apps hold in memory. Every number is a
//! statistic of its own: relaxed additions, no lock, a cache line apart from the next shard's.

use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use rookery_domain::{Error, ErrorCode};

use super::histogram::{Distribution, Histogram};
use crate::app::{message::Op, root::Root};

/// What a message asks of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// Create a row.
    Create,
    /// Create or update a row by a unique field.
    Upsert,
    /// Change a row.
    Update,
    /// Move a row to the trash.
    Delete,
    /// Bring a row back.
    Restore,
    /// Destroy a row's content.
    Purge,
    /// Write many rows.
    BatchWrite,
    /// Delete many rows.
    BatchDelete,
    /// Let a visitor in by a grant link.
    RedeemGrant,
    /// Send a custom event.
    Emit,
    /// Something about the app itself.
    App,
}

impl MessageKind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::Create,
        Self::Upsert,
        Self::Update,
        Self::Delete,
        Self::Restore,
        Self::Purge,
        Self::BatchWrite,
        Self::BatchDelete,
        Self::RedeemGrant,
        Self::Emit,
        Self::App,
    ];

    /// Its name, as in JSON and in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Upsert => "upsert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Restore => "restore",
            Self::Purge => "purge",
            Self::BatchWrite => "batch_write",
            Self::BatchDelete => "batch_delete",
            Self::RedeemGrant => "redeem_grant",
            Self::Emit => "emit",
            Self::App => "app",
        }
    }

    pub(crate) const fn of(op: &Op) -> Self {
        match op {
            Op::Create { .. } => Self::Create,
            Op::Upsert { .. } => Self::Upsert,
            Op::Update { .. } => Self::Update,
            Op::Delete { .. } => Self::Delete,
            Op::Restore { .. } => Self::Restore,
            Op::Purge { .. } => Self::Purge,
            Op::BatchWrite { .. } => Self::BatchWrite,
            Op::BatchDelete { .. } => Self::BatchDelete,
            Op::RedeemGrant { .. } => Self::RedeemGrant,
            Op::Emit { .. } => Self::Emit,
            Op::App(_) => Self::App,
        }
    }
}

/// How a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageOutcome {
    /// Answered, and durable.
    Ok,
    /// The app's rules said no.
    Refused,
    /// Never queued: too much waits already, or the service drains.
    Shed,
    /// Certainly not applied: no space, a restart, a deadline.
    Unavailable,
    /// The service failed, or nobody can tell.
    Failed,
    /// Whoever asked left before the answer came; it ran to its end all the same.
    Abandoned,
}

impl MessageOutcome {
    /// Every outcome.
    pub const ALL: [Self; 6] =
        [Self::Ok, Self::Refused, Self::Shed, Self::Unavailable, Self::Failed, Self::Abandoned];

    /// Its name, as in JSON and in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Shed => "shed",
            Self::Unavailable => "unavailable",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
        }
    }

    /// How a message ended that was answered with `error`.
    pub(crate) fn of(error: &Error) -> Self {
        match error.code {
            ErrorCode::Unavailable => Self::Unavailable,
            code if code.status() < 500 => Self::Refused,
            _ => Self::Failed,
        }
    }

    /// Whether the service failed at it, whoever is to blame.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Shed | Self::Unavailable | Self::Failed)
    }

    /// Whether operators call it an error of the app or the service.
    pub(crate) const fn is_error(self) -> bool {
        !matches!(self, Self::Ok | Self::Abandoned)
    }
}

/// Messages by kind and outcome.
pub type Messages = [[u64; MessageOutcome::ALL.len()]; MessageKind::ALL.len()];

/// The counters of one shard.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct ShardCounters {
    messages: [[AtomicU64; MessageOutcome::ALL.len()]; MessageKind::ALL.len()],
    wait: Histogram,
    handle: Histogram,
    queued: AtomicI64,
    resident_rows: AtomicI64,
    resident_bytes: AtomicI64,
}

/// What one shard, or all of them, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShardTotals {
    /// Messages by [`MessageKind`] and [`MessageOutcome`], in the order of their `ALL`.
    pub messages: Messages,
    /// From being sent to being begun.
    pub wait: Distribution,
    /// From being begun to being decided; the commit is not in it.
    pub handle: Distribution,
    /// Messages queued or uncommitted now.
    pub queued: u64,
    /// Live rows of live apps.
    pub resident_rows: u64,
    /// About how many bytes live apps hold.
    pub resident_bytes: u64,
}

impl ShardTotals {
    /// Messages in all.
    #[must_use]
    pub fn message_count(&self) -> u64 {
        self.messages.iter().flatten().sum()
    }

    /// Messages that ended in this way.
    #[must_use]
    pub fn outcome_count(&self, outcome: MessageOutcome) -> u64 {
        self.messages.iter().map(|kind| kind[outcome as usize]).sum()
    }

    /// Adds what another shard counted.
    pub fn add(&mut self, other: &Self) {
        let theirs = other.messages.iter().flatten();
        for (mine, theirs) in self.messages.iter_mut().flatten().zip(theirs) {
            *mine += theirs;
        }
        self.wait.add(&other.wait);
        self.handle.add(&other.handle);
        self.queued += other.queued;
        self.resident_rows += other.resident_rows;
        self.resident_bytes += other.resident_bytes;
    }
}

impl ShardCounters {
    pub(crate) fn ended(&self, kind: MessageKind, outcome: MessageOutcome) {
        self.messages[kind as usize][outcome as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn handled(&self, waited: Duration, took: Duration) {
        self.wait.record(waited);
        self.handle.record(took);
    }

    /// A message entered an app's queue (`1`), or left the app (`-1`).
    pub(crate) fn queued(&self, change: i64) {
        self.queued.fetch_add(change, Relaxed);
    }

    /// `after` is resident in the place of `before`.
    pub(crate) fn published(&self, before: Option<&Root>, after: Option<&Root>) {
        let rows = |root: Option<&Root>| root.map_or(0, |root| root.totals.live as i64);
        let bytes = |root: Option<&Root>| root.map_or(0, |root| root.resident_bytes() as i64);
        self.resident_rows.fetch_add(rows(after) - rows(before), Relaxed);
        self.resident_bytes.fetch_add(bytes(after) - bytes(before), Relaxed);
    }

    pub(crate) fn read(&self) -> ShardTotals {
        let gauge = |gauge: &AtomicI64| u64::try_from(gauge.load(Relaxed)).unwrap_or(0);
        ShardTotals {
            messages: std::array::from_fn(|kind| {
                std::array::from_fn(|outcome| self.messages[kind][outcome].load(Relaxed))
            }),
            wait: self.wait.read(),
            handle: self.handle.read(),
            queued: gauge(&self.queued),
            resident_rows: gauge(&self.resident_rows),
            resident_bytes: gauge(&self.resident_bytes),
        }
    }
}
