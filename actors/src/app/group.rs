//! The open group, which fills while another one is with the writer, and the sealed one.
//!
//! Everything in an open group is append-only, so returning to a mark is truncation. Sealing
//! keeps the last write of each row and counter: the writer sees each once.

use std::{collections::HashSet, hash::Hash, sync::Arc};

use ractor::ActorRef;
use rookery_domain::{Result, event::Event, id::AppId, trace::Trace};
use rookery_storage::{
    apps::KeptCounts,
    commit::{
        AccessWrite, AppWrite, ENTRY_BYTES, Group, IdempotencyWrite, Outcome, RowWrite, Ticket,
        Writes, WritesMark,
    },
    versions::NewVersion,
};

use super::{
    message::{Message, Reply, ReplyPort},
    root::Root,
    rows::Digest,
    working::Undo,
};

/// Requests that may join one group.
const GROUP_REQUESTS_MAX: usize = 512;
/// Bytes of row data and payloads that one group may hold before it takes no more requests.
const GROUP_BYTES_MAX: usize = 4 << 20;

/// What is decided and not yet with the writer.
#[derive(Default)]
pub(crate) struct Open {
    pub(crate) writes: Writes,
    pub(crate) journal: Vec<Undo>,
    /// The traces of requests whose answers wait.
    pub(crate) traces: Vec<Trace>,
    /// Answers that wait for what they were computed from, errors too.
    pub(crate) replies: Vec<(ReplyPort, Result<Reply>)>,
    /// Its only request stands alone.
    pub(crate) alone: bool,
    /// Bytes of row data and payloads in it.
    bytes: usize,
}

/// How far an open group had come.
pub(crate) struct OpenMark {
    writes: WritesMark,
    journal: usize,
    bytes: usize,
}

impl Open {
    pub(crate) fn write_row(&mut self, write: RowWrite) {
        self.bytes += ENTRY_BYTES + write.row.data().len();
        self.writes.rows.push(write);
    }

    /// Writes an event. The row it may tell of is written beside it.
    pub(crate) fn write_event(&mut self, event: Arc<Event>) {
        self.bytes += ENTRY_BYTES + event.data.as_ref().map_or(0, |data| data.len());
        self.writes.events.push(event);
    }

    /// Writes the response of an idempotency key.
    pub(crate) fn write_response(&mut self, write: IdempotencyWrite) {
        self.bytes += ENTRY_BYTES + write.response.body.len();
        self.writes.idempotency.push(write);
    }

    /// How far it has come.
    pub(crate) fn mark(&self) -> OpenMark {
        OpenMark { writes: self.writes.mark(), journal: self.journal.len(), bytes: self.bytes }
    }

    /// Drops what came after `mark`; the steps to take back are returned.
    pub(crate) fn truncate(&mut self, mark: &OpenMark) -> Vec<Undo> {
        self.writes.truncate(mark.writes);
        self.bytes = mark.bytes;
        self.journal.split_off(mark.journal)
    }

    /// Writes the app's record, and keeps the version that an earlier operation of the group
    /// deployed with it.
    pub(crate) fn write_app(&mut self, write: AppWrite) {
        self.bytes += write.version.as_ref().map_or(0, NewVersion::content_bytes);
        let before = self.writes.app_write.take().and_then(|before| before.version);
        self.writes.app_write =
            Some(Box::new(AppWrite { version: write.version.or(before), ..write }));
    }

    /// Whether nothing is to be written, and nobody waits for an answer.
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.replies.is_empty()
    }

    /// Whether it takes no more requests until it is sealed.
    pub(crate) fn is_full(&self) -> bool {
        self.alone || self.replies.len() >= GROUP_REQUESTS_MAX || self.bytes > GROUP_BYTES_MAX
    }
}

/// A group that is with the writer.
pub(crate) struct InFlight {
    pub(crate) number: u64,
    /// What is published when it commits.
    pub(crate) root: Arc<Root>,
    pub(crate) replies: Vec<(ReplyPort, Result<Reply>)>,
    pub(crate) journal: Vec<Undo>,
    /// Its only request stands alone.
    pub(crate) alone: bool,
    /// Bytes that it adds to what the app keeps beside its rows.
    pub(crate) history_bytes: u64,
}

/// Seals `open`: what goes to the writer, and what waits for it. `prev_seq` is the app's durable
/// seq, `root` the state after the group.
pub(crate) fn seal(
    app: AppId,
    prev_seq: u64,
    root: Arc<Root>,
    open: Open,
    actor: ActorRef<Message>,
) -> (Group, InFlight) {
    let Open { mut writes, journal, traces, mut replies, alone, bytes: _ } = open;
    last_of_each(&mut writes.rows, |write| (write.collection.clone(), Digest::of(write.row.key())));
    last_of_each(&mut writes.budgets, |write| (write.collection.clone(), write.scope));
    last_of_each(&mut writes.access, AccessWrite::key);
    for (port, _) in &mut replies {
        port.sealed();
    }
    let number = root.group.group;
    let history_bytes = writes.history_bytes();
    let group = Group {
        app,
        owner: root.record.owner,
        prev_seq,
        seq: root.seq,
        totals: root.totals,
        collections: KeptCounts::of(root.collection_counts()),
        writes,
        traces,
        ticket: Box::new(GroupTicket { number, actor }),
    };
    (group, InFlight { number, root, replies, journal, alone, history_bytes })
}

/// Keeps the last entry for each key, in order.
fn last_of_each<T, K: Eq + Hash>(list: &mut Vec<T>, key: impl Fn(&T) -> K) {
    if list.len() < 2 {
        return;
    }
    let mut seen = HashSet::with_capacity(list.len());
    let mut kept: Vec<T> = list.drain(..).rev().filter(|one| seen.insert(key(one))).collect();
    kept.reverse();
    *list = kept;
}

/// Brings a group's outcome back to the actor that sealed it. If that one is gone, nobody needs
/// it: the replies went with the actor, and the next incarnation reads the truth.
struct GroupTicket {
    number: u64,
    actor: ActorRef<Message>,
}

impl Ticket for GroupTicket {
    fn resolve(self: Box<Self>, outcome: Outcome) {
        let _ = self.actor.send_message(Message::CommitEnded(self.number, outcome));
    }
}
