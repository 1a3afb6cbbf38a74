//! The workers: what has to happen without anybody asking. Each is an actor under the root that
//! does its round, then waits for its next one; one that crashes is replaced. A round can also be
//! asked for by hand, by an operator or a test, and is then awaited.
//!
//! What is not here: any rule. Workers find what is due and send it to the apps, whose actors
//! decide against their newest state.

mod hibernate;
mod retention;
mod sweep;
mod tour;

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SpawnErr};
use rookery_domain::{Error, Result, Timestamp, id::AppId, principal::Caller, retention as bounds};
use rookery_storage::Db;
use tokio::{sync::oneshot, task::AbortHandle};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::{
    Apps, Control,
    app::message::{AppOp, Op, Reply},
    env::Env,
    meters::{self, Whose},
    workers::tour::{Positions, Round},
};

/// What a worker is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerKind {
    /// Puts apps to rest that nobody asks for, or that do not fit into memory.
    Hibernation,
    /// Destroys what is due: apps, rows in the trash, sessions, codes, answers, assets. Forgets
    /// places of dormant apps.
    Sweeper,
    /// Prunes rows beyond their collection's bounds.
    RowRetention,
    /// Prunes feeds.
    FeedRetention,
    /// Starts dead parts of the writer again.
    Writer,
    /// Rolls meters up to storage, and deletes old ones.
    Metering,
}

impl WorkerKind {
    /// Every worker.
    pub const ALL: [Self; 6] = [
        Self::Hibernation,
        Self::Sweeper,
        Self::RowRetention,
        Self::FeedRetention,
        Self::Writer,
        Self::Metering,
    ];

    /// Its name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hibernation => "hibernation",
            Self::Sweeper => "sweeper",
            Self::RowRetention => "row_retention",
            Self::FeedRetention => "feed_retention",
            Self::Writer => "writer",
            Self::Metering => "metering",
        }
    }

    /// Time from `env`'s present to the next round.
    fn pause(self, env: &Env) -> Duration {
        Duration::from_secs(match self {
            Self::Metering => return env.options.meters_interval,
            // Owners are told when it will be.
            Self::RowRetention => return bounds::until_next_sweep(env.clock.now()),
            Self::Hibernation | Self::FeedRetention => 10,
            Self::Sweeper => 600,
            Self::Writer => 1,
        })
    }

    /// Time to the next round; sooner where a bound has ended the last one, or something failed in it, as
    /// it did in the `failed` rounds up to now.
    fn next_after(self, more: bool, failed: u32, env: &Env) -> Duration {
        match self {
            Self::Hibernation if more => hibernate::PAUSE,
            Self::Sweeper | Self::FeedRetention if more => tour::PAUSE,
            Self::Sweeper if failed > 0 => {
                let doubled = 2_u32.saturating_pow(failed - 1);
                tour::RETRY_PAUSE.saturating_mul(doubled).min(self.pause(env))
            }
            _ => self.pause(env),
        }
    }

    /// Time from the start to the first round: a purge that a crash cut short is finished soon.
    fn first_after(self, env: &Env) -> Duration {
        match self {
            Self::Sweeper => Duration::from_secs(5),
            _ => self.pause(env),
        }
    }
}

/// What rounds work on.
pub(crate) struct Context {
    apps: Apps,
    control: Control,
    db: Db,
    /// Cancelled when the store is broken for good.
    broken: CancellationToken,
    positions: Mutex<Positions>,
}

impl Context {
    pub(crate) fn new(apps: Apps, control: Control, db: Db, broken: CancellationToken) -> Self {
        Self { apps, control, db, broken, positions: Mutex::default() }
    }

    fn env(&self) -> &Arc<Env> {
        &self.apps.inner.env
    }

    /// Whether a long round should end early: the next start goes on.
    fn is_stopping(&self) -> bool {
        self.apps.is_stopping()
    }

    /// Has an app's actor decide on what is due there; the number of rows that it took.
    async fn ask(&self, app: AppId, op: AppOp) -> Result<u64> {
        let app = self.apps.by_id(app).await?;
        match app.apply(Caller::System, Op::App(op)).await? {
            Reply::Count(rows) => Ok(rows),
            other => Err(other.unexpected()),
        }
    }

