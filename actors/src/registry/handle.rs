//! One app as everybody outside its actor holds it: reads its published state, asks its actor, and
//! wakes it when there is none.
//!
//! What is not here: how the app is found (the registry), and what it decides (`app`).

use std::{sync::Arc, time::Duration};

use rookery_domain::{Error, Result, app::AppRecord, id::AppId, principal::Caller, trace::Trace};
use rookery_storage::{offload::Permit, trace};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout, timeout_at},
};

use super::{
    Apps, SlotState,
    counting::{self, Counting, Queued},
    slot::{Live, Slot},
    wake,
};
use crate::{
    app::{
        aside,
        message::{Answer, AppOp, Ask, CheckedIdempotency, Message, Op, Permits, Reply, Request},
        root::Root,
    },
    env::Env,
    observe::{counters::MessageKind, lifecycle::StopCause},
    task::to_the_end,
};

/// Incarnations that one request is tried on before it is refused.
const INCARNATIONS_TRIED_MAX: usize = 4;
/// How long a begun request may take to become durable before its outcome is called unknown.
const COMMIT_GRACE: Duration = Duration::from_secs(15);
/// The part of the global budget of bytes that one app's requests may take: one in this many.
const BYTES_OF_APP_ONE_IN: usize = 8;
/// Fewest bytes of the global budget that one request costs.
const REQUEST_BYTES_MIN: usize = 512;

/// One app, found. Cheap to clone; valid whatever becomes of the app.
#[derive(Clone)]
pub struct AppHandle {
    pub(crate) apps: Apps,
    pub(crate) slot: Arc<Slot>,
    /// Whether its owner reads it even when it is in the trash.
    pub(crate) from_trash: bool,
}

impl std::fmt::Debug for AppHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AppHandle").field(&self.slot.id).finish()
    }
}

impl AppHandle {
    /// The app's id.
    #[must_use]
    pub fn id(&self) -> AppId {
        self.slot.id
    }

    /// The same app, for its owner to read even when it is in the trash.
    #[must_use]
    pub fn from_trash(self) -> Self {
        Self { from_trash: true, ..self }
    }

    /// Its record as last published. Wakes nothing.
    #[must_use]
    pub fn record(&self) -> Arc<AppRecord> {
        self.slot.record.load_full()
    }

    /// Whether an actor runs for it, or why not.
    #[must_use]
    pub fn state(&self) -> SlotState {
        self.slot.state()
    }

    /// Its published state, if it is live now. Wakes nothing.
    #[must_use]
    pub fn peek(&self) -> Option<Arc<Root>> {
        self.slot.root()
    }

    /// Its published state; wakes it if need be.
    ///
    /// # Errors
    /// `unavailable`, `app_not_found`.
    pub async fn root(&self) -> Result<Arc<Root>> {
        self.slot.clock.touch(self.env().uptime());
        match self.slot.root() {
            Some(root) => Ok(root),
            None => {
                let deadline = Instant::now() + self.env().options.request_timeout;
                let trace = trace::current();
                Ok(self.live_by(deadline, trace.as_ref()).await?.root.load_full())
            }
        }
    }

    /// Wakes the app. True when this call did it; false when it was awake already, or another call
    /// was waking it.
    ///
    /// # Errors
    /// As [`AppHandle::root`].
    pub async fn wake(&self) -> Result<bool> {
        self.slot.clock.touch(self.env().uptime());
        let deadline = Instant::now() + self.env().options.request_timeout;
        let mut started = false;
        let woken = self.slot.wake(|| {
            started = true;
            wake::start(&self.apps, &self.slot)
        });
        timeout_at(deadline, woken).await.map_err(|_| woke_late()).flatten()?;
        Ok(started)
    }

    /// Wakes the app for `caller`, whom the feed names when this call did it, also where nobody waits
    /// for the answer any more. How long the wake took then.
    ///
    /// # Errors
    /// Those of [`AppHandle::wake`] and [`AppHandle::apply`].
    pub async fn wake_for(&self, caller: Caller) -> Result<Option<Duration>> {
        let app = self.clone();
        to_the_end(async move {
            let began = Instant::now();
            if !app.wake().await? {
                return Ok(None);
            }
            let took = began.elapsed();
            app.apply(caller, Op::App(AppOp::Woken)).await?;
            Ok(Some(took))
        })
        .await
    }

