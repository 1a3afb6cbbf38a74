//! The groups that wait for one lane.
//!
//! A lane is what commits: the SQLite thread, or one of the PostgreSQL tasks. The queue outlives
//! its lane, so what waits when a lane dies is committed by its successor. The queue has no bound
//! of its own: an app has one group in flight at most, and admission to apps is bounded.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rookery_domain::id::AppId;
use tokio::sync::{Notify, oneshot, watch};

use super::{
    batch::{Batch, end},
    health::Counters,
    line::{Line, Taken},
};
use crate::commit::{Abort, Group, Outcome};

/// Why a group is aborted that its lane has not sent in time.
pub(super) const BUSY: &str = "the writer was busy for too long";

/// Whether a lane works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaneStatus {
    /// It commits.
    Running,
    /// Its thread or task ended without being told to; groups wait until it is restarted.
    Dead(String),
    /// An fsync failed; nothing is written any more.
    Broken(String),
    /// It was drained.
    Stopped,
}

/// Whether a lane has its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Link {
    /// It has not tried yet, or needs none.
    Unknown,
    /// It has.
    Up,
    /// It has not, and why.
    Down(String),
}

/// What one lane, or all of them together, have to do.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Load {
    /// Groups that wait.
    pub(super) waiting: usize,
    /// Groups that are being committed.
    pub(super) in_flight: usize,
    /// How long the oldest of these have been.
    pub(super) since: Duration,
    /// How long the oldest group that waits has.
    pub(super) oldest: Duration,
}

impl Load {
    /// That of two lanes.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            waiting: self.waiting + other.waiting,
            in_flight: self.in_flight + other.in_flight,
            since: self.since.max(other.since),
            oldest: self.oldest.max(other.oldest),
        }
    }
}

struct State {
    line: Line,
    /// The apps whose groups are being committed.
    in_flight: Vec<AppId>,
    /// Whoever waits for these groups alone.
    barriers: Vec<oneshot::Sender<()>>,
    /// When the groups in flight were taken.
    taken: Instant,
    draining: bool,
    broken: bool,
}

impl State {
    /// Why the lane goes on; `None` while it is to wait.
    fn goes_on(&self) -> Option<Waited> {
        match (self.broken, self.line.is_empty()) {
            (true, _) => Some(Waited::End),
            (false, false) => Some(Waited::Work),
            (false, true) => self.draining.then_some(Waited::End),
        }
    }
}

/// Why a lane goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    /// There is work.
    Work,
    /// There was none for so long.
    TimeUp,
    /// The lane is to end.
    End,
}

