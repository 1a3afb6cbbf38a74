//! What one app's slot counts since the last tick, and, while an operator looks at the app, what
//! is seen of it message by message.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use rookery_domain::Timestamp;
use tokio::time::Instant;

use super::{
    counters::{MessageKind, MessageOutcome},
    histogram::{Distribution, Histogram, micros},
};

/// Messages of a watched app that are remembered one by one.
const RECENT_MAX: usize = 50;
/// Seconds of a watched app's charts.
const SECONDS_MAX: usize = 60;
/// Seconds after which an app that nobody looks at is not watched any more.
pub(crate) const WATCH_S: u64 = 30;

/// The counters of one app. They are taken every second by whoever lists the app as active.
#[derive(Default)]
pub(crate) struct Activity {
    messages: AtomicU64,
    errors: AtomicU64,
    wait_us: AtomicU64,
    bytes: AtomicU64,
    listed: AtomicBool,
    /// Milliseconds since process start at which the slot's state changed.
    pub(crate) since_ms: AtomicU64,
    /// What the last wake cost.
    pub(crate) wake_us: AtomicU64,
    /// When it was, in microseconds since 1970; 0 for never.
    pub(crate) woke_at: AtomicI64,
    pub(crate) watch: ArcSwapOption<Watch>,
}

/// What an app did since the last tick.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Taken {
    pub(crate) messages: u64,
    pub(crate) errors: u64,
    pub(crate) wait_us: u64,
    pub(crate) bytes: u64,
}

impl Activity {
    /// Counts an ended message. True when the app is to be listed as active: once per tick.
    pub(crate) fn ended(&self, outcome: MessageOutcome, bytes: usize) -> bool {
        self.messages.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
        if outcome.is_error() {
            self.errors.fetch_add(1, Relaxed);
        }
        // Read before writing: nearly every message finds the app listed.
        !self.listed.load(Relaxed) && !self.listed.swap(true, Relaxed)
    }

    pub(crate) fn handled(&self, waited: Duration, took: Duration) {
        self.wait_us.fetch_add(micros(waited), Relaxed);
        if let Some(watch) = &*self.watch.load() {
            watch.wait.record(waited);
            watch.handle.record(took);
        }
    }

    /// When somebody last looked at the app, in seconds since process start; `None` while it is not
    /// watched.
    pub(crate) fn asked_at_s(&self) -> Option<u64> {
        self.watch.load().as_ref().map(|watch| watch.asked_at_s.load(Relaxed))
    }

    /// Not listed after all: there was no room.
    pub(crate) fn unlist(&self) {
        self.listed.store(false, Relaxed);
    }

    /// What was counted since the last call; the app may be listed again.
    pub(crate) fn take(&self) -> Taken {
        self.listed.store(false, Relaxed);
        Taken {
            messages: self.messages.swap(0, Relaxed),
            errors: self.errors.swap(0, Relaxed),
            wait_us: self.wait_us.swap(0, Relaxed),
            bytes: self.bytes.swap(0, Relaxed),
        }
    }
}

/// A message of a watched app, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenMessage {
    /// When its answer was there.
    pub at: Timestamp,
    /// What it asked.
    pub kind: MessageKind,
    /// How it ended.
    pub outcome: MessageOutcome,
    /// From being asked to being answered, in microseconds.
    pub took_us: u64,
}

/// One second of a watched app.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WatchedSecond {
    /// Messages that ended.
    pub messages: u64,
    /// Of these, errors.
    pub errors: u64,
    /// 99th percentile of the mailbox wait, in microseconds.
    pub wait_p99_us: u64,
    /// Most messages queued or uncommitted at a message's end.
    pub queued_max: u64,
}

/// Kept of an app while somebody looks at it.
pub(crate) struct Watch {
    since: Instant,
    /// When each message that has not left the app entered it, by a number of its own. No more than
    /// the mailbox takes.
    waiting: Mutex<Waiting>,
    wait: Histogram,
    handle: Histogram,
    messages: AtomicU64,
    errors: AtomicU64,
    queued_max: AtomicU64,
    asked_at_s: AtomicU64,
    recent: Mutex<VecDeque<SeenMessage>>,
    seconds: Mutex<Seconds>,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    entered: BTreeMap<u64, Instant>,
}

