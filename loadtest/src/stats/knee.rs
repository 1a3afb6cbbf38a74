//! The search for the saturation point: the highest rate at which the service still keeps a named
//! bound. First the rate doubles until the bound breaks, then the gap is halved.

use serde::{Deserialize, Serialize};

use super::ms;

/// Rates tried at most: a search ends, whatever the service does.
const STEPS_MAX: usize = 24;
/// The search ends when the first bad rate is at most this much above the last good one.
const RESOLUTION: f64 = 1.05;

/// What must hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Most microseconds of the corrected 99th percentile.
    pub p99_us: u64,
    /// Largest share of intended requests that failed or were dropped.
    pub errors: f64,
}

/// What was seen at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observed {
    /// Microseconds of the corrected 99th percentile.
    pub p99_us: u64,
    /// The share of intended requests that failed or were dropped.
    pub errors: f64,
    /// Successful answers a second.
    pub throughput: f64,
}

/// A rate that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Requests a second that were intended.
    pub rate: f64,
    /// Microseconds of the corrected 99th percentile.
    pub p99_us: u64,
    /// The share that failed or was dropped.
    pub errors: f64,
    /// Successful answers a second.
    pub throughput: f64,
    /// Which bound broke; none if all held.
    pub broke: Option<String>,
}

/// The state of a search.
#[derive(Debug, Clone)]
pub struct KneeSearch {
    bound: Bound,
    next: Option<f64>,
    good: Option<f64>,
    bad: Option<f64>,
    steps: Vec<Step>,
}

impl KneeSearch {
    /// A search that begins at `start` requests a second.
    #[must_use]
    pub const fn new(bound: Bound, start: f64) -> Self {
        Self { bound, next: Some(start), good: None, bad: None, steps: Vec::new() }
    }

    /// The rate to try next; none when the search is over.
    #[must_use]
    pub const fn next_rate(&self) -> Option<f64> {
        self.next
    }

    /// Takes what was seen at [`KneeSearch::next_rate`].
    pub fn observe(&mut self, seen: Observed) {
        let Some(rate) = self.next else { return };
        let broke = self.broken(seen);
        if broke.is_some() {
            self.bad = Some(self.bad.map_or(rate, |bad| bad.min(rate)));
        } else {
            self.good = Some(self.good.map_or(rate, |good| good.max(rate)));
        }
        let Observed { p99_us, errors, throughput } = seen;
        self.steps.push(Step { rate, p99_us, errors, throughput, broke });
        self.next = self.following().filter(|_| self.steps.len() < STEPS_MAX);
    }

    fn following(&self) -> Option<f64> {
        match (self.good, self.bad) {
            (_, None) => self.good.map(|good| good * 2.0),
            (None, Some(bad)) => (bad > 1.0).then_some(bad / 2.0),
            (Some(good), Some(bad)) => (bad / good > RESOLUTION).then(|| f64::midpoint(good, bad)),
        }
    }

    fn broken(&self, seen: Observed) -> Option<String> {
        if seen.errors > self.bound.errors {
            return Some(format!(
                "{:.2}% failed or dropped, bound {:.2}%",
                seen.errors * 100.0,
                self.bound.errors * 100.0
            ));
        }
        (seen.p99_us > self.bound.p99_us).then(|| {
            format!("p99 {:.1} ms, bound {:.1} ms", ms(seen.p99_us), ms(self.bound.p99_us))
        })
    }

    /// The highest rate that held while no lower one broke; none if none held.
    #[must_use]
    pub const fn knee(&self) -> Option<f64> {
        self.good
    }

    /// Every rate that was tried, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}