/// The queue of one lane.
pub(super) struct Queue {
    state: Mutex<State>,
    thread: Condvar,
    task: Notify,
    status: watch::Sender<LaneStatus>,
    link: watch::Sender<Link>,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                line: Line::default(),
                in_flight: Vec::new(),
                barriers: Vec::new(),
                taken: Instant::now(),
                draining: false,
                broken: false,
            }),
            thread: Condvar::new(),
            task: Notify::new(),
            status: watch::Sender::new(LaneStatus::Running),
            link: watch::Sender::new(Link::Unknown),
        }
    }

    /// Whether the lane has its connection.
    pub(super) fn link(&self) -> &watch::Sender<Link> {
        &self.link
    }

    pub(super) fn status(&self) -> &watch::Sender<LaneStatus> {
        &self.status
    }

    /// Marks a dead lane as running; `false` when it is not dead, or somebody else has.
    pub(super) fn revive(&self) -> bool {
        self.status.send_if_modified(|status| {
            let is_dead = matches!(status, LaneStatus::Dead(_));
            if is_dead {
                *status = LaneStatus::Running;
            }
            is_dead
        })
    }

    /// What it has to do.
    pub(super) fn load(&self) -> Load {
        let state = self.state.lock();
        let in_flight = state.in_flight.len();
        let since = if in_flight > 0 { state.taken.elapsed() } else { Duration::ZERO };
        let oldest = state.line.oldest().map_or(Duration::ZERO, |submitted| submitted.elapsed());
        Load { waiting: state.line.groups(), in_flight, since, oldest }
    }

    /// Never blocks. A group that cannot be accepted is resolved here.
    pub(super) fn submit(&self, counters: &Counters, group: Group) {
        let bytes = group.writes.weight();
        let mut state = self.state.lock();
        let refusal = if state.broken {
            Some(Outcome::StoreBroken)
        } else if state.draining {
            Some(Outcome::Aborted(Abort::Refused("the writer is stopping".into())))
        } else {
            None
        };
        if let Some(outcome) = refusal {
            drop(state);
            end(counters, group, outcome);
            return;
        }
        state.line.push(group, bytes);
        drop(state);
        self.wake();
    }

    /// Answers when every group of `app` that was submitted before is resolved; `None`: they all have.
    pub(super) fn barrier(&self, app: AppId) -> Option<oneshot::Receiver<()>> {
        let mut state = self.state.lock();
        let (sender, receiver) = oneshot::channel();
        if state.line.has(app) {
            state.line.push_barrier(app, sender);
        } else if state.in_flight.contains(&app) {
            state.barriers.push(sender);
        } else {
            return None;
        }
        Some(receiver)
    }

    /// Accepts no more groups; the lane ends when it has committed what waits.
    pub(super) fn drain(&self) {
        self.state.lock().draining = true;
        self.wake();
    }

    /// Accepts and commits no more groups: resolves all that wait.
    pub(super) fn break_store(&self, counters: &Counters, reason: &str) {
        let mut state = self.state.lock();
        state.broken = true;
        let line = std::mem::take(&mut state.line);
        drop(state);
        self.status.send_replace(LaneStatus::Broken(reason.to_owned()));
        self.wake();
        end_all(counters, line, &Outcome::StoreBroken);
    }

    /// Settles what waits for a lane that will not come back.
    pub(super) fn abandon(&self, counters: &Counters) {
        let line = std::mem::take(&mut self.state.lock().line);
        let outcome = Outcome::Aborted(Abort::Refused("the writer has stopped".into()));
        end_all(counters, line, &outcome);
    }

    fn wake(&self) {
        self.thread.notify_one();
        self.task.notify_one();
    }

    /// Blocks this thread until there is work, or the time is up.
    pub(super) fn wait_on_thread(&self, at_most: Duration) -> Waited {
        let until = Instant::now() + at_most;
        let mut state = self.state.lock();
        loop {
            match state.goes_on() {
                Some(waited) => return waited,
                None if self.thread.wait_until(&mut state, until).timed_out() => {
                    return Waited::TimeUp;
                }
                None => {}
            }
        }
    }

    /// Waits until there is work; `false` when the lane is to end.
    pub(super) async fn wait_in_task(&self) -> bool {
        loop {
            // A wake between the look and the wait is kept for it.
            let woken = self.task.notified();
            if let Some(waited) = self.state.lock().goes_on() {
                return waited == Waited::Work;
            }
            woken.await;
        }
    }

    /// Takes those of the [`Line`] who are next. A group that has waited for longer than `wait_max` is
    /// aborted.
    pub(super) fn take<'q>(&'q self, counters: &'q Counters, wait_max: Duration) -> Batch<'q> {
        let now = Instant::now();
        let mut state = self.state.lock();
        let Taken { entries, stale, barriers } = state.line.take(now, wait_max);
        state.in_flight.extend(entries.iter().map(|entry| entry.group.app));
        state.taken = now;
        drop(state);
        for group in stale {
            end(counters, group, Outcome::Aborted(Abort::Refused(BUSY.into())));
        }
        Batch::new(self, counters, entries, barriers)
    }

    /// The batch that was taken is resolved; those who waited for its groups alone.
    pub(super) fn batch_ended(&self) -> Vec<oneshot::Sender<()>> {
        let mut state = self.state.lock();
        state.in_flight.clear();
        std::mem::take(&mut state.barriers)
    }
}

fn end_all(counters: &Counters, line: Line, outcome: &Outcome) {
    let Taken { entries, barriers, .. } = line.into_all();
    for entry in entries {
        end(counters, entry.group, outcome.clone());
    }
    for barrier in barriers {
        // Nobody may wait any more.
        let _ = barrier.send(());
    }
}
