//! The rate limit per client network: GCRA (a rolling window), in a fixed block of counters.
//!
//! Networks are spread over the counters by a hash with a secret seed, so memory is bounded
//! whatever addresses arrive, a check costs one atomic operation, and nobody can choose whom to
//! share a counter with.

use std::{
    collections::hash_map::RandomState, fmt::Write as _, hash::BuildHasher as _, net::IpAddr,
    num::NonZeroU32, time::Duration,
};

use governor::{
    Quota, RateLimiter,
    clock::{Clock, MonotonicClock},
    middleware::{NoOpMiddleware, StateInformationMiddleware},
    nanos::Nanos,
    state::{InMemoryState, NotKeyed, StateStore},
};
use http::{HeaderMap, HeaderName, HeaderValue};
use rookery_domain::{Error, ErrorCode};

use super::client::Network;
use crate::{config, error::ApiError};

/// `RateLimit-Policy` of the IETF draft.
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// `RateLimit` of the IETF draft.
const STATE: HeaderName = HeaderName::from_static("ratelimit");
/// Seconds in the window that the policy is told by.
const WINDOW_S: u32 = 60;

/// Counts requests per network.
#[derive(Debug)]
pub struct Limiter<C: Clock = MonotonicClock> {
    limiter: RateLimiter<usize, Counters, C, StateInformationMiddleware>,
    hasher: RandomState,
    clock: C,
    mask: usize,
    burst: u32,
    /// Time that one request costs in the long run.
    per_request: Duration,
    policy: HeaderValue,
}

/// What the limiter says of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Requests that may follow at once.
    pub remaining: u32,
    /// Seconds until the whole burst is free again.
    pub reset_s: u64,
    /// Seconds to wait, when this request is over the limit.
    pub retry_after_s: Option<u64>,
}

impl Limiter {
    /// A limiter by the system's clock; `None` when the settings switch it off.
    #[must_use]
    pub fn new(settings: &config::RateLimit) -> Option<Self> {
        settings.enabled.then(|| Self::with_clock(settings, MonotonicClock))
    }
}

impl<C: Clock + Clone> Limiter<C> {
    /// A limiter by `clock`.
    #[must_use]
    pub fn with_clock(settings: &config::RateLimit, clock: C) -> Self {
        // The settings were checked: both are positive, and counters are a power of two.
        let per_minute = NonZeroU32::new(settings.per_minute).unwrap_or(NonZeroU32::MIN);
        let burst = NonZeroU32::new(settings.burst).unwrap_or(NonZeroU32::MIN).min(per_minute);
        let quota = Quota::per_minute(per_minute).allow_burst(burst);
        let counters = settings.counters.next_power_of_two();
        let limiter: RateLimiter<_, _, C, NoOpMiddleware<C::Instant>> =
            RateLimiter::new(quota, Counters::new(counters), clock.clone());
        let policy = format!("\"default\";q={per_minute};w={WINDOW_S}");
        Self {
            limiter: limiter.with_middleware(),
            hasher: RandomState::new(),
            clock,
            mask: counters - 1,
            burst: burst.get(),
            per_request: quota.replenish_interval(),
            policy: HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("")),
        }
    }

    /// Counts one request of `address`.
    #[must_use]
    pub fn count(&self, address: IpAddr) -> Allowance {
        let hash = self.hasher.hash_one(Network::from(address));
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

    /// Writes `RateLimit-Policy` and `RateLimit`.
    pub fn write_headers(&self, allowance: Allowance, headers: &mut HeaderMap) {
        headers.insert(POLICY, self.policy.clone());
        let mut text = String::with_capacity(32);
        // Writing to a String cannot fail.
        let _ = write!(text, "\"default\";r={};t={}", allowance.remaining, allowance.reset_s);
        if let Ok(value) = HeaderValue::try_from(text) {
            headers.insert(STATE, value);
        }
    }

    fn reset_s(&self, remaining: u32) -> u64 {
        ceil_s(self.per_request * self.burst.saturating_sub(remaining))
    }
}

impl Allowance {
    /// The refusal, when this request is over the limit.
    #[must_use]
    pub fn refusal(self) -> Option<ApiError> {
        let seconds = self.retry_after_s?;
        let message = format!("too many requests from this address; try again in {seconds} s");
        let error = Error::new(ErrorCode::RateLimited, message);
        Some(ApiError::from(error).retry_after(seconds))
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
