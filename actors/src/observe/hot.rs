//! The hottest apps over three windows, without walking all apps: only apps that did something
//! since the last tick are looked at, and only so many are kept.
//!
//! A window is an exponentially decaying rate, as a load average is: steady work shows as its
//! rate, and what ended fades out over the window.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use rookery_domain::id::AppId;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use super::activity::Taken;
use crate::registry::slot::Slot;

/// Apps that are kept; the least busy ones go when there are more.
const TRACKED_MAX: usize = 8_192;
/// Apps that stay when some have to go.
const TRACKED_KEPT: usize = 6_144;
/// Most apps that one answer lists.
pub const HOT_MAX: usize = 50;

/// The time that a rate looks back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Window {
    /// 10 seconds.
    #[serde(rename = "10s")]
    TenSeconds,
    /// A minute.
    #[serde(rename = "1m")]
    Minute,
    /// A quarter of an hour.
    #[serde(rename = "15m")]
    QuarterHour,
}

impl Window {
    /// Every window.
    pub const ALL: [Self; 3] = [Self::TenSeconds, Self::Minute, Self::QuarterHour];

    /// Its name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TenSeconds => "10s",
            Self::Minute => "1m",
            Self::QuarterHour => "15m",
        }
    }

    const fn seconds(self) -> f64 {
        match self {
            Self::TenSeconds => 10.0,
            Self::Minute => 60.0,
            Self::QuarterHour => 900.0,
        }
    }
}

/// What makes an app hot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Messages a second.
    Messages,
    /// Time that messages waited in the mailbox, in seconds a second.
    Wait,
    /// Bytes of requests a second.
    Bytes,
    /// Error answers a second.
    Errors,
}

impl Measure {
    /// Every measure.
    pub const ALL: [Self; 4] = [Self::Messages, Self::Wait, Self::Bytes, Self::Errors];

    /// Its name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Wait => "wait",
            Self::Bytes => "bytes",
            Self::Errors => "errors",
        }
    }
}

/// Rates a second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    /// Messages.
    pub messages: f64,
    /// Seconds of mailbox wait.
    pub wait: f64,
    /// Bytes of requests.
    pub bytes: f64,
    /// Error answers.
    pub errors: f64,
}

impl Rates {
    fn of(self, measure: Measure) -> f64 {
        match measure {
            Measure::Messages => self.messages,
            Measure::Wait => self.wait,
            Measure::Bytes => self.bytes,
            Measure::Errors => self.errors,
        }
    }

    fn scaled(self, by: f64) -> Self {
        Self {
            messages: self.messages * by,
            wait: self.wait * by,
            bytes: self.bytes * by,
            errors: self.errors * by,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            messages: self.messages + other.messages,
            wait: self.wait + other.wait,
            bytes: self.bytes + other.bytes,
            errors: self.errors + other.errors,
        }
    }
}

impl From<Taken> for Rates {
    fn from(taken: Taken) -> Self {
        Self {
            messages: taken.messages as f64,
            wait: taken.wait_us as f64 / 1e6,
            bytes: taken.bytes as f64,
            errors: taken.errors as f64,
        }
    }
}

struct Tracked {
    /// Not held: what an app did keeps nobody from forgetting it while it is dormant.
    slot: Weak<Slot>,
    rates: [Rates; 3],
    /// Seconds since process start that the rates are of.
    at: f64,
}

impl Tracked {
    fn at(&self, now: f64, window: Window) -> Rates {
        self.rates[window as usize].scaled((-(now - self.at).max(0.0) / window.seconds()).exp())
    }
}

/// The apps that did something of late.
#[derive(Default)]
pub(crate) struct HotApps {
    tracked: HashMap<AppId, Tracked, FxBuildHasher>,
}

impl HotApps {
    /// Adds what `slot`'s app did in the second before `now` (seconds since process start).
    pub(crate) fn add(&mut self, slot: &Arc<Slot>, taken: Taken, now: f64) {
        let id = slot.id;
        let entry = self.tracked.entry(id).or_insert_with(|| Tracked {
            slot: Weak::new(),
            rates: Default::default(),
            at: now,
        });
        // The slot of an app that was forgotten and found again is another one.
        entry.slot = Arc::downgrade(slot);
        for window in Window::ALL {
            let weight = 1.0 - (-1.0 / window.seconds()).exp();
            entry.rates[window as usize] =
                entry.at(now, window).plus(Rates::from(taken).scaled(weight));
        }
        entry.at = now;
    }

    /// Lets those go that the registry has forgotten.
    pub(crate) fn drop_forgotten(&mut self) {
        self.tracked.retain(|_, one| one.slot.strong_count() > 0);
    }

    /// Lets the least busy apps go, when there are too many.
    pub(crate) fn prune(&mut self, now: f64) {
        if self.tracked.len() <= TRACKED_MAX {
            return;
        }
        let busy = |one: &Tracked| {
            let (short, long) = (one.at(now, Window::TenSeconds), one.at(now, Window::QuarterHour));
            short.messages + long.messages
        };
        let mut order: Vec<(f64, AppId)> =
            self.tracked.iter().map(|(id, one)| (busy(one), *id)).collect();
        order.select_nth_unstable_by(TRACKED_KEPT, |a, b| b.0.total_cmp(&a.0));
        for (_, id) in &order[TRACKED_KEPT..] {
            self.tracked.remove(id);
        }
    }

    /// The hottest apps, hottest first, without those that did nothing of this kind.
    pub(crate) fn top(
        &self,
        measure: Measure,
        window: Window,
        now: f64,
        limit: usize,
    ) -> Vec<(Arc<Slot>, Rates)> {
        // Below this a rate is nothing: one event, or a microsecond, some windows ago.
        let nothing = if measure == Measure::Wait { 1e-12 } else { 1e-6 };
        let rates = self.tracked.values().map(|one| (one, one.at(now, window)));
        let known = rates.filter_map(|(one, rates)| Some((one.slot.upgrade()?, rates)));
        let mut hot: Vec<_> = known.filter(|(_, rates)| rates.of(measure) > nothing).collect();
        let order = |a: &(Arc<Slot>, Rates), b: &(Arc<Slot>, Rates)| {
            b.1.of(measure).total_cmp(&a.1.of(measure)).then_with(|| a.0.id.cmp(&b.0.id))
        };
        if hot.len() > limit {
            hot.select_nth_unstable_by(limit, order);
            hot.truncate(limit);
        }
        hot.sort_unstable_by(order);
        hot
    }
}
