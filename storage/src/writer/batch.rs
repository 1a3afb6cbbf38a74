//! The groups of one transaction while it is being committed, and how each of them is told.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use tokio::sync::oneshot;

use super::{health::Counters, queue::Queue};
use crate::commit::{Abort, Group, Outcome};

/// One group of a batch, and its outcome where that is not the batch's.
pub(super) struct Entry {
    pub(super) group: Group,
    /// When it was submitted.
    pub(super) submitted: Instant,
    pub(super) outcome: Option<Outcome>,
}

/// How far the batch's transaction got: what is true of its groups if the lane dies now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// COMMIT was not sent: certainly not applied.
    Open,
    /// COMMIT was sent, its answer has not come.
    Committing,
    /// Durable.
    Committed,
    /// Known to be undone.
    Aborted(Abort),
    /// Nothing can be said, nothing may be written any more.
    Broken,
}

impl Stage {
    fn outcome(&self) -> Outcome {
        match self {
            Self::Open => {
                Outcome::Aborted(Abort::Refused("the writer failed before COMMIT".into()))
            }
            Self::Committing => Outcome::Unknown,
            Self::Committed => Outcome::Committed,
            Self::Aborted(abort) => Outcome::Aborted(abort.clone()),
            Self::Broken => Outcome::StoreBroken,
        }
    }
}

/// The groups of one transaction. Whatever happens to the lane, each of them is resolved once:
/// what is left when the batch is dropped, also by a panic, is resolved by how far it got.
pub(super) struct Batch<'q> {
    queue: &'q Queue,
    counters: &'q Counters,
    pub(super) entries: Vec<Entry>,
    barriers: Vec<oneshot::Sender<()>>,
    pub(super) stage: Stage,
    began: Instant,
}

impl<'q> Batch<'q> {
    pub(super) fn new(
        queue: &'q Queue,
        counters: &'q Counters,
        entries: Vec<Entry>,
        barriers: Vec<oneshot::Sender<()>>,
    ) -> Self {
        let began = Instant::now();
        Self { queue, counters, entries, barriers, stage: Stage::Open, began }
    }

    /// Whether every group has an outcome already.
    pub(super) fn is_decided(&self) -> bool {
        self.entries.iter().all(|entry| entry.outcome.is_some())
    }

    /// Whether a group was refused because the disk is full.
    pub(super) fn found_no_room(&self) -> bool {
        let full = Outcome::Aborted(Abort::Full);
        self.entries.iter().any(|entry| entry.outcome.as_ref() == Some(&full))
    }

    /// Rows of the groups that nothing speaks against.
    pub(super) fn rows(&self) -> usize {
        let stands = self.entries.iter().filter(|entry| entry.outcome.is_none());
        stands.map(|entry| entry.group.writes.rows.len()).sum()
    }

    /// Settles every group in order, then answers the barriers.
    pub(super) fn finish(self) {
        drop(self);
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let groups = self.entries.len();
        for Entry { group, outcome, .. } in self.entries.drain(..) {
            let outcome = outcome.unwrap_or_else(|| self.stage.outcome());
            trace(&group, &outcome, groups, self.began);
            end(self.counters, group, outcome);
        }
        let waited = self.queue.batch_ended();
        for barrier in self.barriers.drain(..).chain(waited) {
            // Nobody may wait any more.
            let _ = barrier.send(());
        }
    }
}

/// Ends the span of a group's commit in each trace that waits for it. `groups` shared it.
fn trace(group: &Group, outcome: &Outcome, groups: usize, began: Instant) {
    if group.traces.is_empty() {
        return;
    }
    let (outcome, failure) = match outcome {
        Outcome::Committed => ("committed", None),
        Outcome::Aborted(Abort::Fenced) => ("fenced", Some("fenced")),
        Outcome::Aborted(_) => ("aborted", Some("aborted")),
        Outcome::Unknown => ("unknown", Some("unknown")),
        Outcome::StoreBroken => ("store_broken", Some("store_broken")),
    };
    let ended = Instant::now();
    for trace in &group.traces {
        let fields = vec![
            ("app.id", group.app.to_string().into()),
            ("commit.outcome", outcome.into()),
            ("commit.rows", group.writes.rows.len().into()),
            ("commit.groups", groups.into()),
        ];
        trace.child().end("commit", began, ended, failure, fields);
    }
}

/// Counts how a group ended, and tells its ticket. A ticket that panics is a bug of its own and must not
/// take the other groups of the batch with it.
pub(super) fn end(counters: &Counters, group: Group, outcome: Outcome) {
    counters.resolved(&group, &outcome);
    let app = group.app;
    let ticket = group.ticket;
    if catch_unwind(AssertUnwindSafe(|| ticket.resolve(outcome))).is_err() {
        tracing::error!(app.id = %app, "a ticket panicked while it was resolved");
    }
}
