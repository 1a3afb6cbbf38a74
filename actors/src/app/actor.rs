//! The actor of one live app: it takes a message, decides, and lets the writer make it durable.
//!
//! It never waits for I/O. At most one group is with the writer; the next one fills meanwhile.
//! Outcomes come back as messages. `handle` only dispatches: one method for each message.

use std::{collections::VecDeque, sync::Arc};

use arc_swap::ArcSwap;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use rookery_domain::{
    Error, Result, app::AppStatus, limits::AppsMax, meters::Flow, principal::Caller,
    timezone::Zone, transfers,
};
use rookery_storage::commit::{Abort, IdempotencyWrite, Outcome};
use tokio::time::Instant;
use tracing::{debug, warn};

use super::{
    aside,
    decide::decide,
    group::{InFlight, Open, seal},
    message::{Ask, Idempotency, Message, Reply, ReplyPort, Request},
    private::PURGED_MAX,
    recent_responses::{Recall, RecentResponses},
    render,
    root::Root,
    working::{Undo, Working},
};
use crate::{
    control::{account_closed, too_many_apps},
    env::Env,
    observe::lifecycle::StopCause,
    registry::{counting::end_span, slot::Slot},
};

/// The behaviour; all state is in [`App`].
pub(crate) struct AppActor;

/// What an incarnation starts from.
pub(crate) struct Birth {
    pub(crate) env: Arc<Env>,
    pub(crate) slot: Arc<Slot>,
    pub(crate) working: Working,
    pub(crate) incarnation: u64,
    /// What everybody reads; the actor alone replaces it.
    pub(crate) published: Arc<ArcSwap<Root>>,
}

/// The state of an incarnation.
pub(crate) struct App {
    env: Arc<Env>,
    slot: Arc<Slot>,
    working: Working,
    incarnation: u64,
    published: Arc<ArcSwap<Root>>,
    in_flight: Option<InFlight>,
    seal_asked: bool,
    /// Slow decisions in a row.
    slow_streak: u32,
    /// Requests that wait because the open group takes no more.
    stash: VecDeque<Box<Request>>,
    phase: Phase,
}

/// Where an incarnation is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It takes requests.
    Running,
    /// It begins nothing more, and leaves once what is begun has ended.
    Leaving,
    /// It has left: what still comes bounces to the next incarnation.
    Retired,
}

impl Actor for AppActor {
    type Msg = Message;
    type State = App;
    type Arguments = Birth;

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        birth: Birth,
    ) -> Result<App, ActorProcessingErr> {
        Ok(App {
            env: birth.env,
            slot: birth.slot,
            working: birth.working,
            incarnation: birth.incarnation,
            published: birth.published,
            in_flight: None,
            seal_asked: false,
            slow_streak: 0,
            stash: VecDeque::new(),
            phase: Phase::Running,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Message>,
        message: Message,
        app: &mut App,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Request(request) => app.request(&myself, request),
            Message::Seal => {
                app.seal_asked = false;
                app.seal(&myself);
            }
            Message::CommitEnded(group, outcome) => app.commit_ended(&myself, group, outcome),
            Message::Hibernate => app.hibernate(&myself),
            Message::Restart => app.restart(&myself),
            #[cfg(feature = "faults")]
            Message::Panic => panic!("injected"),
        }
        Ok(())
    }
}

impl App {
    fn request(&mut self, myself: &ActorRef<Message>, request: Box<Request>) {
        if self.phase == Phase::Retired {
            // Dropped.
            return;
        }
        if self.phase == Phase::Leaving || !self.stash.is_empty() || !self.takes(&request) {
            self.stash.push_back(request.without_permit());
            return;
        }
        self.begin(*request);
        self.ask_seal(myself);
    }

    /// Whether the open group takes `request` now. A request that storage may refuse has a group to
    /// itself, and nothing is decided after it until its outcome is known.
    fn takes(&self, request: &Request) -> bool {
        let open = &self.working.open;
        if request.stands_alone() {
            return self.in_flight.is_none() && open.is_empty();
        }
        !open.is_full() && !self.in_flight.as_ref().is_some_and(|in_flight| in_flight.alone)
    }

