//! What an app's actor is asked, and what it answers.
//!
//! A request names its [`Caller`], never a role: the actor resolves that against its newest
//! state. Requests that an actor leaves behind when it stops or crashes bounce back to whoever
//! sent them, whole, and are sent to the next incarnation.

use std::{sync::Arc, time::Duration};

use rookery_domain::{
    Error, Result, Timestamp,
    app::AppRecord,
    event::Event,
    id::{HumanId, OrgId, ParticipantId, TransferId},
    json::Object,
    manifest::{Retention, Visibility},
    principal::Caller,
    retention::RetentionPatch,
    row::Row,
    trace::Trace,
};
use rookery_storage::commit::Outcome;
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    time::Instant,
};

use super::{
    access_ops::{AccessOp, AccessReply},
    deploy::{DeployPlan, DeployReport},
    root::Root,
};
use crate::{accounts::Account, registry::slot::Queued};

/// What arrives in an app actor's mailbox.
pub(crate) enum Message {
    /// Somebody wants something.
    Request(Box<Request>),
    /// Seal the open group: sent by the actor to itself, behind whatever is queued already.
    Seal,
    /// The group with this number ended.
    Settled(u64, Outcome),
    /// Stop, if nothing is pending and nobody waits.
    Rest,
    /// Begin nothing more, finish what is begun, and stop.
    Restart,
    /// Panic (a test's injected fault).
    #[cfg(feature = "faults")]
    Panic,
}

/// One operation on an app.
#[derive(Debug, Clone)]
pub enum Op {
    /// Create a row, or answer with the one at the key.
    Create {
        /// The collection.
        collection: Box<str>,
        /// The row.
        item: NewRow,
        /// The value of the challenge header.
        challenge: Option<Box<str>>,
    },
    /// Create a row, or update the one that holds the same value of a unique field.
    Upsert {
        /// The collection.
        collection: Box<str>,
        /// The row.
        item: UpsertRow,
        /// The value of the challenge header.
        challenge: Option<Box<str>>,
    },
    /// Change a row's data.
    Update {
        /// The collection.
        collection: Box<str>,
        /// The row's key.
        key: Box<str>,
        /// A merge patch (RFC 7396), or the whole new data.
        data: Object,
        /// `data` replaces instead of being merged.
        replace: bool,
        /// The version the caller has seen.
        if_match: Option<u32>,
    },
    /// Move a row to the trash.
    Delete {
        /// The collection.
        collection: Box<str>,
        /// The row's key.
        target: DeleteRow,
    },
    /// Bring a row back from the trash.
    Restore {
        /// The collection.
        collection: Box<str>,
        /// The row's key.
        key: Box<str>,
        /// Its content, read from storage by the sender; fits only if the version still does.
        trashed: Option<Arc<Row>>,
    },
    /// Destroy a row's content.
    Purge {
        /// The collection.
        collection: Box<str>,
        /// The row's key.
        key: Box<str>,
    },
    /// Create or upsert many rows.
    BatchWrite {
        /// The collection.
        collection: Box<str>,
        /// The rows, in order.
        items: Vec<WriteRow>,
        /// All or none.
        atomic: bool,
        /// The value of the challenge header.
        challenge: Option<Box<str>>,
    },
    /// Move many rows to the trash.
    BatchDelete {
        /// The collection.
        collection: Box<str>,
        /// The rows, in order.
        items: Vec<DeleteRow>,
        /// All or none.
        atomic: bool,
    },
    /// Send a custom event.
    Emit {
        /// Its declared type.
        kind: Box<str>,
        /// Its data.
        data: Object,
    },
    /// Let a visitor in by a grant link: counts a use of it.
    RedeemGrant {
        /// SHA-256 of the link's token.
        token: [u8; 32],
        /// The visitor that it makes.
        visitor: ParticipantId,
    },
    /// Something about the app itself.
    App(AppOp),
}

/// A row to create.
#[derive(Debug, Clone)]
pub struct NewRow {
    /// Its key; drawn when absent.
    pub key: Option<Box<str>>,
    /// Its data.
    pub data: Object,
}

