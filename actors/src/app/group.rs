//! The open group, which fills while another one is with the writer, and the sealed one.
//!
//! Everything in an open group is append-only, so returning to a mark is truncation. Sealing
//! keeps the last write of each row and counter: the writer sees each once.

use std::{collections::HashSet, sync::Arc};

use ractor::ActorRef;
use rookery_domain::{Result, event::Event, id::AppId, trace::Trace};
use rookery_storage::{
    apps::KeptCounts,
    commit::{
        AccessWrite, AppWrite, BudgetWrite, ENTRY_BYTES, Group, IdempotencyWrite, Outcome,
        RowWrite, Scrub, SpentChallenge, Ticket,
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
    rows: Vec<RowWrite>,
    pub(crate) scrubs: Vec<Scrub>,
    events: Vec<Arc<Event>>,
    pub(crate) budgets: Vec<BudgetWrite>,
    pub(crate) spent: Vec<SpentChallenge>,
    idempotency: Vec<IdempotencyWrite>,
    app_write: Option<Box<AppWrite>>,
    pub(crate) access: Vec<AccessWrite>,
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
    rows: usize,
    scrubs: usize,
    events: usize,
    budgets: usize,
    spent: usize,
    idempotency: usize,
    app_write: bool,
    access: usize,
    journal: usize,
    bytes: usize,
}

impl Open {
    /// Writes a row.
    pub(crate) fn write_row(&mut self, write: RowWrite) {
        self.bytes += ENTRY_BYTES + write.row.data().len();
        self.rows.push(write);
    }

    /// Writes an event. The row it may tell of is written beside it.
    pub(crate) fn write_event(&mut self, event: Arc<Event>) {
        self.bytes += ENTRY_BYTES + event.data.as_ref().map_or(0, |data| data.len());
        self.events.push(event);
    }

    /// Writes the answer of an idempotency key.
    pub(crate) fn write_answer(&mut self, answer: IdempotencyWrite) {
        self.bytes += ENTRY_BYTES + answer.body.len();
        self.idempotency.push(answer);
    }

    /// How far it has come.
    pub(crate) fn mark(&self) -> OpenMark {
        OpenMark {
            rows: self.rows.len(),
            scrubs: self.scrubs.len(),
            events: self.events.len(),
            budgets: self.budgets.len(),
            spent: self.spent.len(),
            idempotency: self.idempotency.len(),
            app_write: self.app_write.is_some(),
            access: self.access.len(),
            journal: self.journal.len(),
            bytes: self.bytes,
        }
    }

    /// Drops what came after `mark`; the steps to take back are returned.
    pub(crate) fn truncate(&mut self, mark: &OpenMark) -> Vec<Undo> {
        self.rows.truncate(mark.rows);
        self.scrubs.truncate(mark.scrubs);
        self.events.truncate(mark.events);
        self.budgets.truncate(mark.budgets);
        self.spent.truncate(mark.spent);
        self.idempotency.truncate(mark.idempotency);
        self.access.truncate(mark.access);
        self.bytes = mark.bytes;
        if !mark.app_write {
            self.app_write = None;
        }
        self.journal.split_off(mark.journal)
    }

    /// Writes the app's record, and keeps the version that an earlier operation of the group
    /// deployed with it.
    pub(crate) fn write_app(&mut self, write: AppWrite) {
        self.bytes += write.version.as_ref().map_or(0, NewVersion::content_bytes);
        let before = self.app_write.take().and_then(|before| before.version);
        self.app_write = Some(Box::new(AppWrite { version: write.version.or(before), ..write }));
    }

    /// Whether there is anything to make durable.
    pub(crate) fn writes(&self) -> bool {
        !self.rows.is_empty()
            || !self.events.is_empty()
            || !self.budgets.is_empty()
            || !self.spent.is_empty()
            || !self.idempotency.is_empty()
            || self.app_write.is_some()
            || !self.access.is_empty()
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
    let Open {
        rows,
        scrubs,
        events,
        budgets,
        spent,
        idempotency,
        app_write,
        access,
        journal,
        traces,
        mut replies,
        alone,
        bytes: _,
    } = open;
    let number = root.group.group;
    for (port, _) in &mut replies {
        port.sealed();
    }
    let group = Group {
        app,
        prev_seq,
        seq: root.seq,
        totals: root.totals,
        collections: KeptCounts::of(root.collection_counts()),
        rows: last_of_each(rows, |write| (write.collection.clone(), Digest::of(write.row.key()))),
        scrubs,
        events,
        budgets: last_of_each(budgets, |write| (write.collection.clone(), write.network)),
        spent_challenges: spent,
        idempotency,
        app_write,
        access: last_of_each(access, AccessWrite::key),
        traces,
        ticket: Box::new(GroupTicket { number, actor }),
    };
    let history_bytes = group.history_bytes();
    (group, InFlight { number, root, replies, journal, alone, history_bytes })
}

/// The last entry for each key, in order.
fn last_of_each<T, K: Eq + std::hash::Hash>(mut list: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    if list.len() > 1 {
        let mut seen = HashSet::with_capacity(list.len());
        let mut kept: Vec<T> = std::mem::take(&mut list)
            .into_iter()
            .rev()
            .filter(|one| seen.insert(key(one)))
            .collect();
        kept.reverse();
        list = kept;
    }
    list
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