    /// Decides one request. Its answer waits with the open group whenever anything that is not
    /// durable may have gone into it.
    fn begin(&mut self, request: Request) {
        let alone = request.stands_alone();
        let Some((mut ask, mut port)) = request.begin() else { return };
        let began = Instant::now();
        let waited = began.saturating_duration_since(ask.queued_at);
        let (trace, permit) = (ask.trace.take(), ask.permit.take());
        let answer = match &permit {
            None => self.answer(*ask, began),
            Some(_) => aside::blocking(|| self.answer(*ask, began)),
        };
        drop(permit);
        let took = began.elapsed();
        self.slow_streak = aside::streak(self.slow_streak, took);
        if self.slow_streak == aside::SLOW_STREAK {
            self.slot.clock.was_slow(self.env.uptime());
        }
        if let Some(trace) = &trace {
            end_span(trace, "decide", began, answer.as_ref().err(), self.slot.id);
        }
        self.env.observer.handled(&self.slot, waited, took);
        if self.in_flight.is_none() && self.working.open.writes.is_empty() {
            port.send(answer);
            return;
        }
        port.decided();
        self.working.open.alone = alone;
        self.working.open.traces.extend(trace.map(|trace| *trace));
        self.working.open.replies.push((port, answer));
    }

    fn answer(&mut self, ask: Ask, now: Instant) -> Result<Reply> {
        if ask.deadline <= now {
            return Err(Error::unavailable("the request waited too long to be begun"));
        }
        if let Some(checked) = &ask.idempotency {
            match self.working.private.responses.recall(checked, self.env.clock.now())? {
                Recall::Found(first) => return Ok(Reply::Replayed(first)),
                Recall::Evicted => return Ok(Reply::LookAgain(Box::new(ask.op))),
                Recall::Unknown => {}
            }
        }
        let reply = decide(&self.env, &mut self.working, &ask.caller, ask.op)?;
        if let Some(checked) = ask.idempotency
            && is_kept(&ask.caller, &reply)
        {
            self.keep_response(checked.idempotency, is_by_key(&ask.caller), &reply);
        }
        Ok(reply)
    }

    fn keep_response(&mut self, idempotency: Idempotency, by_key: bool, reply: &Reply) {
        let Idempotency { request, collection, location_base, render } = idempotency;
        let response = match render {
            Some(render) => Some((render.0)(reply, &self.working.root)),
            None => render::to_keep(reply, &location_base),
        };
        let Some(response) = response else { return };
        let (root, now) = (&self.working.root, self.env.clock.now());
        let seq = root.seq;
        self.working.private.responses.remember(request, root.group, now, response.clone());
        self.working.open.journal.push(Undo::Response(request.scope));
        self.working.open.write_response(IdempotencyWrite {
            request,
            response,
            by_key,
            created_at: now,
            seq,
            collection,
            row_keys: reply.quoted_keys(),
        });
    }

    /// Has the open group sealed once everything that is queued already has joined it.
    fn ask_seal(&mut self, myself: &ActorRef<Message>) {
        if self.in_flight.is_some() || self.working.open.is_empty() || self.seal_asked {
            return;
        }
        if self.slot.queued() <= self.working.open.replies.len() {
            // Nobody else is on the way here.
            self.seal(myself);
        } else {
            self.seal_asked = myself.send_message(Message::Seal).is_ok();
        }
    }

    fn seal(&mut self, myself: &ActorRef<Message>) {
        if self.in_flight.is_some() {
            return;
        }
        if self.working.open.writes.is_empty() {
            // Answers that waited for a group which has ended since.
            self.working.open.traces.clear();
            release(std::mem::take(&mut self.working.open.replies));
            return;
        }
        self.working.root.sort_pending();
        let root = Arc::new(self.working.root.clone());
        self.working.root.group = root.group.next();
        let open = std::mem::take(&mut self.working.open);
        let prev = self.published.load().seq;
        let (group, in_flight) = seal(self.slot.id, prev, root, open, myself.clone());
        self.in_flight = Some(in_flight);
        self.slot.commit_began(self.incarnation);
        self.env.store.submit(group);
    }