    /// Asks the app's actor for `op` and waits until the answer is durable. Once begun, it runs to
    /// its end whatever becomes of this future.
    ///
    /// # Errors
    /// What the app's rules answer; `unavailable` when it was certainly not applied (too many
    /// requests, no space, restarts); `internal` with `details.outcome` when nobody can tell.
    pub async fn apply(&self, caller: Caller, op: Op) -> Result<Reply> {
        self.apply_with(caller, op, None, 0).await
    }

    /// As [`AppHandle::apply`], for a request whose body weighs so many `bytes`, and whose answer may be
    /// kept for its repetition.
    ///
    /// # Errors
    /// Those of [`AppHandle::apply`].
    pub async fn apply_with(
        &self,
        caller: Caller,
        op: Op,
        idempotency: Option<CheckedIdempotency>,
        bytes: usize,
    ) -> Result<Reply> {
        let mut message = Counting::new(self, MessageKind::of(&op), bytes);
        let answer = self.ask(caller, op, idempotency, bytes, &mut message).await;
        message.answered(&answer);
        answer
    }

    async fn ask(
        &self,
        caller: Caller,
        op: Op,
        idempotency: Option<CheckedIdempotency>,
        bytes: usize,
        message: &mut Counting<'_>,
    ) -> Result<Reply> {
        self.slot.clock.touch(self.env().uptime());
        let deadline = message.began + self.env().options.request_timeout;
        let (queued_at, trace) = (message.began, message.trace.clone());
        let network = caller.network();
        let aside =
            aside::may_take_long(&op, bytes) || self.slot.clock.is_slow(self.env().uptime());
        let mut permits = self.admit(bytes, network, aside).inspect_err(|_| message.shed = true)?;
        let mut ask = Box::new(Ask {
            caller,
            op,
            idempotency,
            deadline,
            queued_at,
            trace,
            aside,
            permit: None,
        });
        let mut incarnations = 0;
        while incarnations < INCARNATIONS_TRIED_MAX {
            let live = self.live_by(deadline, message.trace.as_deref()).await?;
            // There are few: none is held while the app wakes.
            if ask.aside {
                permits.mailbox = None;
                ask.permit = Some(self.permit_by(network, deadline).await?);
                permits.mailbox = Some(self.place().inspect_err(|_| message.shed = true)?);
            }
            ask.queued_at = Instant::now();
            let (request, answer) = Request::new(ask, permits);
            // An actor that is gone hands the message back by dropping it.
            let _ = live.actor.send_message(Message::Request(Box::new(request)));
            match timeout_at(deadline + COMMIT_GRACE, answer).await {
                Ok(Ok(Answer::Done(reply))) => return reply,
                Ok(Ok(Answer::LacksPermit(back, kept))) => (ask, permits) = (back, kept),
                Ok(Ok(Answer::Bounced(back, kept))) => {
                    (ask, permits) = (back, kept);
                    ask.permit = None;
                    incarnations += 1;
                    self.until_left(live.incarnation).await;
                }
                // A port answers even when it is dropped, so only the time can be over.
                Ok(Err(_)) | Err(_) => {
                    return Err(
                        Error::unknown_outcome().caused_by("the app's actor does not answer")
                    );
                }
            }
        }
        Err(Error::unavailable("the app keeps restarting"))
    }

    /// Returns when an incarnation that takes no more requests has left.
    async fn until_left(&self, incarnation: u64) {
        if !self.slot.leaves(incarnation).await {
            // Its supervisor died with it.
            self.slot.retire(incarnation, StopCause::Ended);
        }
    }

    /// Returns once everything that storage holds of the app now is published: a commit is durable a
    /// little before its actor hears of it, and on PostgreSQL its answer may be late. Whoever answers
    /// with what storage told waits here, so that no later read knows less.
    ///
    /// # Errors
    /// `unavailable` when that takes longer than a commit may.
    pub(crate) async fn until_published(&self) -> Result<()> {
        let ended = self.slot.hub.next();
        let Some(incarnation) = self.slot.committing() else { return Ok(()) };
        let left = self.slot.incarnation_left(incarnation);
        let waited = async {
            tokio::select! {
                _ = ended => {}
                // The next one loads what there is.
                () = left => {}
            }
        };
        let longest = self.env().options.request_timeout + COMMIT_GRACE;
        let late = |_| Error::unavailable("a commit of the app has not come to its end");
        timeout(longest, waited).await.map_err(late)
    }