    async fn round(&self, kind: WorkerKind) -> Result<Round> {
        let done = match kind {
            WorkerKind::Hibernation => return Ok(hibernate::round(self)),
            WorkerKind::Sweeper => return sweep::round(self).await,
            WorkerKind::FeedRetention => return retention::feeds(self).await,
            WorkerKind::RowRetention => retention::rows(self).await?,
            WorkerKind::Writer => self.mend()?,
            WorkerKind::Metering => return self.roll_up_meters().await,
        };
        Ok(Round::of(done, false))
    }

    async fn roll_up_meters(&self) -> Result<Round> {
        let done = meters::roll_up(&self.apps, &self.db, Whose::All).await?;
        let is_clean = meters::forget(&self.apps, &self.db).await?;
        Ok(Round::of(done, !is_clean))
    }

    fn mend(&self) -> Result<u64> {
        if !self.env().store.mend()? && !self.broken.is_cancelled() {
            self.broken.cancel();
        }
        Ok(0)
    }
}

/// The observable state of a worker.
#[derive(Debug, Clone)]
pub struct WorkerStatus {
    /// Which one.
    pub kind: WorkerKind,
    /// Rounds that ended, with or without success.
    pub rounds: u64,
    /// Times it crashed and was replaced.
    pub restarts: u64,
    /// When the last round ended.
    pub last_round_at: Option<Timestamp>,
    /// Things that the last round dealt with (apps, rows, events, records).
    pub last_count: u64,
    /// A bound has ended the last round: the next one comes soon.
    pub more: bool,
    /// What went wrong in the last round.
    pub last_error: Option<String>,
}

/// What a worker is told.
enum Work {
    /// Its time has come.
    Tick,
    /// Somebody has found something to do, and does not wait for its end.
    Begin,
    /// Somebody asks for a round and waits for its end.
    Now(oneshot::Sender<Result<u64>>),
    /// Panic (a test's injected fault).
    #[cfg(feature = "faults")]
    Panic,
}

/// The behaviour of all workers.
struct Worker;

#[derive(Clone)]
struct WorkerState {
    kind: WorkerKind,
    context: Arc<Context>,
    status: Arc<Mutex<WorkerStatus>>,
    /// The next tick.
    timer: Option<AbortHandle>,
    /// Rounds in a row in which something failed.
    failed: u32,
}

impl Actor for Worker {
    type Msg = Work;
    type State = WorkerState;
    type Arguments = WorkerState;

    async fn pre_start(
        &self,
        myself: ActorRef<Work>,
        state: WorkerState,
    ) -> Result<WorkerState, ActorProcessingErr> {
        let mut state = state;
        let first = state.kind.first_after(state.context.env());
        state.tick_after(first, &myself);
        Ok(state)
    }

    async fn handle(
        &self,
        myself: ActorRef<Work>,
        work: Work,
        state: &mut WorkerState,
    ) -> Result<(), ActorProcessingErr> {
        match work {
            Work::Tick => state.tick(&myself).await,
            Work::Begin => {
                state.failed = 0;
                state.tick(&myself).await;
            }
            Work::Now(done) => {
                if state.kind == WorkerKind::FeedRetention {
                    state.context.positions.lock().feeds.wake();
                }
                // Whoever asked may have left.
                let _ = done.send(state.round().await.map(|round| round.done));
            }
            #[cfg(feature = "faults")]
            Work::Panic => panic!("injected"),
        }
        Ok(())
    }
}

impl WorkerState {
    /// Does a round, and has the next one follow.
    async fn tick(&mut self, myself: &ActorRef<Work>) {
        // A failure is in the status and the log; the next round tries again.
        let last = self.round().await;
        let failed = last.as_ref().map_or(true, |round| round.failed);
        self.failed = if failed { self.failed.saturating_add(1) } else { 0 };
        let more = last.is_ok_and(|round| round.more);
        // Counted from the end of this round, so that rounds never pile up.
        let next = self.kind.next_after(more, self.failed, self.context.env());
        self.tick_after(next, myself);
    }

    /// Has the next round begin after `pause`, in place of when it would have.
    fn tick_after(&mut self, pause: Duration, myself: &ActorRef<Work>) {
        if let Some(before) = self.timer.take() {
            before.abort();
        }
        if self.context.env().options.timed_rounds {
            self.timer = Some(myself.send_after(pause, || Work::Tick).abort_handle());
        }
    }