/// A row to create, or to merge into the one that holds the same value of `on`.
#[derive(Debug, Clone)]
pub struct UpsertRow {
    /// A unique field of the collection.
    pub on: Box<str>,
    /// Its data.
    pub data: Object,
}

/// One entry of a batch.
#[derive(Debug, Clone)]
pub enum WriteRow {
    /// As [`Op::Create`].
    Create(NewRow),
    /// As [`Op::Upsert`].
    Upsert(UpsertRow),
}

/// A row to delete.
#[derive(Debug, Clone)]
pub struct DeleteRow {
    /// Its key.
    pub key: Box<str>,
    /// The version the caller has seen.
    pub if_match: Option<u32>,
}

/// An operation on the app as a whole. The owner's routes and the workers send these.
#[derive(Debug, Clone)]
pub enum AppOp {
    /// Deploy a version.
    Deploy(Arc<DeployPlan>),
    /// Change settings.
    Settings {
        /// New visibility.
        visibility: Option<Visibility>,
        /// The share token to use when this makes the app `link`: its hash and sealed form.
        share: Option<([u8; 32], Arc<str>)>,
        /// New timezone.
        timezone: Option<Arc<str>>,
        /// The organization that it shall belong to, or that it shall belong to none.
        org: Option<Option<OrgId>>,
    },
    /// Give the app to whoever has accepted the offer of it.
    HandOver(Acceptance),
    /// Put another share token in force, while visibility is `link`: its hash and sealed form.
    RotateShare([u8; 32], Arc<str>),
    /// Change who may do what beside the owner.
    Access(AccessOp),
    /// Turn migration mode on for so long, or off.
    Migration(Option<Duration>),
    /// Set or clear the owner's retention override of a collection.
    Retention {
        /// The collection.
        collection: Box<str>,
        /// What changes, per axis.
        patch: RetentionPatch,
    },
    /// Move the app to the trash.
    Delete,
    /// Bring it back.
    Restore,
    /// Take it down.
    Close,
    /// Take it down and have it destroyed after the time in the trash: its account is gone.
    Abandon,
    /// Record that `POST wake` woke it.
    Woken,
    /// Prune rows beyond their retention bounds.
    Prune,
    /// Purge these rows of the trash, which have been there long enough: collection, key and the
    /// version that was seen there.
    PurgeTrash(Vec<(Box<str>, Box<str>, u32)>),
    /// Mark it as being destroyed: the last thing it ever does.
    Destroy,
}

/// An offer that its addressee has accepted.
#[derive(Clone)]
pub struct Acceptance {
    /// The offer.
    pub transfer: TransferId,
    /// Who offered; it must act as the app's owner still.
    pub offered_by: HumanId,
    /// The new owner.
    pub to: HumanId,
    /// Its account, which will count the app's rows.
    pub account: Arc<Account>,
}

impl std::fmt::Debug for Acceptance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Acceptance")
            .field("transfer", &self.transfer)
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}

/// What an operation answers.
#[derive(Debug, Clone)]
pub enum Reply {
    /// A row, after the operation.
    Row(RowReply),
    /// What is left of a purged row.
    Purged(Tombstone),
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
    /// What a deploy did, or why it did not.
    Deployed(Box<DeployReport>),
    /// Bounds in force after a retention change.
    Retention(Retention),
    /// Rows that a worker's operation touched.
    Count(u64),
    /// A first answer, replayed for its idempotency key.
    Replayed(StoredAnswer),
}

impl Reply {
    /// Rows that were written for it; workers' operations, which nobody asked for, count none.
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
pub struct Tombstone {
    /// The row's key.
    pub key: Box<str>,
    /// Its last version.
    pub version: u32,
    /// When it was destroyed.
    pub purged_at: Timestamp,
}

/// An answer as the idempotency record keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    /// HTTP status.
    pub status: u16,
    /// The `Location` header.
    pub location: Option<String>,
    /// The body.
    pub body: String,
}

/// What makes a repeated request the same request (contract part 1, "Idempotency").
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    /// SHA-256 of principal, route, app and key.
    pub scope: [u8; 32],
    /// SHA-256 of the body.
    pub body_hash: [u8; 32],
    /// The collection whose rows the answer will quote, so that a purge finds it.
    pub collection: Option<Arc<str>>,
    /// What the keys of created rows are appended to for `Location`.
    pub location_base: String,
    /// Renders the answer, for operations whose answer the route composes itself.
    pub render: Option<Renderer>,
    /// The app's published seq when storage was asked for this scope and knew none.
    pub checked_at_seq: u64,
}

