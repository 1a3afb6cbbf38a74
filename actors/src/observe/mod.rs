//! What operators see of the runtime, kept up by counting: per shard, per active app, and for
//! apps that come and go. Nothing here walks all apps, and nothing locks for a message.
//!
//! What is not here: rates over time for pages and how they are shown (the server's `ops`), the
//! writer's own figures (`rookery_storage`), and HTTP.

pub mod activity;
pub mod counters;
pub mod histogram;
pub mod hot;
mod intervention;
pub mod lifecycle;
pub mod view;

use std::{
    sync::{Arc, Weak, atomic::Ordering::Relaxed},
    time::Duration,
};

use parking_lot::Mutex;
use rookery_domain::{Timestamp, id::AppId};

use self::{
    activity::SeenMessage,
    counters::{MessageKind, MessageOutcome, ShardCounters, ShardTotals},
    histogram::micros,
    hot::HotApps,
    lifecycle::{CountedState, Crash, CrashDecision, Lifecycle, LifecycleTotals, StopCause},
};
use crate::{
    app::root::Root,
    registry::{
        shards::{SHARDS, shard_of},
        slot::Slot,
    },
};

/// Apps of one shard that one tick looks at; further ones are taken by the next tick.
const ACTIVE_MAX: usize = 8_192;
/// Apps that are watched at a time; the one that nobody has looked at for longest goes first.
const WATCHED_MAX: usize = 64;

/// Counts for operators. One per runtime.
#[derive(Default)]
pub(crate) struct Observer {
    shards: [ShardCounters; SHARDS],
    /// Apps of each shard that did something since the last tick.
    active: [Mutex<Vec<Arc<Slot>>>; SHARDS],
    pub(crate) lifecycle: Lifecycle,
    hot: Mutex<HotApps>,
    watched: Mutex<Vec<Weak<Slot>>>,
}

/// Everything counted, at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuntimeTotals {
    /// What each shard counted.
    pub shards: Vec<ShardTotals>,
    /// The shards together.
    pub all: ShardTotals,
    /// Apps coming and going.
    pub lifecycle: LifecycleTotals,
}

impl Observer {
    /// A message of `slot`'s app ended.
    pub(crate) fn ended(&self, slot: &Arc<Slot>, message: Ended) {
        let Ended { kind, outcome, bytes, took, at } = message;
        let shard = shard_of(slot.id);
        self.shards[shard].ended(kind, outcome);
        if slot.activity.ended(outcome, bytes) {
            let mut active = self.active[shard].lock();
            if active.len() < ACTIVE_MAX {
                active.push(slot.clone());
            } else {
                slot.activity.unlist();
            }
        }
        if let Some(watch) = &*slot.activity.watch.load() {
            let took_us = micros(took);
            watch.ended(SeenMessage { at, kind, outcome, took_us }, slot.queued());
        }
    }

    /// A message entered the queue of this app (`1`), or left the app (`-1`).
    pub(crate) fn queued(&self, app: AppId, change: i64) {
        self.shards[shard_of(app)].queued(change);
    }

    /// An actor has decided a message.
    pub(crate) fn handled(&self, slot: &Slot, waited: Duration, took: Duration) {
        self.shards[shard_of(slot.id)].handled(waited, took);
        slot.activity.handled(waited, took);
    }

    /// `after` is resident in the place of `before`.
    pub(crate) fn published(&self, app: AppId, before: Option<&Root>, after: Option<&Root>) {
        self.shards[shard_of(app)].published(before, after);
    }

    /// Ends a second: takes what active apps did. `uptime` is the time since process start.
    pub(crate) fn tick(&self, uptime: Duration) {
        let now = uptime.as_secs_f64();
        for active in &self.active {
            let active = std::mem::take(&mut *active.lock());
            if active.is_empty() {
                continue;
            }
            let mut hot = self.hot.lock();
            for slot in active {
                let taken = slot.activity.take();
                hot.add(&slot, taken, now);
            }
            hot.prune(now);
        }
        self.hot.lock().drop_forgotten();
        self.watched.lock().retain(|slot| {
            let Some(slot) = slot.upgrade() else { return false };
            let Some(watch) = slot.activity.watch.load_full() else { return false };
            let over = watch.is_over(uptime.as_secs());
            if over {
                slot.activity.watch.store(None);
            } else {
                watch.tick();
            }
            !over
        });
    }

    /// Somebody looks at this app.
    pub(crate) fn watch(&self, slot: &Arc<Slot>, uptime: Duration) -> activity::Watched {
        let (watch, new) = activity::watch_of(&slot.activity);
        watch.asked(uptime.as_secs());
        if new {
            let mut watched = self.watched.lock();
            if watched.len() == WATCHED_MAX {
                // That of a slot that is gone comes first.
                let asked_at_s = |place: &usize| watched[*place].upgrade()?.activity.asked_at_s();
                let oldest = (0..watched.len()).min_by_key(asked_at_s);
                if let Some(slot) = oldest.and_then(|place| watched.remove(place).upgrade()) {
                    slot.activity.watch.store(None);
                }
            }
            watched.push(Arc::downgrade(slot));
        }
        watch.read()
    }

    /// A part of the service, not an app, crashed and is replaced.
    pub(crate) fn part_crashed(&self, at: Timestamp, subject: String, cause: String) {
        self.lifecycle.crashed(Crash {
            number: 0,
            at,
            app: None,
            subject,
            cause,
            decision: CrashDecision::Restart,
            crashes: 1,
        });
    }

    /// A slot's state changed.
    pub(crate) fn moved(&self, slot: &Slot, from: Option<CountedState>, to: Option<CountedState>) {
        self.lifecycle.moved(slot.id, from, to);
    }

    /// An incarnation ended.
    pub(crate) fn stopped(&self, cause: StopCause) {
        self.lifecycle.stopped(cause);
    }

    /// An incarnation started.
    pub(crate) fn woke(&self, slot: &Slot, took: Duration, at: Timestamp) {
        slot.activity.wake_us.store(micros(took), Relaxed);
        slot.activity.woke_at.store(at.0, Relaxed);
        self.lifecycle.woke(took);
    }

    pub(crate) fn read(&self) -> RuntimeTotals {
        let shards: Vec<_> = self.shards.iter().map(ShardCounters::read).collect();
        let mut all = ShardTotals::default();
        for shard in &shards {
            all.add(shard);
        }
        RuntimeTotals { shards, all, lifecycle: self.lifecycle.read() }
    }

    pub(crate) fn top(
        &self,
        measure: hot::Measure,
        window: hot::Window,
        uptime: Duration,
        limit: usize,
    ) -> Vec<(Arc<Slot>, hot::Rates)> {
        self.hot.lock().top(measure, window, uptime.as_secs_f64(), limit)
    }
}

/// A message that ended.
pub(crate) struct Ended {
    pub(crate) kind: MessageKind,
    pub(crate) outcome: MessageOutcome,
    pub(crate) bytes: usize,
    pub(crate) took: Duration,
    pub(crate) at: Timestamp,
}
