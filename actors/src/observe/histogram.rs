//! A histogram of durations with fixed bounds: recording is two relaxed additions, no lock.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Upper bounds of the buckets, in microseconds; a last bucket takes the rest.
pub const BOUNDS_US: [u64; 16] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 10_000_000,
];

/// Buckets of a histogram, the last one included.
pub const BUCKETS: usize = BOUNDS_US.len() + 1;

/// A duration in whole microseconds.
pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Durations, counted by bucket.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    sum_us: AtomicU64,
}

impl Histogram {
    /// Counts one duration.
    pub fn record(&self, took: Duration) {
        let micros = micros(took);
        let bucket = BOUNDS_US.partition_point(|bound| *bound < micros);
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.sum_us.fetch_add(micros, Relaxed);
    }

    /// What was counted so far.
    #[must_use]
    pub fn read(&self) -> Distribution {
        Distribution {
            buckets: std::array::from_fn(|i| self.buckets[i].load(Relaxed)),
            sum_us: self.sum_us.load(Relaxed),
        }
    }
}

/// The counts of a [`Histogram`] at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Durations in each bucket (not cumulative), bounds in [`BOUNDS_US`].
    pub buckets: [u64; BUCKETS],
    /// Sum of all durations, in microseconds.
    pub sum_us: u64,
}

impl Distribution {
    /// Durations counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Adds what another one counted.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets) {
            *mine += theirs;
        }
        self.sum_us += other.sum_us;
    }

    /// What was counted since `earlier`, a reading of the same histograms.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            buckets: std::array::from_fn(|i| self.buckets[i].saturating_sub(earlier.buckets[i])),
            sum_us: self.sum_us.saturating_sub(earlier.sum_us),
        }
    }

    /// The duration in microseconds that `quantile` (0 to 1) of those counted do not exceed,
    /// interpolated inside its bucket; `None` when nothing was counted. What lies above the last
    /// bound is told as that bound.
    #[must_use]
    pub fn quantile_us(&self, quantile: f64) -> Option<u64> {
        quantile_us(&BOUNDS_US, &self.buckets, quantile)
    }
}

/// [`Distribution::quantile_us`] over any buckets: `counts` has one more entry than `bounds`.
#[must_use]
pub fn quantile_us(bounds: &[u64], counts: &[u64], quantile: f64) -> Option<u64> {
    let count: u64 = counts.iter().sum();
    if count == 0 {
        return None;
    }
    let rank = (quantile.clamp(0.0, 1.0) * count as f64).max(1.0);
    let mut below = 0;
    for (bucket, n) in counts.iter().enumerate() {
        let upto = below + n;
        if upto as f64 >= rank {
            let Some(upper) = bounds.get(bucket) else { break };
            let lower = bucket.checked_sub(1).map_or(0, |before| bounds[before]);
            let part = (rank - below as f64) / *n as f64;
            return Some(lower + ((upper - lower) as f64 * part) as u64);
        }
        below = upto;
    }
    bounds.last().copied()
}
