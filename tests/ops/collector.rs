//! A collector of traces: takes OTLP over HTTP as the standard has it, decodes it with the
//! standard's own messages, and hands out the spans.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use opentelemetry_proto::tonic::{
    collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse},
    common::v1::{KeyValue, any_value::Value},
    trace::v1::{Span, status::StatusCode as SpanStatus},
};
use prost::Message as _;
use tokio::sync::Notify;

/// A running collector.
pub struct Collector {
    address: SocketAddr,
    heard: Arc<Heard>,
}

struct Heard {
    status: StatusCode,
    requests: Mutex<Vec<(HeaderMap, Bytes)>>,
    came: Notify,
}

/// A span as the collector understood it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The trace, in hexadecimal.
    pub trace: String,
    /// Its id.
    pub id: String,
    /// Its parent's id; empty for none.
    pub parent: String,
    /// Its name.
    pub name: String,
    /// `SPAN_KIND_SERVER` and the like.
    pub kind: String,
    /// Start and end, in nanoseconds since 1970.
    pub time: (u64, u64),
    /// Its attributes, as text.
    pub fields: BTreeMap<String, String>,
    /// What it failed with.
    pub failure: Option<String>,
}

impl Collector {
    /// A collector that answers with `status`.
    pub async fn start(status: StatusCode) -> Self {
        let heard = Arc::new(Heard { status, requests: Mutex::default(), came: Notify::new() });
        let routes = Router::new().route("/v1/traces", post(take)).with_state(Arc::clone(&heard));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { address, heard }
    }

    /// Its address, for the settings.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that was sent to it, as it came.
    pub fn requests(&self) -> Vec<(HeaderMap, Bytes)> {
        self.heard.requests.lock().expect("no panic").clone()
    }

    /// The spans that were sent to it, once `enough` says so of them. The spans of a request come
    /// before its own.
    pub async fn until(&self, enough: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        loop {
            let spans = self.spans();
            if enough(&spans) {
                return spans;
            }
            self.heard.came.notified().await;
        }
    }

    /// The spans that were sent to it.
    pub fn spans(&self) -> Vec<Seen> {
        let mut seen = Vec::new();
        for (_, body) in self.requests() {
            let request = ExportTraceServiceRequest::decode(body).expect("OTLP");
            for resource in request.resource_spans {
                let service = fields(&resource.resource.expect("a resource").attributes);
                assert_eq!(service["service.name"], "rookery");
                assert_eq!(service["service.version"], env!("CARGO_PKG_VERSION"));
                let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
                seen.extend(spans.map(Seen::of));
            }
        }
        seen
    }
}

impl Seen {
    fn of(span: Span) -> Self {
        let hex = |id: &[u8]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let status = span.status.clone().unwrap_or_default();
        let failed = status.code() == SpanStatus::Error;
        Self {
            trace: hex(&span.trace_id),
            id: hex(&span.span_id),
            parent: hex(&span.parent_span_id),
            kind: span.kind().as_str_name().to_owned(),
            time: (span.start_time_unix_nano, span.end_time_unix_nano),
            fields: fields(&span.attributes),
            failure: failed.then_some(status.message),
            name: span.name,
        }
    }
}

fn fields(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |field: &KeyValue| match field.value.as_ref().and_then(|any| any.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("{}: {other:?}", field.key),
    };
    attributes.iter().map(|field| (field.key.clone(), text(field))).collect()
}

async fn take(State(heard): State<Arc<Heard>>, headers: HeaderMap, body: Bytes) -> Response {
    if headers["content-type"] != "application/x-protobuf" {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    }
    heard.requests.lock().expect("no panic").push((headers, body));
    heard.came.notify_one();
    let done = ExportTraceServiceResponse::default().encode_to_vec();
    (heard.status, [("content-type", "application/x-protobuf")], done).into_response()
}
