//! The place of one app: whether an actor runs for it, is being started, or must not be.
//!
//! The slot is the single-activation lock: at most one incarnation of an app is ever live in this
//! process (the commit fence holds the same across processes). Waking is single-flight. What is
//! not here: how an incarnation is loaded (`wake`), and what it does (`app`).

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use ractor::ActorRef;
use rookery_domain::{Error, Result, Timestamp, app::AppRecord, id::AppId};
use tokio::{
    sync::{Mutex as AsyncMutex, Notify, Semaphore},
    time::{Instant, timeout},
};

use super::{
    counting::Weights,
    history::History,
    stage::{SlotState, Stage},
    use_clock::UseClock,
};
use crate::{
    accounts::{CountedRows, DormantRows},
    app::{message::Message, root::Root},
    feed::hub::Hub,
    meters::Usage,
    observe::{
        Observer,
        activity::Activity,
        lifecycle::{Crash, StopCause},
    },
    supervision::policy::{CrashStreak, Verdict},
};

/// How long an incarnation may take to leave that takes no more requests, or was told to go.
const LEAVE_MAX: Duration = Duration::from_secs(5);

/// A running incarnation of an app.
pub(crate) struct Live {
    pub(crate) incarnation: u64,
    pub(crate) actor: ActorRef<Message>,
    /// What its actor published last.
    pub(crate) root: Arc<ArcSwap<Root>>,
    /// Its rows in its account.
    pub(crate) counted: Arc<CountedRows>,
}

/// The start of an incarnation, awaited by everybody who asked for the app meanwhile.
pub(crate) type Waking = Shared<BoxFuture<'static, Result<Arc<Live>>>>;

/// The place of one app in the registry.
pub(crate) struct Slot {
    pub(crate) id: AppId,
    pub(crate) record: ArcSwap<AppRecord>,
    pub(crate) hub: Arc<Hub>,
    /// What operators see of it.
    pub(crate) activity: Activity,
    pub(super) observer: Arc<Observer>,
    started: Instant,
    /// One permit for each message queued or uncommitted; none for those that wait to be decided beside the
    /// event loop.
    pub(crate) mailbox: Arc<Semaphore>,
    mailbox_limit: usize,
    /// What all messages weigh that are on their way to it, those that wait included.
    pub(super) weights: Weights,
    pub(crate) usage: Usage,
    live: ArcSwapOption<Live>,
    stage: Mutex<Stage>,
    crashes: Mutex<CrashStreak>,
    /// Notified when an incarnation has left.
    left: Notify,
    /// Held while a version is prepared and decided: deploys of one app follow each other.
    pub(crate) deploying: AsyncMutex<()>,
    pub(crate) clock: UseClock,
    pub(crate) history: History,
    /// The incarnation that has a group with the writer, or had one when it ended: storage may be
    /// newer than `record`. 0 for none.
    commit_of: AtomicU64,
    /// The account and how many rows it counts of this app while it is dormant. `None` before the
    /// first incarnation: then the account counts what storage holds.
    dormant_rows: Mutex<Option<DormantRows>>,
}

impl Slot {
    /// The place of the app with this record. `started` is when the process started.
    pub(crate) fn new(
        record: Arc<AppRecord>,
        mailbox_limit: usize,
        observer: Arc<Observer>,
        started: Instant,
    ) -> Self {
        Self {
            id: record.id,
            record: ArcSwap::new(record),
            hub: Arc::default(),
            activity: Activity::default(),
            observer,
            started,
            mailbox: Arc::new(Semaphore::new(mailbox_limit)),
            mailbox_limit,
            weights: Weights::default(),
            usage: Usage::default(),
            live: ArcSwapOption::empty(),
            deploying: AsyncMutex::new(()),
            stage: Mutex::new(Stage::Dormant),
            crashes: Mutex::default(),
            left: Notify::new(),
            clock: UseClock::default(),
            history: History::default(),
            commit_of: AtomicU64::new(0),
            dormant_rows: Mutex::default(),
        }
    }