    async fn round(&self) -> Result<Round> {
        let outcome = self.context.round(self.kind).await;
        if let Err(error) = &outcome {
            warn!(worker = ?self.kind, %error, "a round failed");
        }
        let round = outcome.as_ref().copied().unwrap_or_default();
        let mut status = self.status.lock();
        status.rounds += 1;
        status.last_round_at = Some(self.context.env().clock.now());
        (status.last_count, status.more) = (round.done, round.more);
        status.last_error = outcome.as_ref().err().map(ToString::to_string);
        outcome
    }
}

/// A worker, whichever actor does its rounds now.
struct Running {
    /// What each of its actors begins with.
    state: WorkerState,
    actor: ArcSwap<ActorRef<Work>>,
}

impl Running {
    fn is(&self, actor: ActorId) -> bool {
        self.actor.load().get_id() == actor
    }
}

/// The running workers, in the order of [`WorkerKind::ALL`].
pub struct Workers(Vec<Running>);

impl Workers {
    /// Starts all of them under `root`.
    ///
    /// # Errors
    /// When ractor cannot spawn.
    pub(crate) async fn start(context: Context, root: &ActorCell) -> Result<Self, SpawnErr> {
        let context = Arc::new(context);
        let mut workers = Vec::with_capacity(WorkerKind::ALL.len());
        for kind in WorkerKind::ALL {
            let status = WorkerStatus {
                kind,
                rounds: 0,
                restarts: 0,
                last_round_at: None,
                last_count: 0,
                more: false,
                last_error: None,
            };
            let status = Arc::new(Mutex::new(status));
            let state =
                WorkerState { kind, context: context.clone(), status, timer: None, failed: 0 };
            let actor = ArcSwap::from_pointee(spawn(&state, root).await?);
            workers.push(Running { state, actor });
        }
        Ok(Self(workers))
    }

    /// Puts a new worker in the place of the one that was `dead`.
    pub(crate) async fn replace(&self, dead: ActorId, root: &ActorCell) {
        let Some(Running { state, actor }) = self.0.iter().find(|one| one.is(dead)) else { return };
        if state.context.is_stopping() {
            return;
        }
        match spawn(state, root).await {
            Ok(new) => {
                actor.store(Arc::new(new));
                state.status.lock().restarts += 1;
                info!(worker = ?state.kind, "restarted");
            }
            Err(error) => error!(worker = ?state.kind, %error, "a worker could not be replaced"),
        }
    }

    /// Has `kind` do a round now; returns how many things it dealt with.
    ///
    /// # Errors
    /// Those of the round; `unavailable` when the worker crashed or is being stopped.
    pub async fn run(&self, kind: WorkerKind) -> Result<u64> {
        let (done, outcome) = oneshot::channel();
        // One that is gone drops the message, and with it `done`.
        let _ = self.actor(kind).send_message(Work::Now(done));
        outcome.await.unwrap_or_else(|_| Err(Error::unavailable("the worker is not running")))
    }

    /// Has `kind` begin a round now, and goes on.
    pub fn begin(&self, kind: WorkerKind) {
        let _ = self.actor(kind).send_message(Work::Begin);
    }

    /// What an operator sees of them.
    #[must_use]
    pub fn observe(&self) -> Vec<WorkerStatus> {
        self.0.iter().map(|one| one.state.status.lock().clone()).collect()
    }

    /// Which worker this actor is.
    pub(crate) fn kind_of(&self, actor: ActorId) -> Option<WorkerKind> {
        self.0.iter().find(|one| one.is(actor)).map(|one| one.state.kind)
    }

    /// Makes a worker panic.
    #[cfg(feature = "faults")]
    #[doc(hidden)]
    pub fn inject_panic(&self, kind: WorkerKind) {
        let _ = self.actor(kind).send_message(Work::Panic);
    }

    fn actor(&self, kind: WorkerKind) -> ActorRef<Work> {
        ActorRef::clone(&self.0[kind as usize].actor.load())
    }
}

async fn spawn(state: &WorkerState, root: &ActorCell) -> Result<ActorRef<Work>, SpawnErr> {
    let (actor, _) = Actor::spawn_linked(None, Worker, state.clone(), root.clone()).await?;
    Ok(actor)
}
