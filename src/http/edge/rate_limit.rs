//! The rate limit per client network, and the headers that tell each client its standing.

use std::{fmt::Write as _, net::IpAddr, num::NonZeroU32};

use governor::{
    Quota,
    clock::{Clock, MonotonicClock},
};
use http::{HeaderMap, HeaderName, HeaderValue};
use rookery_domain::{Error, ErrorCode, network::Network};

use crate::{
    config,
    error::ApiError,
    gcra::{Allowance, Rates},
};

/// `RateLimit-Policy` of the IETF draft.
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// `RateLimit` of the IETF draft.
const STATE: HeaderName = HeaderName::from_static("ratelimit");
/// Seconds in the window that the policy is told by.
const WINDOW_S: u32 = 60;

/// Counts requests per network.
#[derive(Debug)]
pub struct Limiter<C: Clock = MonotonicClock> {
    rates: Rates<C>,
    policy: HeaderValue,
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
        // The settings were checked: both are positive.
        let per_minute = NonZeroU32::new(settings.per_minute).unwrap_or(NonZeroU32::MIN);
        let burst = NonZeroU32::new(settings.burst).unwrap_or(NonZeroU32::MIN).min(per_minute);
        let quota = Quota::per_minute(per_minute).allow_burst(burst);
        let policy = format!("\"default\";q={per_minute};w={WINDOW_S}");
        Self {
            rates: Rates::new(quota, settings.counters, clock),
            policy: HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("")),
        }
    }

    /// Counts one request of `address`.
    #[must_use]
    pub fn count(&self, address: IpAddr) -> Allowance {
        self.rates.count(Network::from(address))
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
}

/// The refusal of a request that is over the limit.
#[must_use]
pub fn refusal(allowance: Allowance) -> Option<ApiError> {
    let seconds = allowance.retry_after_s?;
    let message = format!("too many requests from this address; try again in {seconds} s");
    let error = Error::new(ErrorCode::RateLimited, message);
    Some(ApiError::from(error).retry_after(seconds))
}