    /// A permit to be decided beside the event loop, in turns with what other networks ask of the owner's
    /// apps.
    async fn permit_by(&self, network: Option<u64>, deadline: Instant) -> Result<Permit> {
        let permit = self.env().deciding.permit_for(self.record().owner, network);
        let permit = timeout_at(deadline, permit).await;
        let late = |_| Error::unavailable("too many requests of this kind are being decided");
        permit.map_err(late).flatten()
    }

    /// A place in the app's mailbox.
    fn place(&self) -> Result<OwnedSemaphorePermit> {
        let place = self.slot.mailbox.clone().try_acquire_owned();
        place.map_err(|_| Error::unavailable("too many requests wait for this app"))
    }

    /// The bytes of a request from `network` of the global budget and of the app's part of it; a place in
    /// the mailbox too, unless it is decided `aside` and takes one when it comes to its turn.
    fn admit(&self, bytes: usize, network: Option<u64>, aside: bool) -> Result<Permits> {
        let inner = &self.apps.inner;
        let bytes = bytes.max(REQUEST_BYTES_MIN);
        let mailbox = (!aside).then(|| self.place()).transpose()?;
        let share = u32::try_from(bytes).unwrap_or(u32::MAX);
        let Ok(held) = inner.inflight_bytes.clone().try_acquire_many_owned(share) else {
            return Err(Error::unavailable(match self.apps.is_stopping() {
                // A drain takes all of them.
                true => "the service is shutting down",
                false => "too many bytes of requests are waiting",
            }));
        };
        let of_app = inner.env.options.inflight_bytes_max / BYTES_OF_APP_ONE_IN;
        let queued = Queued::new(&self.slot, bytes, of_app, network)
            .ok_or_else(|| Error::unavailable("too many bytes of requests wait for this app"))?;
        Ok(Permits { mailbox, _bytes: held, _queued: queued })
    }

    /// What an operator sees of the app. Wakes nothing and asks no actor.
    #[must_use]
    pub fn observe(&self) -> Observation {
        let live = self.slot.live();
        let root = live.as_ref().map(|live| live.root.load_full());
        Observation {
            state: self.slot.state(),
            incarnation: live.map(|live| live.incarnation),
            seq: root.as_ref().map(|root| root.seq),
            queued: self.slot.queued(),
            followers: self.slot.hub.present(),
            rows: root.as_ref().map_or(0, |root| root.totals.live),
            resident_bytes: root.map_or(0, |root| root.resident_bytes()),
            idle_ms: self.slot.clock.idle_for(self.env().uptime()).as_millis() as u64,
            crashes: self.slot.crashes(),
        }
    }

    /// Lifts a quarantine or a wait: the next request starts the app. False when there was none.
    pub fn lift_quarantine(&self) -> bool {
        self.slot.lift()
    }

    pub(crate) fn env(&self) -> &Arc<Env> {
        &self.apps.inner.env
    }

    pub(crate) async fn live(&self) -> Result<Arc<Live>> {
        if let Some(live) = self.slot.live() {
            return Ok(live);
        }
        self.slot.wake(|| wake::start(&self.apps, &self.slot)).await
    }

    /// [`Self::live`], until a deadline; what waits for a wake is a span of `trace`.
    async fn live_by(&self, deadline: Instant, trace: Option<&Trace>) -> Result<Arc<Live>> {
        if let Some(live) = self.slot.live() {
            return Ok(live);
        }
        let began = Instant::now();
        let woken = timeout_at(deadline, self.live()).await.map_err(|_| woke_late()).flatten();
        if let Some(trace) = trace {
            counting::end_span(trace, "wake", began, woken.as_ref().err(), self.id());
        }
        woken
    }
}

#[cold]
fn woke_late() -> Error {
    Error::unavailable("the app took too long to wake")
}

/// The observable state of one app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// Whether an actor runs, or why not.
    pub state: SlotState,
    /// Which incarnation runs.
    pub incarnation: Option<u64>,
    /// The number of the newest published event, while an actor runs.
    pub seq: Option<u64>,
    /// Requests queued or uncommitted.
    pub queued: usize,
    /// Long-polls and streams that wait.
    pub followers: usize,
    /// Live rows in memory.
    pub rows: u64,
    /// About how many bytes it holds in memory.
    pub resident_bytes: u64,
    /// Milliseconds since somebody last asked for it.
    pub idle_ms: u64,
    /// Crashes in the present streak.
    pub crashes: u32,
}
