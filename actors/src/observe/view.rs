//! What the registry answers operators: totals, the hottest apps, crashes, the tree in pages, one
//! app. What operators may do to an app is `intervention`'s.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use rookery_domain::Timestamp;
use rookery_storage::offload::{Offload, Waits};

use super::{
    RuntimeTotals,
    activity::Watched,
    hot::{HOT_MAX, Measure, Rates, Window},
    lifecycle::Crash,
};
use crate::registry::{AppHandle, Apps, Observation, shards::shard_of};

/// Apps in one page of the tree.
pub const TREE_PAGE_MAX: usize = 200;

/// A hot app.
#[derive(Debug, Clone)]
pub struct HotApp {
    /// The app.
    pub app: AppHandle,
    /// What it did.
    pub rates: Rates,
}

/// A shard of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardSize {
    /// Its number, from 0.
    pub shard: usize,
    /// Live apps under it.
    pub apps: usize,
}

/// A page of a shard's apps.
#[derive(Debug, Clone)]
pub struct ShardPage {
    /// The apps, in the order in which their actors started.
    pub apps: Vec<AppHandle>,
    /// Where the next page begins.
    pub next: Option<u64>,
}

impl Apps {
    /// Everything counted so far. Costs the same however many apps there are.
    #[must_use]
    pub fn totals(&self) -> RuntimeTotals {
        self.inner.env.observer.read()
    }

    /// What takes long and waits for its turn: lists, decisions, rehearsals, replays, reports and the like.
    #[must_use]
    pub fn long_jobs(&self) -> Waits {
        let env = &self.inner.env;
        let decisions = [&env.compiling, &env.scanning, &env.deciding, &env.rehearsing];
        let reads = [&env.trash, &env.detached, &env.replaying, &env.reporting, &env.moving];
        let kinds = decisions.into_iter().chain(reads);
        kinds.map(Offload::waits).sum()
    }

    /// Ends a second of observation: the server calls it once a second.
    pub fn tick(&self) {
        self.inner.env.observer.tick(self.inner.env.uptime());
    }

    /// The hottest apps, hottest first, at most [`HOT_MAX`].
    #[must_use]
    pub fn hot(&self, measure: Measure, window: Window) -> Vec<HotApp> {
        let uptime = self.inner.env.uptime();
        let top = self.inner.env.observer.top(measure, window, uptime, HOT_MAX);
        let there = top.into_iter().filter(|(slot, _)| !slot.is_gone());
        there.map(|(slot, rates)| HotApp { app: self.handle(slot), rates }).collect()
    }

    /// The last crashes, newest first, with numbers below `before`.
    #[must_use]
    pub fn crashes(&self, before: Option<u64>, limit: usize) -> Vec<Crash> {
        self.inner.env.observer.lifecycle.crashes(before, limit)
    }

    /// Apps that are held back after crashes: waiting to restart, or quarantined.
    #[must_use]
    pub fn held(&self, limit: usize) -> Vec<AppHandle> {
        let ids = self.inner.env.observer.lifecycle.held(limit);
        ids.into_iter().filter_map(|id| self.known(id)).map(|slot| self.handle(slot)).collect()
    }

    /// The shards and how many apps live under each.
    #[must_use]
    pub fn shard_sizes(&self) -> Vec<ShardSize> {
        let sizes = self.inner.shards.sizes().into_iter().enumerate();
        sizes.map(|(shard, apps)| ShardSize { shard, apps }).collect()
    }

    /// A page of the live apps under a shard, behind `after`. `None` when there is no such shard.
    #[must_use]
    pub fn shard_page(&self, shard: usize, after: u64, limit: usize) -> Option<ShardPage> {
        let (slots, next) = self.inner.shards.page(shard, after, limit.min(TREE_PAGE_MAX))?;
        let apps = slots.into_iter().map(|slot| self.handle(slot)).collect();
        Some(ShardPage { apps, next })
    }
}

/// One app, as an operator who looks at it sees it.
#[derive(Debug, Clone)]
pub struct AppView {
    /// Its observable state.
    pub observation: Observation,
    /// The shard it belongs to.
    pub shard: usize,
    /// Milliseconds that it has been in this state.
    pub state_age_ms: u64,
    /// Messages that may be queued or uncommitted.
    pub mailbox_limit: usize,
    /// How long its oldest message queued or uncommitted has been there, at least; `None` when
    /// there is none.
    pub oldest_wait: Option<Duration>,
    /// When it last woke; `None` if it has not since the start.
    pub last_wake_at: Option<Timestamp>,
    /// What that cost, in microseconds.
    pub last_wake_us: Option<u64>,
    /// What is seen of it since somebody looks.
    pub watched: Watched,
}

impl AppHandle {
    /// What an operator who looks at the app sees. From now on it is watched message by message,
    /// until nobody has looked for half a minute.
    #[must_use]
    pub fn watch(&self) -> AppView {
        let env = self.env();
        let uptime = env.uptime();
        let activity = &self.slot.activity;
        let since = Duration::from_millis(activity.since_ms.load(Relaxed));
        let watched = env.observer.watch(&self.slot, uptime);
        let watch = activity.watch.load_full();
        let woke_at = activity.woke_at.load(Relaxed);
        AppView {
            oldest_wait: watch.and_then(|watch| watch.oldest_wait(self.slot.queued())),
            observation: self.observe(),
            shard: shard_of(self.id()),
            state_age_ms: uptime.saturating_sub(since).as_millis() as u64,
            mailbox_limit: env.options.mailbox_limit,
            last_wake_at: Some(Timestamp(woke_at)).filter(|at| at.0 > 0),
            last_wake_us: Some(activity.wake_us.load(Relaxed)).filter(|us| *us > 0),
            watched,
        }
    }
}
