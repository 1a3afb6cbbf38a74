//! What an app's actor is asked, and what it answers.
//!
//! A request names its [`Caller`], never a role: the actor resolves that against its newest
//! state. Requests that an actor leaves behind when it stops or crashes bounce back to whoever
//! sent them, whole, and are sent to the next incarnation.

mod idempotency;
mod op;
mod reply;

use rookery_domain::{Error, Result, id::HumanId, principal::Caller, trace::Trace};
use rookery_storage::{
    commit::Outcome,
    offload::{Offload, Permit},
};
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    time::Instant,
};

use crate::registry::counting::Queued;

pub use idempotency::{CheckedIdempotency, Idempotency, Render, Renderer};
pub use op::{Acceptance, AppOp, NewRow, Op, RowEdit, RowTarget, UpsertRow, WriteRow};
pub use reply::{PurgedRow, Reply, RowFate, RowReply};

/// What arrives in an app actor's mailbox.
pub(crate) enum Message {
    /// Somebody wants something.
    Request(Box<Request>),
    /// Seal the open group: sent by the actor to itself, behind whatever is queued already.
    Seal,
    /// The group with this number ended.
    CommitEnded(u64, Outcome),
    /// Stop, if nothing is pending and nobody waits.
    Hibernate,
    /// Begin nothing more, finish what is begun, and stop.
    Restart,
    /// Panic (a test's injected fault).
    #[cfg(feature = "faults")]
    Panic,
}

/// What is asked, apart from who waits for the answer.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) caller: Caller,
    pub(crate) op: Op,
    pub(crate) idempotency: Option<CheckedIdempotency>,
    /// After this it is not begun any more.
    pub(crate) deadline: Instant,
    /// When it was sent to the present incarnation.
    pub(crate) queued_at: Instant,
    /// Its span, when somebody traces the request.
    pub(crate) trace: Option<Box<Trace>>,
    /// Whether it is decided beside the event loop.
    pub(crate) aside: bool,
    /// Its permit for that, while it has one; given back once it is decided.
    pub(crate) permit: Option<Permit>,
}

/// How a request ended.
pub(crate) enum Answer {
    /// With this answer.
    Done(Result<Reply>),
    /// The actor stopped before it began: ask the next incarnation. Its permits are kept.
    Bounced(Box<Ask>, Permits),
    /// It waited in the actor without a permit to be decided beside the event loop, and there was none
    /// when it could have begun: wait for one and ask again. Its permits are kept.
    LacksPermit(Box<Ask>, Permits),
}

/// One message's content, with whoever waits for it and its permits.
pub(crate) struct Request(Option<Pending>);

struct Pending {
    ask: Box<Ask>,
    port: oneshot::Sender<Answer>,
    permits: Permits,
}

/// What a request holds: a place in the app's mailbox, and its bytes of the global budget and of the
/// app's part of it. Travels with the request into its group and is given back when that has ended.
pub(crate) struct Permits {
    /// None while the request waits to be decided beside the event loop: that queue has turns, and a place
    /// that is held there would be nobody else's.
    pub(crate) mailbox: Option<OwnedSemaphorePermit>,
    pub(crate) _bytes: OwnedSemaphorePermit,
    pub(crate) _queued: Queued,
}

impl Request {
    /// A request and the end at which its answer arrives.
    pub(crate) fn new(ask: Box<Ask>, permits: Permits) -> (Self, oneshot::Receiver<Answer>) {
        let (port, receiver) = oneshot::channel();
        (Self(Some(Pending { ask, port, permits })), receiver)
    }

    /// Whether storage may refuse the group because of it: nothing else shares that group.
    pub(crate) fn stands_alone(&self) -> bool {
        let adds_an_app =
            |ask: &Ask| matches!(ask.op, Op::App(AppOp::HandOver(_) | AppOp::Restore));
        self.0.as_ref().is_some_and(|pending| adds_an_app(&pending.ask))
    }

    /// Gives the permit to be decided beside the event loop back, for a request that has to wait in its
    /// actor: there are few.
    pub(crate) fn without_permit(mut self: Box<Self>) -> Box<Self> {
        if let Some(pending) = &mut self.0 {
            pending.ask.permit = None;
        }
        self
    }

    /// Takes a permit of `offload`, in the turn of the app's owner, for a request that needs one, so that
    /// it can begin. `None` where there is none now: the request was sent back, and its sender waits for one.
    pub(crate) fn with_permit(
        mut self: Box<Self>,
        offload: &Offload,
        owner: HumanId,
    ) -> Option<Box<Self>> {
        let ask = &mut self.0.as_mut()?.ask;
        if ask.aside && ask.permit.is_none() {
            ask.permit = offload.try_permit(owner);
            if ask.permit.is_none() {
                self.send_back(Answer::LacksPermit);
                return None;
            }
        }
        Some(self)
    }

    fn send_back(&mut self, how: fn(Box<Ask>, Permits) -> Answer) {
        if let Some(Pending { ask, port, permits }) = self.0.take() {
            // Whoever asked may have left.
            let _ = port.send(how(ask, permits));
        }
    }

    /// Begins the request: from here on it is answered by its [`ReplyPort`], whatever happens.
    pub(crate) fn begin(mut self) -> Option<(Box<Ask>, ReplyPort)> {
        let Pending { ask, port, permits } = self.0.take()?;
        let progress = Progress::Deciding;
        let port = ReplyPort { port: Some(port), permits: Some(permits), progress };
        Some((ask, port))
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.send_back(Answer::Bounced);
    }
}

/// How far a begun request has come: what to say of it if its actor dies now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
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
    permits: Option<Permits>,
    progress: Progress,
}

impl ReplyPort {
    /// The decision stands, uncommitted.
    pub(crate) fn decided(&mut self) {
        self.progress = Progress::Open;
    }

    /// The writer has it.
    pub(crate) fn sealed(&mut self) {
        self.progress = Progress::Sealed;
    }

    pub(crate) fn send(mut self, answer: Result<Reply>) {
        self.reply(answer);
    }

    /// Gives the permits back, then answers: what is answered counts nowhere as queued.
    fn reply(&mut self, answer: Result<Reply>) {
        if let Some(port) = self.port.take() {
            self.permits = None;
            // Whoever asked may have left; what was decided stands all the same.
            let _ = port.send(Answer::Done(answer));
        }
    }
}

impl Drop for ReplyPort {
    fn drop(&mut self) {
        if self.port.is_none() {
            return;
        }
        let error = match self.progress {
            Progress::Deciding => Error::internal().caused_by("deciding this panicked"),
            Progress::Open => Error::unavailable("the app restarted before this was applied"),
            Progress::Sealed => {
                Error::unknown_outcome().caused_by("how its commit ended is unknown")
            }
        };
        self.reply(Err(error));
    }
}