    /// The running incarnation, if there is one now.
    pub(crate) fn live(&self) -> Option<Arc<Live>> {
        self.live.load_full()
    }

    /// The published root of the running incarnation, if there is one now.
    pub(crate) fn root(&self) -> Option<Arc<Root>> {
        self.live.load().as_ref().map(|live| live.root.load_full())
    }

    /// The running incarnation, started by `start` if there is none. Everybody who asks while it
    /// starts waits for the same start.
    ///
    /// # Errors
    /// `unavailable` while the app backs off, is quarantined or cannot be loaded;
    /// `app_not_found` once it is gone.
    pub(crate) async fn wake(&self, start: impl FnOnce() -> Waking) -> Result<Arc<Live>> {
        if let Some(live) = self.live() {
            return Ok(live);
        }
        let waking = {
            let mut stage = self.stage.lock();
            match &*stage {
                // It came up between the look and the lock.
                Stage::Live if let Some(live) = self.live() => return Ok(live),
                Stage::Waking(waking) => waking.clone(),
                Stage::Gone => return Err(Error::app_not_found()),
                Stage::Quarantined(_) => return Err(quarantined()),
                Stage::BackingOff(until) if *until > Instant::now() => {
                    return Err(backing_off(*until));
                }
                Stage::Dormant | Stage::BackingOff(_) | Stage::Live => {
                    let waking = start();
                    self.enter(&mut stage, Stage::Waking(waking.clone()));
                    waking
                }
            }
        };
        waking.await
    }

    /// An incarnation is ready. False when the app was destroyed while it started: it must stop.
    pub(crate) fn woke(&self, live: Arc<Live>) -> bool {
        let mut stage = self.stage.lock();
        if matches!(*stage, Stage::Gone) {
            return false;
        }
        self.enter(&mut stage, Stage::Live);
        self.observer.published(self.id, None, Some(&live.root.load()));
        self.live.store(Some(live));
        drop(stage);
        // What an earlier incarnation left with the writer may have been published by this load.
        self.hub.wake();
        true
    }

    /// A start failed without a crash (storage did not answer): the next request tries again.
    pub(crate) fn start_failed(&self) {
        let mut stage = self.stage.lock();
        if matches!(*stage, Stage::Waking(_)) {
            self.enter(&mut stage, Stage::Dormant);
        }
    }

    /// A start crashed, which counts like every crash.
    pub(crate) fn start_crashed(&self, cause: &str, at: Timestamp) {
        let mut stage = self.stage.lock();
        if matches!(*stage, Stage::Waking(_)) {
            let (after, verdict) = self.verdict(cause);
            self.enter(&mut stage, after);
            drop(stage);
            self.tell_crash(cause, verdict, at);
        }
    }

    /// Changes the state, and tells the observer.
    fn enter(&self, stage: &mut Stage, next: Stage) {
        let (from, to) = (stage.counted(), next.counted());
        *stage = next;
        self.activity.since_ms.store(self.started.elapsed().as_millis() as u64, Ordering::Relaxed);
        self.observer.moved(self, from, to);
    }

    /// Counts a crash: what becomes of the app.
    fn verdict(&self, cause: &str) -> (Stage, Verdict) {
        let since_start = self.started.elapsed();
        // Restarts of apps that crashed together are spread by the noise of the clock.
        let jitter = f64::from(since_start.subsec_nanos() % 1_000) / 1_000.0;
        let verdict = self.crashes.lock().crashed(since_start, jitter);
        let stage = match verdict {
            Verdict::Restart => Stage::Dormant,
            Verdict::Backoff(wait) => Stage::BackingOff(Instant::now() + wait),
            Verdict::Quarantine => Stage::Quarantined(cause.to_owned()),
        };
        (stage, verdict)
    }

    /// Has a crash remembered for operators.
    fn tell_crash(&self, cause: &str, verdict: Verdict, at: Timestamp) {
        self.observer.lifecycle.crashed(Crash {
            number: 0,
            at,
            app: Some(self.id),
            subject: self.record.load().slug.to_string(),
            cause: cause.to_owned(),
            decision: verdict.into(),
            crashes: self.crashes(),
        });
    }