/// Renders the answer of a reply, given the app after it.
#[derive(Clone)]
pub struct Renderer(pub Arc<Render>);

/// What a [`Renderer`] does.
pub type Render = dyn Fn(&Reply, &Root) -> StoredAnswer + Send + Sync;

impl std::fmt::Debug for Renderer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Renderer")
    }
}

/// What is asked, apart from who waits for the answer.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) caller: Caller,
    pub(crate) op: Op,
    pub(crate) idempotency: Option<IdempotencyKey>,
    /// From then on it is not begun any more.
    pub(crate) deadline: Instant,
    /// When it was sent to the present incarnation.
    pub(crate) queued_at: Instant,
    /// Its span, when somebody traces the request.
    pub(crate) trace: Option<Box<Trace>>,
}

/// How a request ended.
pub(crate) enum Answer {
    /// With this answer.
    Done(Result<Reply>),
    /// The actor stopped before it began: ask the next incarnation. The place in the queue is
    /// kept.
    Bounced(Box<Ask>, Permits),
}

/// One message's content, with whoever waits for it and its place in the queue.
pub(crate) struct Request {
    ask: Option<Box<Ask>>,
    port: Option<oneshot::Sender<Answer>>,
    permits: Option<Permits>,
}

/// A request's place in the queue: one of the app's mailbox, and its bytes of the global budget.
/// Travels with the request into its group and is given back when that is settled.
pub(crate) struct Permits {
    pub(crate) _mailbox: OwnedSemaphorePermit,
    pub(crate) _bytes: OwnedSemaphorePermit,
    pub(crate) _queued: Queued,
}

impl Request {
    /// A request and the end at which its answer arrives.
    pub(crate) fn new(ask: Box<Ask>, permits: Permits) -> (Self, oneshot::Receiver<Answer>) {
        let (port, receiver) = oneshot::channel();
        (Self { ask: Some(ask), port: Some(port), permits: Some(permits) }, receiver)
    }

    /// Begins the request: from here on it is answered by its [`ReplyPort`], whatever happens.
    pub(crate) fn begin(mut self) -> Option<(Box<Ask>, ReplyPort)> {
        let ask = self.ask.take()?;
        let port = ReplyPort {
            port: self.port.take(),
            _permits: self.permits.take(),
            stage: Stage::Deciding,
        };
        Some((ask, port))
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if let (Some(ask), Some(port), Some(permits)) =
            (self.ask.take(), self.port.take(), self.permits.take())
        {
            // Whoever asked may have left.
            let _ = port.send(Answer::Bounced(ask, permits));
        }
    }
}

/// How far a begun request has come: what to say of it if its actor dies now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Its own rules are running: they are what failed.
    Deciding,
    /// Decided, not yet with the writer: certainly not applied.
    Open,
    /// With the writer.
    Sealed,
}

/// Answers one request, exactly once: also when it is dropped.
pub(crate) struct ReplyPort {
    port: Option<oneshot::Sender<Answer>>,
    _permits: Option<Permits>,
    stage: Stage,
}

impl ReplyPort {
    /// The decision stands, uncommitted.
    pub(crate) fn decided(&mut self) {
        self.stage = Stage::Open;
    }

    /// The writer has it.
    pub(crate) fn sealed(&mut self) {
        self.stage = Stage::Sealed;
    }

    /// Answers.
    pub(crate) fn send(mut self, answer: Result<Reply>) {
        if let Some(port) = self.port.take() {
            // Whoever asked may have left; what was decided stands all the same.
            let _ = port.send(Answer::Done(answer));
        }
    }
}

impl Drop for ReplyPort {
    fn drop(&mut self) {
        if let Some(port) = self.port.take() {
            let error = match self.stage {
                Stage::Deciding => Error::internal(false),
                Stage::Open => Error::unavailable("the app restarted before this was applied"),
                Stage::Sealed => Error::internal(true),
            };
            let _ = port.send(Answer::Done(Err(error)));
        }
    }
}
