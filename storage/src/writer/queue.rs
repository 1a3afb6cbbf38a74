//! The groups that wait for one lane.
//!
//! A lane is what commits: the SQLite thread, or one of the PostgreSQL tasks. The queue outlives
//! its lane, so what waits when a lane dies is committed by its successor. The queue has no bound
//! of its own: an app has one group in flight at most, and admission to apps is bounded.

use std::{
    collections::{HashSet, VecDeque},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use tokio::sync::{Notify, oneshot, watch};

use super::{
    BATCH_BYTES_MAX, BATCH_GROUPS_MAX,
    batch::{Batch, Entry, end},
    health::Counters,
};
use crate::commit::{Abort, Group, Outcome};

#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are groups, and a box would cost each of them an allocation"
)]
enum Job {
    /// A group, and since when it waits.
    Group(Group, Instant),
    Barrier(oneshot::Sender<()>),
}

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
}

impl Load {
    /// That of two lanes.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            waiting: self.waiting + other.waiting,
            in_flight: self.in_flight + other.in_flight,
            since: self.since.max(other.since),
        }
    }
}

struct State {
    jobs: VecDeque<Job>,
    waiting: usize,
    in_flight: usize,
    /// When the groups in flight were taken.
    taken: Instant,
    draining: bool,
    broken: bool,
}

impl State {
    /// Why the lane goes on; `None` while it is to wait.
    fn goes_on(&self) -> Option<Waited> {
        match (self.broken, self.jobs.is_empty()) {
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
                jobs: VecDeque::new(),
                waiting: 0,
                in_flight: 0,
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
        let since = if state.in_flight > 0 { state.taken.elapsed() } else { Duration::ZERO };
        Load { waiting: state.waiting, in_flight: state.in_flight, since }
    }

    /// Never blocks. A group that cannot be accepted is resolved here.
    pub(super) fn submit(&self, counters: &Counters, group: Group) {
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
        state.waiting += 1;
        state.jobs.push_back(Job::Group(group, Instant::now()));
        drop(state);
        self.wake();
    }

    /// Answers when every group submitted before is resolved; `None`: they all have.
    pub(super) fn barrier(&self) -> Option<oneshot::Receiver<()>> {
        let mut state = self.state.lock();
        if state.waiting == 0 && state.in_flight == 0 {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        state.jobs.push_back(Job::Barrier(sender));
        drop(state);
        self.wake();
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
        state.waiting = 0;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        self.status.send_replace(LaneStatus::Broken(reason.to_owned()));
        self.wake();
        end_jobs(counters, jobs, &Outcome::StoreBroken);
    }

    /// Settles what waits for a lane that will not come back.
    pub(super) fn abandon(&self, counters: &Counters) {
        let mut state = self.state.lock();
        state.waiting = 0;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        let outcome = Outcome::Aborted(Abort::Refused("the writer has stopped".into()));
        end_jobs(counters, jobs, &outcome);
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

    /// Takes all that waits, up to the bounds of a batch, in order. Two groups of one app never
    /// share a batch: in one PostgreSQL statement neither would see the other's head. A group that has
    /// waited for longer than `wait_max` is aborted.
    pub(super) fn take<'q>(&'q self, counters: &'q Counters, wait_max: Duration) -> Batch<'q> {
        let now = Instant::now();
        let (mut groups, mut stale) = (Vec::new(), Vec::new());
        let mut barriers = Vec::new();
        let mut apps = HashSet::new();
        let mut bytes = 0;
        let mut state = self.state.lock();
        while groups.len() < BATCH_GROUPS_MAX && bytes < BATCH_BYTES_MAX {
            match state.jobs.front() {
                Some(Job::Group(group, _)) if !apps.insert(group.app) => break,
                Some(_) => {}
                None => break,
            }
            match state.jobs.pop_front() {
                Some(Job::Group(group, since)) if now.duration_since(since) > wait_max => {
                    stale.push(group);
                }
                Some(Job::Group(group, submitted)) => {
                    bytes += group.writes.weight();
                    groups.push(Entry { group, submitted, outcome: None });
                }
                Some(Job::Barrier(barrier)) => barriers.push(barrier),
                None => break,
            }
        }
        state.waiting -= groups.len() + stale.len();
        state.in_flight = groups.len();
        state.taken = now;
        drop(state);
        for group in stale {
            end(counters, group, Outcome::Aborted(Abort::Refused(BUSY.into())));
        }
        Batch::new(self, counters, groups, barriers)
    }

    /// The batch that was taken is resolved.
    pub(super) fn batch_ended(&self) {
        self.state.lock().in_flight = 0;
    }
}

fn end_jobs(counters: &Counters, jobs: VecDeque<Job>, outcome: &Outcome) {
    for job in jobs {
        match job {
            Job::Group(group, _) => end(counters, group, outcome.clone()),
            Job::Barrier(barrier) => drop(barrier.send(())),
        }
    }
}