    /// The incarnation leaves in order (idle, unknown outcome, shutdown). Nothing it still has
    /// queued will be begun.
    pub(crate) fn retire(&self, incarnation: u64, cause: StopCause) {
        let mut stage = self.stage.lock();
        if let Some(live) = self.live().filter(|live| live.incarnation == incarnation) {
            self.enter(&mut stage, Stage::Dormant);
            self.release(&live);
            self.observer.stopped(cause);
            drop(stage);
            self.left.notify_waiters();
        }
    }

    /// The incarnation crashed. Returns what is to happen, or `None` when it had left already.
    pub(crate) fn crashed(&self, incarnation: u64, cause: &str, at: Timestamp) -> Option<Verdict> {
        let mut stage = self.stage.lock();
        let live = self.live().filter(|live| live.incarnation == incarnation)?;
        let (after, verdict) = self.verdict(cause);
        self.enter(&mut stage, after);
        self.release(&live);
        self.observer.stopped(StopCause::Crashed);
        drop(stage);
        self.left.notify_waiters();
        self.tell_crash(cause, verdict, at);
        Some(verdict)
    }

    /// Lifts a quarantine or a wait; the streak starts anew. False when there was none.
    pub(crate) fn lift(&self) -> bool {
        let mut stage = self.stage.lock();
        let held = matches!(*stage, Stage::Quarantined(_) | Stage::BackingOff(_));
        if held {
            self.enter(&mut stage, Stage::Dormant);
            *self.crashes.lock() = CrashStreak::default();
        }
        held
    }

    /// The app is destroyed: nothing wakes it any more.
    pub(crate) fn destroy(&self) {
        let mut stage = self.stage.lock();
        self.enter(&mut stage, Stage::Gone);
        let live = self.live.swap(None);
        if let Some(live) = &live {
            self.observer.published(self.id, Some(&live.root.load()), None);
            self.observer.stopped(StopCause::Destroyed);
        }
        let closed = live.and_then(|live| live.counted.close(0));
        let dormant = self.dormant_rows.lock().take();
        if let (None, Some(dormant)) = (closed, dormant) {
            dormant.account.add(-dormant.rows);
        }
        drop(stage);
        self.left.notify_waiters();
        self.hub.wake();
    }

    /// Lets an incarnation go: what it reserved and never published is given back.
    fn release(&self, live: &Live) {
        self.live.store(None);
        let root = live.root.load();
        self.observer.published(self.id, Some(&root), None);
        let rows = root.counted_rows() as i64;
        if let Some(dormant) = live.counted.close(rows) {
            self.set_dormant_rows(dormant);
        }
    }

    /// What is counted of this app since its last incarnation.
    pub(crate) fn dormant_rows(&self) -> Option<DormantRows> {
        self.dormant_rows.lock().clone()
    }

    /// Notes which account counts how many rows of this app.
    pub(crate) fn set_dormant_rows(&self, rows: DormantRows) {
        *self.dormant_rows.lock() = Some(rows);
    }

    /// Notes that a group of this incarnation is with the writer.
    pub(crate) fn commit_began(&self, incarnation: u64) {
        self.commit_of.store(incarnation, Ordering::Release);
    }

    /// Notes that the outcome of the last group is known.
    pub(crate) fn commit_ended(&self) {
        self.commit_of.store(0, Ordering::Release);
    }

    /// The running incarnation, if a group of it is with the writer.
    pub(crate) fn committing(&self) -> Option<u64> {
        let live = self.live.load();
        live.as_ref()
            .filter(|_| self.commit_of.load(Ordering::Acquire) != 0)
            .map(|it| it.incarnation)
    }

    /// The incarnation whose last commit has an unknown outcome: until that is known, `record` may be
    /// older than storage.
    pub(crate) fn unresolved_commit(&self) -> Option<u64> {
        let incarnation = self.commit_of.load(Ordering::Acquire);
        (incarnation != 0 && self.live.load().is_none()).then_some(incarnation)
    }

