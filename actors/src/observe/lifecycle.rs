//! Apps coming and going: how many are in which state, why they started and stopped, and the last
//! crashes one by one.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use parking_lot::Mutex;
use rookery_domain::{Timestamp, id::AppId};

use super::histogram::{Distribution, Histogram};
use crate::supervision::policy::Verdict;

/// Crashes that are remembered one by one.
pub const CRASHES_KEPT: usize = 1_000;
/// Bytes of a crash's cause that are kept.
const CAUSE_BYTES_MAX: usize = 500;

/// The states that are counted; an app in none of them is dormant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedState {
    /// An actor runs.
    Live,
    /// An actor is being started.
    Waking,
    /// It crashed and may start again when its wait is over.
    Restarting,
    /// It crashed again and again and stays down.
    Quarantined,
}

impl CountedState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Live, Self::Waking, Self::Restarting, Self::Quarantined];

    /// Its name, as in JSON and in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Waking => "waking",
            Self::Restarting => "restarting",
            Self::Quarantined => "quarantined",
        }
    }
}

/// Why an app's actor ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// Nobody needed it, or memory was short.
    Hibernated,
    /// It crashed.
    Crashed,
    /// Another incarnation wrote, or the outcome of a commit is unknown.
    CommitLost,
    /// An operator restarted it.
    Restarted,
    /// The app was destroyed.
    Destroyed,
    /// It was ended from outside: an operator's kill, a dead shard, the shutdown.
    Ended,
}

impl StopCause {
    /// Every cause.
    pub const ALL: [Self; 6] = [
        Self::Hibernated,
        Self::Crashed,
        Self::CommitLost,
        Self::Restarted,
        Self::Destroyed,
        Self::Ended,
    ];

    /// Its name, as in JSON and in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hibernated => "hibernated",
            Self::Crashed => "crashed",
            Self::CommitLost => "commit_lost",
            Self::Restarted => "restarted",
            Self::Destroyed => "destroyed",
            Self::Ended => "ended",
        }
    }
}

/// What was decided after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashDecision {
    /// Started again at once.
    Restart,
    /// Starts again after a wait, when somebody asks.
    Backoff,
    /// Stays down.
    Quarantine,
}

impl From<Verdict> for CrashDecision {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Restart => Self::Restart,
            Verdict::Backoff(_) => Self::Backoff,
            Verdict::Quarantine => Self::Quarantine,
        }
    }
}

impl CrashDecision {
    /// Every decision.
    pub const ALL: [Self; 3] = [Self::Restart, Self::Backoff, Self::Quarantine];

    /// Its name, as in JSON and in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Restart => "restart",
            Self::Backoff => "backoff",
            Self::Quarantine => "quarantine",
        }
    }
}

/// One crash and what followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crash {
    /// Its number since the process started, from 1.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// The app; `None` for a part of the service itself.
    pub app: Option<AppId>,
    /// The app's slug, or the name of the part.
    pub subject: String,
    /// What the crash said.
    pub cause: String,
    /// What was decided.
    pub decision: CrashDecision,
    /// Crashes in the streak, this one included.
    pub crashes: u32,
}

/// Comings and goings.
#[derive(Default)]
pub(crate) struct Lifecycle {
    states: [AtomicI64; CountedState::ALL.len()],
    started: AtomicU64,
    start_failures: AtomicU64,
    stops: [AtomicU64; StopCause::ALL.len()],
    crashes: [AtomicU64; CrashDecision::ALL.len()],
    wake: Histogram,
    ring: Mutex<Ring>,
    /// Apps that are held back: restarting or quarantined.
    held: Mutex<BTreeSet<AppId>>,
}

#[derive(Default)]
struct Ring {
    number: u64,
    kept: VecDeque<Crash>,
}

/// What [`Lifecycle`] counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LifecycleTotals {
    /// Apps by [`CountedState`].
    pub states: [u64; CountedState::ALL.len()],
    /// Incarnations started.
    pub started: u64,
    /// Starts that failed.
    pub start_failures: u64,
    /// Incarnations that ended, by [`StopCause`].
    pub stops: [u64; StopCause::ALL.len()],
    /// Crashes by [`CrashDecision`].
    pub crashes: [u64; CrashDecision::ALL.len()],
    /// What starts cost.
    pub wake: Distribution,
}

impl Lifecycle {
    /// An app went from one state to another.
    pub(crate) fn moved(&self, app: AppId, from: Option<CountedState>, to: Option<CountedState>) {
        if from == to {
            return;
        }
        let held = |state: Option<CountedState>| {
            matches!(state, Some(CountedState::Restarting | CountedState::Quarantined))
        };
        if let Some(from) = from {
            self.states[from as usize].fetch_sub(1, Relaxed);
        }
        if let Some(to) = to {
            self.states[to as usize].fetch_add(1, Relaxed);
        }
        match (held(from), held(to)) {
            (false, true) => drop(self.held.lock().insert(app)),
            (true, false) => drop(self.held.lock().remove(&app)),
            _ => {}
        }
    }

    pub(crate) fn woke(&self, took: Duration) {
        self.started.fetch_add(1, Relaxed);
        self.wake.record(took);
    }

    pub(crate) fn start_failed(&self) {
        self.start_failures.fetch_add(1, Relaxed);
    }

    pub(crate) fn stopped(&self, cause: StopCause) {
        self.stops[cause as usize].fetch_add(1, Relaxed);
    }

    /// Remembers a crash.
    pub(crate) fn crashed(&self, mut crash: Crash) {
        self.crashes[crash.decision as usize].fetch_add(1, Relaxed);
        crash.cause.truncate(crash.cause.floor_char_boundary(CAUSE_BYTES_MAX));
        let mut ring = self.ring.lock();
        ring.number += 1;
        crash.number = ring.number;
        if ring.kept.len() == CRASHES_KEPT {
            ring.kept.pop_front();
        }
        ring.kept.push_back(crash);
    }

    /// The last crashes, newest first, with numbers below `before`.
    pub(crate) fn crashes(&self, before: Option<u64>, limit: usize) -> Vec<Crash> {
        let ring = self.ring.lock();
        let older = |crash: &&Crash| before.is_none_or(|before| crash.number < before);
        ring.kept.iter().rev().filter(older).take(limit).cloned().collect()
    }

    /// Apps that are held back, in the order of their ids.
    pub(crate) fn held(&self, limit: usize) -> Vec<AppId> {
        self.held.lock().iter().take(limit).copied().collect()
    }

    pub(crate) fn read(&self) -> LifecycleTotals {
        let load = |counter: &AtomicU64| counter.load(Relaxed);
        LifecycleTotals {
            states: std::array::from_fn(|i| {
                u64::try_from(self.states[i].load(Relaxed)).unwrap_or(0)
            }),
            started: load(&self.started),
            start_failures: load(&self.start_failures),
            stops: std::array::from_fn(|i| load(&self.stops[i])),
            crashes: std::array::from_fn(|i| load(&self.crashes[i])),
            wake: self.wake.read(),
        }
    }
}
