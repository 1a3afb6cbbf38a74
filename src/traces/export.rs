//! Sending spans to a collector: OTLP over HTTP, in batches, from a task of its own.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use futures::future::BoxFuture;
use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use opentelemetry::{
    InstrumentationScope, KeyValue, TraceFlags,
    trace::{SpanContext, SpanId, SpanKind, Status, TraceId, TraceState},
};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{SpanData, SpanEvents, SpanExporter as _, SpanLinks},
};
use parking_lot::Mutex;
use rookery_domain::trace::{Span, Value};
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::outbound;

/// Spans in one request to the collector.
const BATCH_SPANS_MAX: usize = 512;
/// How long spans wait for others to go with them.
const GATHER: Duration = Duration::from_millis(500);
/// For one request to the collector.
const EXPORT_MAX: Duration = Duration::from_secs(10);
/// For what still waits when the server stops.
const CLOSE_MAX: Duration = Duration::from_secs(2);
/// What spans are sent as.
const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");
/// The path that OTLP over HTTP takes traces on.
const PATH: &str = "/v1/traces";

/// What became of spans.
#[derive(Debug, Default)]
pub struct SpanCounts {
    pub(super) dropped: AtomicU64,
    sent: AtomicU64,
    failed: AtomicU64,
}

/// [`SpanCounts`], at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SentSpans {
    /// Taken by the collector.
    pub sent: u64,
    /// Not queued, because too many waited.
    pub dropped: u64,
    /// Not taken by the collector.
    pub failed: u64,
}

impl SpanCounts {
    pub(super) fn read(&self) -> SentSpans {
        SentSpans {
            sent: self.sent.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            failed: self.failed.load(Relaxed),
        }
    }
}

/// The task that sends spans.
pub(super) struct Exporter {
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Exporter {
    pub(super) fn start(
        exporter: SpanExporter,
        spans: mpsc::Receiver<Span>,
        counts: Arc<SpanCounts>,
    ) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(run(spans, exporter, counts, stop.clone()));
        Self { stop, task: Mutex::new(Some(task)) }
    }

    /// Sends what waits and ends; what takes too long is given up.
    pub(super) async fn close(&self) {
        self.stop.cancel();
        let task = self.task.lock().take();
        if let Some(mut task) = task
            && timeout(CLOSE_MAX, &mut task).await.is_err()
        {
            task.abort();
        }
    }
}

/// The address that spans are sent to. As OpenTelemetry has it, the setting is the collector's.
fn address(endpoint: &str) -> String {
    let base = endpoint.trim_end_matches('/');
    if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") }
}

/// The client of the exporter. What it sends has the headers of the settings: the exporter would read
/// others from the environment, in which the settings' own names win.
struct Client {
    client: reqwest::Client,
    headers: HeaderMap,
}

/// Headers may be secret.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client(..)")
    }
}

impl HttpClient for Client {
    fn send_bytes<'s, 'f>(
        &'s self,
        request: Request<Bytes>,
    ) -> BoxFuture<'f, Result<Response<Bytes>, HttpError>>
    where
        's: 'f,
        Self: 'f,
    {
        let (mut head, body) = request.into_parts();
        head.headers.clone_from(&self.headers);
        head.headers.insert(CONTENT_TYPE, PROTOBUF);
        self.client.send_bytes(Request::from_parts(head, body))
    }
}

/// What sends spans to the collector at this address.
///
/// # Errors
/// When the address or the client cannot be used.
pub(super) fn exporter(endpoint: &str, headers: HeaderMap) -> Result<SpanExporter, String> {
    let client =
        outbound::client(endpoint).map_err(|_| "this system has no trust anchors".to_owned())?;
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Client { client, headers })
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(address(endpoint))
        .with_timeout(EXPORT_MAX)
        .build();
    let mut exporter = exporter.map_err(|error| error.to_string())?;
    let service = [
        KeyValue::new("service.name", "rookery"),
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
    ];
    exporter.set_resource(&Resource::builder_empty().with_attributes(service).build());
    Ok(exporter)
}

async fn run(
    mut spans: mpsc::Receiver<Span>,
    exporter: SpanExporter,
    counts: Arc<SpanCounts>,
    stop: CancellationToken,
) {
    let scope = InstrumentationScope::builder("rookery").build();
    let mut well = true;
    loop {
        let mut batch = Vec::new();
        tokio::select! {
            _ = spans.recv_many(&mut batch, BATCH_SPANS_MAX) => {
                let rest = BATCH_SPANS_MAX - batch.len();
                if rest > 0 && !stop.is_cancelled() {
                    tokio::select! {
                        () = tokio::time::sleep(GATHER) => {}
                        () = stop.cancelled() => {}
                    }
                    take_waiting(&mut spans, &mut batch);
                }
            }
            () = stop.cancelled() => {
                spans.close();
                take_waiting(&mut spans, &mut batch);
            }
        }
        if batch.is_empty() {
            return;
        }
        let number = batch.len() as u64;
        let batch = batch.into_iter().map(|span| data(span, &scope)).collect();
        let sent = exporter.export(batch).await;
        let counter = if sent.is_ok() { &counts.sent } else { &counts.failed };
        counter.fetch_add(number, Relaxed);
        well = tell(well, &sent);
    }
}

fn take_waiting(spans: &mut mpsc::Receiver<Span>, batch: &mut Vec<Span>) {
    while batch.len() < BATCH_SPANS_MAX
        && let Ok(span) = spans.try_recv()
    {
        batch.push(span);
    }
}

/// Logs that the collector began to refuse or to take; whether it takes.
fn tell(well: bool, sent: &OTelSdkResult) -> bool {
    match sent {
        Ok(()) if !well => tracing::info!("the collector takes traces again"),
        Err(error) if well => tracing::warn!(%error, "the collector does not take traces"),
        _ => {}
    }
    sent.is_ok()
}

/// A span in the words of the exporter.
fn data(span: Span, scope: &InstrumentationScope) -> SpanData {
    let context = SpanContext::new(
        TraceId::from_bytes(span.trace.0),
        SpanId::from_bytes(span.id.0),
        TraceFlags::SAMPLED,
        false,
        TraceState::NONE,
    );
    let attributes = span.fields.into_iter().map(|(name, value)| match value {
        Value::Text(text) => KeyValue::new(name, text),
        Value::Number(number) => KeyValue::new(name, number),
    });
    SpanData {
        span_context: context,
        parent_span_id: span.parent.map_or(SpanId::INVALID, |id| SpanId::from_bytes(id.0)),
        parent_span_is_remote: span.entry && span.parent.is_some(),
        span_kind: if span.entry { SpanKind::Server } else { SpanKind::Internal },
        name: span.name,
        start_time: span.began,
        end_time: span.ended,
        attributes: attributes.collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: span.failure.map_or(Status::Unset, Status::error),
        instrumentation_scope: scope.clone(),
    }
}
