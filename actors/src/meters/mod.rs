//! Meters: counting in memory what apps are used for, and rolling it up to storage.
//!
//! Counting a request is an atomic addition in the app's slot: no lock, no allocation, nothing
//! woken. A page view tells more (from where, by whom), so it takes the app's own short lock. What
//! was counted leaves memory in batches: when the worker's interval is over, when somebody asks for
//! a report, and at shutdown. A crash loses what was counted since the last time. An app that
//! hibernates keeps its slot, so it loses nothing.
//!
//! Bounded: an app's pending views by [`VIEWS_MAX`] places and [`VISITS_MAX`] visitors (beyond them
//! views still count, at "other" and without a visitor), its pending hours by [`HOURS_MAX`].

mod report;
mod roll_up;
mod salt;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering},
};

use parking_lot::Mutex;
use rookery_domain::{
    Timestamp,
    id::{AppId, HumanId},
    meters::{Flow, Flows, hour_of, visit::OTHER},
};
use rookery_storage::meters::roll_up::{Source, Tally, Views, Visit};
use rustc_hash::FxHashMap;

use self::salt::DaySalt;
use crate::registry::{AppHandle, slot::Slot};

pub(crate) use report::REPORT_PERMITS;
pub use report::{AccountMeters, Analytics};
pub(crate) use roll_up::{Whose, forget, roll_up};

/// Places that views of one app may come from between two roll-ups.
const VIEWS_MAX: usize = 2_000;
/// Visitors of one app that are told apart between two roll-ups.
const VISITS_MAX: usize = 10_000;
/// Hours of one app that wait for a roll-up.
const HOURS_MAX: usize = 48;

/// The meters of one app, in its slot.
#[derive(Default)]
pub(crate) struct Usage {
    /// The hour that the four counts below are of.
    hour: AtomicI32,
    requests: AtomicU64,
    row_writes: AtomicU64,
    feed_polls: AtomicU64,
    bytes_out: AtomicU64,
    /// Whether the app is on the collector's list.
    listed: AtomicBool,
    pending: Mutex<Pending>,
}

/// What was counted and waits for a roll-up.
#[derive(Default)]
pub(crate) struct Pending {
    hours: Vec<(i32, Flows)>,
    views: FxHashMap<(i32, Source), u64>,
    visits: FxHashMap<(i32, u64), Source>,
}

/// What a page view asks of whoever counted it.
pub(crate) struct Noted {
    /// The app has to be put on the collector's list.
    pub(crate) first: bool,
    /// A roll-up should not wait.
    pub(crate) full: bool,
}

impl Usage {
    /// Adds to a flow of `hour`. True when the app has to be put on the collector's list.
    ///
    /// An addition that meets the turn of an hour may count for the neighbouring one, but is never
    /// lost. Counts and the list's mark are sequentially consistent, which costs an addition
    /// nothing on common machines: either a roll-up takes the addition, or the addition sees that
    /// the app is not listed any more.
    pub(crate) fn add(&self, hour: i32, flow: Flow, count: u64) -> bool {
        if self.hour.load(Ordering::Relaxed) != hour {
            self.turn(hour);
        }
        let meter = match flow {
            Flow::Requests => &self.requests,
            Flow::RowWrites => &self.row_writes,
            Flow::FeedPolls => &self.feed_polls,
            Flow::BytesOut => &self.bytes_out,
        };
        meter.fetch_add(count, Ordering::SeqCst);
        self.list()
    }

    /// Counts a page view; `visitor` is the day's hash of who looked.
    pub(crate) fn view(&self, hour: i32, visitor: Option<u64>, source: Source) -> Noted {
        let mut pending = self.pending.lock();
        if pending.view((hour, source.clone()), 1)
            && let Some(visitor) = visitor
        {
            pending.visit((hour, visitor), source);
        }
        let full = pending.views.len() >= VIEWS_MAX || pending.visits.len() >= VISITS_MAX;
        drop(pending);
        Noted { first: self.list(), full }
    }

    fn list(&self) -> bool {
        !self.listed.load(Ordering::SeqCst) && !self.listed.swap(true, Ordering::SeqCst)
    }

    /// Sets what was counted aside with its hour, and begins the next hour.
    #[cold]
    fn turn(&self, hour: i32) {
        let mut pending = self.pending.lock();
        let ended = self.hour.swap(hour, Ordering::Relaxed);
        let flows = self.counted();
        pending.put(ended, flows);
    }

    fn counted(&self) -> Flows {
        let take = |meter: &AtomicU64| meter.swap(0, Ordering::SeqCst);
        Flows {
            requests: take(&self.requests),
            row_writes: take(&self.row_writes),
            feed_polls: take(&self.feed_polls),
            page_views: 0,
            bytes_out: take(&self.bytes_out),
        }
    }