#[derive(Default)]
struct Seconds {
    kept: VecDeque<WatchedSecond>,
    messages: u64,
    errors: u64,
    wait: Distribution,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            waiting: Mutex::default(),
            wait: Histogram::default(),
            handle: Histogram::default(),
            messages: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            queued_max: AtomicU64::new(0),
            asked_at_s: AtomicU64::new(0),
            recent: Mutex::default(),
            seconds: Mutex::default(),
        }
    }
}

impl Watch {
    /// A message entered the app's queue; the number by which it leaves.
    pub(crate) fn entered(&self) -> u64 {
        let mut waiting = self.waiting.lock();
        waiting.next += 1;
        let number = waiting.next;
        waiting.entered.insert(number, Instant::now());
        number
    }

    /// The message with this number left the app.
    pub(crate) fn left(&self, number: u64) {
        self.waiting.lock().entered.remove(&number);
    }

    /// How long the oldest of `queued` messages has been with the app. Of one that was there before
    /// anybody looked, only the time since then is known.
    pub(crate) fn oldest_wait(&self, queued: usize) -> Option<Duration> {
        let waiting = self.waiting.lock();
        let first = waiting.entered.first_key_value().map(|(_, at)| *at);
        let unseen = (queued > waiting.entered.len()).then_some(self.since);
        unseen.or(first).map(|at| at.elapsed())
    }

    /// Somebody looks now, `now_s` after process start.
    pub(crate) fn asked(&self, now_s: u64) {
        self.asked_at_s.store(now_s, Relaxed);
    }

    /// Whether nobody has looked for a while.
    pub(crate) fn is_over(&self, now_s: u64) -> bool {
        now_s.saturating_sub(self.asked_at_s.load(Relaxed)) > WATCH_S
    }

    pub(crate) fn ended(&self, message: SeenMessage, queued: usize) {
        self.messages.fetch_add(1, Relaxed);
        if message.outcome.is_error() {
            self.errors.fetch_add(1, Relaxed);
        }
        self.queued_max.fetch_max(queued as u64, Relaxed);
        let mut recent = self.recent.lock();
        if recent.len() == RECENT_MAX {
            recent.pop_front();
        }
        recent.push_back(message);
    }

    /// Ends a second.
    pub(crate) fn tick(&self) {
        let wait = self.wait.read();
        let (messages, errors) = (self.messages.load(Relaxed), self.errors.load(Relaxed));
        let mut seconds = self.seconds.lock();
        let second = WatchedSecond {
            messages: messages - seconds.messages,
            errors: errors.saturating_sub(seconds.errors),
            wait_p99_us: wait.since(&seconds.wait).quantile_us(0.99).unwrap_or(0),
            queued_max: self.queued_max.swap(0, Relaxed),
        };
        (seconds.messages, seconds.errors, seconds.wait) = (messages, errors, wait);
        if seconds.kept.len() == SECONDS_MAX {
            seconds.kept.pop_front();
        }
        seconds.kept.push_back(second);
    }

    pub(crate) fn read(&self) -> Watched {
        Watched {
            wait: self.wait.read(),
            handle: self.handle.read(),
            seconds: self.seconds.lock().kept.iter().copied().collect(),
            recent: self.recent.lock().iter().rev().cloned().collect(),
        }
    }
}

/// What is seen of an app since somebody looks at it.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    /// From being sent to being begun.
    pub wait: Distribution,
    /// From being begun to being decided.
    pub handle: Distribution,
    /// The last seconds, oldest first, at most 60.
    pub seconds: Vec<WatchedSecond>,
    /// The last messages, newest first, at most 50.
    pub recent: Vec<SeenMessage>,
}

/// The watch of a slot, set up if there is none.
pub(crate) fn watch_of(activity: &Activity) -> (Arc<Watch>, bool) {
    if let Some(watch) = activity.watch.load_full() {
        return (watch, false);
    }
    let watch = Arc::<Watch>::default();
    let before = activity.watch.compare_and_swap(&None::<Arc<Watch>>, Some(watch.clone()));
    match &*before {
        Some(first) => (first.clone(), false),
        None => (watch, true),
    }
}