    fn commit_ended(&mut self, myself: &ActorRef<Message>, group: u64, outcome: Outcome) {
        let Some(in_flight) = self.in_flight.take_if(|one| one.number == group) else { return };
        match outcome {
            Outcome::Committed => self.committed(myself, in_flight),
            Outcome::Aborted(Abort::Fenced) => {
                // Another incarnation wrote: this one is not the app's actor any more.
                if let Some(skipped) = self.env.warnings.take() {
                    warn!(app.id = %self.slot.id, skipped, "fenced: the app's head moved");
                }
                // It leaves before anybody is told: whoever asks again must not find it, nor what
                // it last knew.
                self.leave(myself, StopCause::CommitLost);
                refuse(in_flight.replies, || Error::unavailable("the app moved; try again"));
            }
            Outcome::Aborted(abort) => {
                if let Some(skipped) = self.env.warnings.take() {
                    warn!(app.id = %self.slot.id, ?abort, skipped, "a commit was not applied");
                }
                let (apps_max, alone) = (self.env.limits.apps_max(), in_flight.alone);
                self.fail(in_flight, || aborted(&abort, alone, apps_max));
                self.unstash(myself);
            }
            Outcome::Unknown | Outcome::StoreBroken => {
                // The replies say "unknown" as they are dropped, but not before it has left: whoever
                // asks again finds the truth. The open group was never handed over.
                self.leave(myself, StopCause::CommitLost);
                drop(in_flight);
            }
        }
    }

    fn committed(&mut self, myself: &ActorRef<Message>, in_flight: InFlight) {
        let InFlight { mut root, replies, history_bytes, .. } = in_flight;
        self.slot.history.add(history_bytes);
        if root.purged > PURGED_MAX {
            let purged = self.working.private.fold_purged(&self.working.open.journal);
            self.working.root.purged = purged;
            Arc::make_mut(&mut root).purged = purged;
        }
        if !Arc::ptr_eq(&self.slot.record.load(), &root.record) {
            self.slot.record.store(root.record.clone());
        }
        let destroyed = root.record.status == AppStatus::Purging;
        let before = self.published.swap(root);
        self.env.observer.published(self.slot.id, Some(&before), Some(&self.published.load()));
        self.slot.commit_ended();
        self.working.settle_rows();
        self.count_writes(&replies);
        release(replies);
        self.slot.hub.wake();
        if destroyed {
            if self.working.open.writes.is_empty() {
                // Refusals decided after it: they hold now.
                release(std::mem::take(&mut self.working.open.replies));
            }
            self.slot.destroy();
            self.end(myself);
            return;
        }
        self.unstash(myself);
    }

    /// Counts the rows that are durable now, whether or not anybody still waits for the answer.
    fn count_writes(&self, replies: &[(ReplyPort, Result<Reply>)]) {
        let of = |reply: &Result<Reply>| reply.as_ref().map_or(0, Reply::row_writes);
        let writes: u64 = replies.iter().map(|(_, reply)| of(reply)).sum();
        if writes > 0 {
            let now = self.env.clock.now();
            self.env.collector.count(&self.slot, now, Flow::RowWrites, writes);
        }
    }

    /// Nothing of the group in flight nor of the open one was applied: back to what is published.
    fn fail(&mut self, in_flight: InFlight, why: impl Fn() -> Error) {
        let open = std::mem::take(&mut self.working.open);
        self.working.undo(open.journal);
        self.working.undo(in_flight.journal);
        let published = self.published.load();
        let group = self.working.root.group;
        self.working.root = Root { group, ..(**published).clone() };
        // What is durable can be looked up in storage; what is not must not raise the floor.
        self.working.private.responses = RecentResponses::since(published.group);
        self.working.private.zone =
            Zone::parse(&self.working.root.record.timezone).unwrap_or(Zone::UTC);
        // Rows that left before, and in whose place those were to come that do not.
        self.working.settle_rows();
        self.slot.commit_ended();
        refuse(in_flight.replies.into_iter().chain(open.replies), why);
        // For those who wait until this group has come to an end.
        self.slot.hub.wake();
    }