    /// Takes everything out, off the list.
    pub(crate) fn take(&self) -> Pending {
        // Before the counts, so that what is counted from here on lists the app again.
        self.listed.store(false, Ordering::SeqCst);
        let mut pending = self.pending.lock();
        let flows = self.counted();
        pending.put(self.hour.load(Ordering::Relaxed), flows);
        std::mem::take(&mut pending)
    }

    /// Puts back what was certainly not written. True as [`Usage::add`].
    pub(crate) fn give_back(&self, tally: Tally) -> bool {
        let mut pending = self.pending.lock();
        // What came in meanwhile goes behind it, as if it had never been taken out.
        let later = std::mem::take(&mut *pending);
        for (hour, flows) in tally.hours.into_iter().chain(later.hours) {
            pending.put(hour, flows);
        }
        let views = tally.views.into_iter().map(|it| ((it.hour, it.source), it.count));
        for (place, count) in views.chain(later.views) {
            pending.view(place, count);
        }
        let visits = tally.visits.into_iter().map(|it| ((it.hour, it.visitor), it.source));
        for (visit, source) in visits.chain(later.visits) {
            pending.visit(visit, source);
        }
        drop(pending);
        self.list()
    }
}

impl Pending {
    fn put(&mut self, hour: i32, flows: Flows) {
        if flows.is_zero() {
            return;
        }
        match self.hours.iter().position(|(of, _)| *of == hour) {
            Some(place) => self.hours[place].1 += flows,
            None if self.hours.len() < HOURS_MAX => self.hours.push((hour, flows)),
            // Storage has not answered for two days: the sum stays right, the hour does not.
            None => self.hours[HOURS_MAX - 1].1 += flows,
        }
    }

    /// Adds views from a place. False when there is no room for it: they count at "other".
    fn view(&mut self, (hour, source): (i32, Source), count: u64) -> bool {
        let place = (hour, source);
        if self.views.len() >= VIEWS_MAX && !self.views.contains_key(&place) {
            let other = Source { country: None, referrer: Some(OTHER.into()) };
            *self.views.entry((hour, other)).or_default() += count;
            return false;
        }
        *self.views.entry(place).or_default() += count;
        true
    }

    /// Notes who looked in an hour and from where they came first, while there is room.
    fn visit(&mut self, visit: (i32, u64), source: Source) {
        if self.visits.len() < VISITS_MAX {
            self.visits.entry(visit).or_insert(source);
        }
    }

    /// What storage is told of it.
    pub(crate) fn into_tally(self, app: AppId, owner: HumanId) -> Tally {
        let views = self.views.into_iter();
        let visits = self.visits.into_iter();
        let mut visits: Vec<Visit> =
            visits.map(|((hour, visitor), source)| Visit { hour, visitor, source }).collect();
        visits.sort_unstable_by_key(|visit| visit.hour);
        Tally {
            app,
            owner,
            is_gone: false,
            hours: self.hours,
            views: views.map(|((hour, source), count)| Views { hour, source, count }).collect(),
            visits,
        }
    }
}

/// Which apps have something to roll up, and today's salt.
#[derive(Default)]
pub(crate) struct Collector {
    listed: Mutex<Vec<Arc<Slot>>>,
    /// Held by whoever rolls up: a sketch is read, changed and written by one at a time.
    rolling: tokio::sync::Mutex<()>,
    /// Notified when an app's pending views are full.
    pub(crate) full: tokio::sync::Notify,
    salt: DaySalt,
    /// The day for which old meters have been deleted.
    forgotten: AtomicI32,
}

impl Collector {
    /// Counts `count` of `flow` now. Waits for nothing.
    pub(crate) fn count(&self, slot: &Arc<Slot>, now: Timestamp, flow: Flow, count: u64) {
        if slot.usage.add(hour_of(now), flow, count) {
            self.list(slot.clone());
        }
    }

    fn list(&self, slot: Arc<Slot>) {
        self.listed.lock().push(slot);
    }

    /// Returns when no roll-up that began before is running any more.
    pub(crate) async fn round_ended(&self) {
        drop(self.rolling.lock().await);
    }
}

/// A page view, as the page's route sees it.
#[derive(Debug, Clone)]
pub struct PageView<'a> {
    /// The part of the client's address that one customer holds.
    pub network: &'a [u8],
    /// The client's user agent.
    pub user_agent: &'a [u8],
    /// From where it came.
    pub source: Source,
}

impl AppHandle {
    /// Counts `count` of `flow`. Wakes nothing and waits for nothing.
    pub fn count_use(&self, flow: Flow, count: u64) {
        let env = self.env();
        env.collector.count(&self.slot, env.clock.now(), flow, count);
    }

    pub(crate) fn count_view(&self, hour: i32, visitor: Option<u64>, source: Source) {
        let collector = &self.env().collector;
        let Noted { first, full } = self.slot.usage.view(hour, visitor, source);
        if first {
            collector.list(self.slot.clone());
        }
        if full {
            collector.full.notify_one();
        }
    }
}