    /// Takes the record that storage holds after `incarnation`, whose last commit had an unknown
    /// outcome. An incarnation that has started meanwhile knows better; one that is starting loads
    /// the same.
    pub(crate) fn refresh_record(&self, incarnation: u64, record: AppRecord) {
        let stage = self.stage.lock();
        if !matches!(*stage, Stage::Gone) && self.unresolved_commit() == Some(incarnation) {
            self.record.store(Arc::new(record));
            self.commit_ended();
        }
    }

    /// Messages queued or uncommitted: permits in use.
    pub(crate) fn queued(&self) -> usize {
        self.mailbox_limit.saturating_sub(self.mailbox.available_permits())
    }

    /// Crashes in the present streak.
    pub(crate) fn crashes(&self) -> u32 {
        self.crashes.lock().crashes(self.started.elapsed())
    }

    /// Whether somebody is on the way to the app, waits in it, or follows it: it does not hibernate
    /// then.
    pub(crate) fn is_needed(&self) -> bool {
        !self.weights.is_empty() || self.hub.present() > 0
    }

    /// Asks the running incarnation, if there is one, to stop if nothing is pending.
    pub(crate) fn hibernate(&self) {
        if let Some(live) = self.live() {
            // One that is leaving already needs no asking.
            let _ = live.actor.send_message(Message::Hibernate);
        }
    }

    /// Returns once `incarnation` is not the running one any more.
    pub(crate) async fn incarnation_left(&self, incarnation: u64) {
        loop {
            let left = self.left.notified();
            if self.live.load().as_ref().is_none_or(|live| live.incarnation != incarnation) {
                return;
            }
            left.await;
        }
    }

    /// Whether `incarnation` leaves within the time that one has for it.
    pub(crate) async fn leaves(&self, incarnation: u64) -> bool {
        timeout(LEAVE_MAX, self.incarnation_left(incarnation)).await.is_ok()
    }

    /// Ends a wait after crashes once their streak has ended by itself, where nobody asked for the app
    /// meanwhile: it is dormant then.
    pub(super) fn end_backoff(&self) {
        let mut stage = self.stage.lock();
        if matches!(*stage, Stage::BackingOff(_)) && self.crashes() == 0 {
            self.enter(&mut stage, Stage::Dormant);
        }
    }

    /// Whether nothing is known of the app here that storage does not hold: nobody asked for it within
    /// `idle`, and it is gone, or dormant and did not crash lately.
    pub(super) fn is_forgettable(&self, idle: Duration) -> bool {
        let is_quiet = || self.unresolved_commit().is_none() && self.crashes() == 0;
        self.clock.idle_for(self.started.elapsed()) >= idle
            && match *self.stage.lock() {
                Stage::Gone => true,
                Stage::Dormant => is_quiet(),
                _ => false,
            }
    }

    /// Whether it is destroyed.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(*self.stage.lock(), Stage::Gone)
    }

    /// What an operator sees.
    pub(crate) fn state(&self) -> SlotState {
        match &*self.stage.lock() {
            Stage::Dormant => SlotState::Dormant,
            Stage::Waking(_) => SlotState::Waking,
            Stage::Live => SlotState::Live,
            Stage::BackingOff(until) => {
                SlotState::BackingOff(until.saturating_duration_since(Instant::now()))
            }
            Stage::Quarantined(cause) => SlotState::Quarantined { cause: cause.clone() },
            Stage::Gone => SlotState::Gone,
        }
    }
}

#[cold]
fn quarantined() -> Error {
    Error::unavailable("this app keeps crashing and was taken out of service")
}

#[cold]
fn backing_off(until: Instant) -> Error {
    let wait = until.saturating_duration_since(Instant::now()).as_secs() + 1;
    Error::unavailable("this app crashed and restarts shortly")
        .with_details(serde_json::json!({"retry_after_s": wait}))
}