    /// Takes requests that waited for room into the open group, and goes on.
    fn unstash(&mut self, myself: &ActorRef<Message>) {
        loop {
            while let Some(request) = self.next_stashed() {
                let owner = self.working.root.record.owner;
                if let Some(request) = request.with_permit(&self.env.deciding, owner) {
                    self.begin(*request);
                }
            }
            self.seal(myself);
            if self.phase != Phase::Running || self.in_flight.is_some() || self.stash.is_empty() {
                break;
            }
        }
        self.leave_if_done(myself);
    }

    /// The first request that waited, if the open group takes it now.
    fn next_stashed(&mut self) -> Option<Box<Request>> {
        let next = self.stash.front().is_some_and(|request| self.takes(request));
        if next && self.phase == Phase::Running { self.stash.pop_front() } else { None }
    }

    /// Begins nothing more; leaves now, or when what is begun has ended.
    fn restart(&mut self, myself: &ActorRef<Message>) {
        if self.phase != Phase::Retired {
            self.phase = Phase::Leaving;
            self.seal(myself);
            self.leave_if_done(myself);
        }
    }

    fn leave_if_done(&mut self, myself: &ActorRef<Message>) {
        if self.phase == Phase::Leaving && self.in_flight.is_none() {
            self.leave(myself, StopCause::Restarted);
        }
    }

    /// Stops, if nobody needs the app now.
    fn hibernate(&mut self, myself: &ActorRef<Message>) {
        let pending = self.in_flight.is_some()
            || !self.working.open.is_empty()
            || !self.stash.is_empty()
            || self.slot.is_needed();
        if !pending {
            debug!(app.id = %self.slot.id, "hibernates");
            self.leave(myself, StopCause::Hibernated);
        }
    }

    /// Leaves in order. What is still queued bounces to the next incarnation.
    fn leave(&mut self, myself: &ActorRef<Message>, cause: StopCause) {
        self.slot.retire(self.incarnation, cause);
        self.end(myself);
    }

    /// Stops. Answers that wait for a group which is never sent, and requests that were not begun, go
    /// now, not when ractor drops this state.
    fn end(&mut self, myself: &ActorRef<Message>) {
        self.phase = Phase::Retired;
        self.working.open = Open::default();
        self.stash.clear();
        myself.stop(None);
    }
}

/// Whether this answer is kept for a repeated request. Storage keeps it for a day; a visitor's only
/// if it wrote, because nothing but the collection's budget limits these.
fn is_kept(caller: &Caller, reply: &Reply) -> bool {
    match reply {
        Reply::Stale | Reply::LookAgain(_) => false,
        Reply::Row(_) | Reply::Batch(_) => is_by_key(caller) || reply.row_writes() > 0,
        _ => true,
    }
}

const fn is_by_key(caller: &Caller) -> bool {
    matches!(caller, Caller::Agent { .. } | Caller::Credential { .. })
}

fn release(replies: Vec<(ReplyPort, Result<Reply>)>) {
    for (port, answer) in replies {
        port.send(answer);
    }
}

fn refuse(replies: impl IntoIterator<Item = (ReplyPort, Result<Reply>)>, why: impl Fn() -> Error) {
    for (port, _) in replies {
        port.send(Err(why()));
    }
}

/// What the requests of a group that was not applied are told. Storage refuses a group only because
/// of a request that has it to itself, so that one alone hears why.
fn aborted(abort: &Abort, alone: bool, apps_max: AppsMax) -> Error {
    match abort {
        Abort::OfferGone if alone => transfers::no_such_offer(),
        Abort::AccountClosed if alone => account_closed(),
        Abort::AccountFull(of) if alone => too_many_apps(*of, apps_max),
        Abort::Full => Error::unavailable("no space is left to write to"),
        Abort::Refused(why) => {
            Error::unavailable("the write could not be made durable").caused_by(why)
        }
        Abort::OfferGone | Abort::AccountClosed | Abort::AccountFull(_) | Abort::Fenced => {
            Error::unavailable("the write could not be made durable")
        }
    }
}
