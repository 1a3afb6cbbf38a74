//! The id of a request: the caller's `X-Request-Id` where it is acceptable, else a new one; and
//! the trace it belongs to (`traceparent`, W3C Trace Context).

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use http::{HeaderMap, HeaderName, HeaderValue};
use rookery_domain::{id::RequestId, trace::TraceParent};
use uuid::Builder;

/// The header, in and out.
pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id that is taken from a caller, in characters.
const LEN_MAX: usize = 128;

/// Makes request ids without a system call each: a random start and a counter.
#[derive(Debug)]
pub struct RequestIds {
    seed: [u8; 10],
    counter: AtomicU64,
}

impl RequestIds {
    /// Ids that begin at a random place.
    #[must_use]
    pub fn new() -> Self {
        Self { seed: rand::random(), counter: AtomicU64::new(0) }
    }

    /// The caller's id, or a new one.
    #[must_use]
    pub fn of(&self, headers: &HeaderMap) -> HeaderValue {
        let given = headers.get(HEADER).filter(|value| acceptable(value.as_bytes()));
        given.cloned().unwrap_or_else(|| self.next())
    }

    fn next(&self) -> HeaderValue {
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let count = self.counter.fetch_add(1, Ordering::Relaxed);
        let mut random = self.seed;
        for (byte, more) in random[2..].iter_mut().zip(count.to_be_bytes()) {
            *byte = byte.wrapping_add(more);
        }
        let millis = u64::try_from(millis).unwrap_or(u64::MAX);
        let uuid = Builder::from_unix_timestamp_millis(millis, &random).into_uuid();
        let text = RequestId::from_uuid(uuid).to_string();
        // An id is ASCII letters, digits and an underscore.
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("req"))
    }
}

impl Default for RequestIds {
    fn default() -> Self {
        Self::new()
    }
}

fn acceptable(id: &[u8]) -> bool {
    (1..=LEN_MAX).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}

/// What the caller says of the trace that the request belongs to.
#[must_use]
pub fn trace_parent(headers: &HeaderMap) -> Option<TraceParent> {
    TraceParent::parse(headers.get("traceparent")?.to_str().ok()?)
}
