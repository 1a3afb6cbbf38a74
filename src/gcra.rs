//! Rates by key: GCRA (a rolling window), in a fixed block of counters.
//!
//! Keys are spread over the counters by a hash with a secret seed, so memory is bounded whatever
//! keys arrive, a check costs one atomic operation, and nobody can choose whom to share a counter
//! with.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher as _, Hash},
    time::Duration,
};

use governor::{
    Quota, RateLimiter,
    clock::{Clock, MonotonicClock},
    middleware::{NoOpMiddleware, StateInformationMiddleware},
    nanos::Nanos,
    state::{InMemoryState, NotKeyed, StateStore},
};

/// How often each key may do something.
#[derive(Debug)]
pub struct Rates<C: Clock = MonotonicClock> {
    limiter: RateLimiter<usize, Counters, C, StateInformationMiddleware>,
    hasher: RandomState,
    clock: C,
    mask: usize,
    burst: u32,
    /// Time that each one costs in the long run.
    interval: Duration,
}

/// What is said of one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// How many may follow at once.
    pub remaining: u32,
    /// Seconds until the whole burst is free again.
    pub reset_s: u64,
    /// Seconds to wait, when this one is over the rate.
    pub retry_after_s: Option<u64>,
}

impl<C: Clock + Clone> Rates<C> {
    /// Each key by `quota`. `counters` are rounded up to a power of two.
    #[must_use]
    pub fn new(quota: Quota, counters: usize, clock: C) -> Self {
        let counters = counters.next_power_of_two();
        let limiter: RateLimiter<_, _, C, NoOpMiddleware<C::Instant>> =
            RateLimiter::new(quota, Counters::new(counters), clock.clone());
        Self {
            limiter: limiter.with_middleware(),
            hasher: RandomState::new(),
            clock,
            mask: counters - 1,
            burst: quota.burst_size().get(),
            interval: quota.replenish_interval(),
        }
    }

    /// Counts one use by `key`.
    #[must_use]
    pub fn count(&self, key: impl Hash) -> Allowance {
        let hash = self.hasher.hash_one(key);
        // The mask keeps the low bits only, so truncation loses nothing that counts.
        #[expect(clippy::cast_possible_truncation, reason = "masked to the number of counters")]
        let counter = hash as usize & self.mask;
        match self.limiter.check_key(&counter) {
            Ok(snapshot) => {
                let remaining = snapshot.remaining_burst_capacity();
                Allowance { remaining, reset_s: self.reset_s(remaining), retry_after_s: None }
            }
            Err(refusal) => {
                let wait = ceil_s(refusal.wait_time_from(self.clock.now())).max(1);
                Allowance { remaining: 0, reset_s: self.reset_s(0), retry_after_s: Some(wait) }
            }
        }
    }

    fn reset_s(&self, remaining: u32) -> u64 {
        ceil_s(self.interval * self.burst.saturating_sub(remaining))
    }
}

fn ceil_s(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

/// A fixed block of GCRA cells, addressed by number.
#[derive(Debug)]
struct Counters(Box<[InMemoryState]>);

impl Counters {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| InMemoryState::default()).collect())
    }
}

impl StateStore for Counters {
    type Key = usize;

    fn measure_and_replace<T, F, E>(&self, key: &usize, f: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        self.0[key & (self.0.len() - 1)].measure_and_replace(&NotKeyed::NonKey, f)
    }
}
