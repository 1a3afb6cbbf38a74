//! Traces of requests, sent to a collector by OTLP where the settings name one: one trace shows a
//! request, the message to its app, the decision, and the commit that its answer waited for.
//!
//! Here is who is traced. Spans are made where the work is done (`rookery_domain::trace`), and
//! sent by `export`. A span says which route, app and outcome; a path, a credential, an address or
//! content is in none.

mod export;
mod request;

use std::{
    num::NonZeroU32,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Instant, SystemTime},
};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry_otlp::SpanExporter;
use rand::RngCore as _;
use rookery_domain::trace::{Span, SpanId, Spans, Trace, TraceId, TraceParent};
use secrecy::ExposeSecret as _;
use tokio::sync::mpsc;

use self::export::Exporter;
pub use self::{
    export::{SentSpans, SpanCounts},
    request::end_request,
};
use crate::{config::Traces as Settings, percent};

/// Spans that wait to be sent; further ones are dropped and counted.
pub const SPANS_QUEUED_MAX: usize = 8_192;

/// Traces requests.
pub struct Traces {
    limiter: DefaultDirectRateLimiter,
    queue: Arc<Queue>,
    exporter: Exporter,
}

impl Traces {
    /// What the settings ask for; `None` where they name no collector.
    ///
    /// # Errors
    /// One line that names the setting.
    pub fn start(settings: &Settings) -> Result<Option<Self>, String> {
        let Some(exporter) = exporter(settings)? else { return Ok(None) };
        let (sender, receiver) = mpsc::channel(SPANS_QUEUED_MAX);
        let counts = Arc::new(SpanCounts::default());
        let queue = Arc::new(Queue { sender, counts: Arc::clone(&counts) });
        let exporter = Exporter::start(exporter, receiver, counts);
        let most = NonZeroU32::new(settings.requests_per_second_max).unwrap_or(NonZeroU32::MIN);
        Ok(Some(Self { limiter: RateLimiter::direct(Quota::per_second(most)), queue, exporter }))
    }

    /// What [`Self::start`] would refuse of the settings.
    ///
    /// # Errors
    /// As it has them.
    pub fn check(settings: &Settings) -> Result<(), String> {
        exporter(settings).map(drop)
    }

    /// The trace of a request that began at `began`; `None` when it is not traced. What the caller
    /// says counts as far as it does not cost more: it may leave a request out, not force it in.
    #[must_use]
    pub fn enter(&self, caller: Option<&TraceParent>, began: Instant) -> Option<Trace> {
        if caller.is_some_and(|caller| !caller.sampled) || self.limiter.check().is_err() {
            return None;
        }
        let queue: Arc<dyn Spans> = self.queue.clone();
        let trace = caller.map_or_else(|| TraceId(not_zero()), |caller| caller.trace);
        let now = (Instant::now(), SystemTime::now());
        let at = (began, now.1 - now.0.saturating_duration_since(began));
        Some(Trace::enter(queue, trace, caller.map(|caller| caller.span), at))
    }

    /// What became of spans.
    #[must_use]
    pub fn sent(&self) -> SentSpans {
        self.queue.counts.read()
    }

    /// Sends what waits, and ends.
    pub async fn close(&self) {
        self.exporter.close().await;
    }
}

/// What sends to the collector of the settings, where they name one.
fn exporter(settings: &Settings) -> Result<Option<SpanExporter>, String> {
    if settings.endpoint.is_empty() {
        return Ok(None);
    }
    let headers = headers(settings.headers.expose_secret()).unwrap_or_default();
    let exporter = export::exporter(&settings.endpoint, headers);
    exporter.map(Some).map_err(|error| format!("traces.endpoint: {error}"))
}

/// Where spans wait.
struct Queue {
    sender: mpsc::Sender<Span>,
    counts: Arc<SpanCounts>,
}

impl Spans for Queue {
    fn new_id(&self) -> SpanId {
        SpanId(not_zero())
    }

    fn take(&self, span: Span) {
        if self.sender.try_send(span).is_err() {
            self.counts.dropped.fetch_add(1, Relaxed);
        }
    }
}

/// Random bytes; all zero is no id.
fn not_zero<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    while bytes == [0; N] {
        rand::rng().fill_bytes(&mut bytes);
    }
    bytes
}

/// Reads `name=value` pairs with commas between, as OpenTelemetry has them (the octets of W3C Baggage):
/// what is special in a name or a value is percent-encoded. `None` when one is no header.
#[must_use]
pub fn headers(text: &str) -> Option<HeaderMap> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=')?;
            let name = HeaderName::from_bytes(&percent::decode(name.trim())?).ok()?;
            // A value of other bytes than text would be sent, and mean something else to everybody.
            let value = String::from_utf8(percent::decode(value.trim())?).ok()?;
            Some((name, HeaderValue::from_str(&value).ok()?))
        })
        .collect()
}
