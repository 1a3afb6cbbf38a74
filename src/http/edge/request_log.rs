//! One line per request, written once, at the boundary. Expected outcomes are not errors: a
//! refusal is `info`, what the service failed at is `error`, what it could not take is `warn`.
//! Above the settings' rate requests are counted, and the next line tells how many; those that
//! succeed, those that are refused and those that could not be taken each have the rate of their
//! own, so that none hides the others. What the service failed at always has a line. An event stream
//! has one when it begins, as its answer's head is complete then, and another when it ends.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{body::Body, response::Response};
use http::{HeaderValue, Method, StatusCode, header};
use http_body_util::BodyExt as _;
use rookery_domain::{ErrorCode, trace::TraceId};
use rookery_storage::log_throttle::LogThrottle;

use super::figures::verb;
use crate::http::reply::EVENT_STREAM;

/// Decides which requests get a line.
#[derive(Debug)]
pub struct RequestLog {
    successes: LogThrottle,
    refusals: LogThrottle,
    /// Of what was too much to take: whoever sends it can send more of it.
    untaken: LogThrottle,
    skipped: AtomicU32,
}

/// What a line tells.
#[derive(Debug)]
pub struct Line<'a> {
    /// The verb.
    pub method: &'a Method,
    /// The route's template: the path itself may hold a secret.
    pub route: &'a str,
    /// The answer's status.
    pub status: StatusCode,
    /// The error's code, for an answer that is one.
    pub code: Option<ErrorCode>,
    /// What failed beneath, which the answer does not tell.
    pub cause: Option<&'a str>,
    /// The request's id.
    pub request_id: &'a HeaderValue,
    /// The trace that the request belongs to.
    pub trace_id: Option<TraceId>,
    /// The client.
    pub client: IpAddr,
    /// From the complete head to the answer's head.
    pub took: Duration,
}

/// An event stream, until it is dropped with its answer's body: then it has a line.
#[derive(Debug)]
pub(super) struct Streaming {
    /// Gets the line.
    pub(super) log: Arc<RequestLog>,
    /// As echoed.
    pub(super) request_id: HeaderValue,
    /// The client's address.
    pub(super) client: IpAddr,
    /// When its request's head was complete.
    pub(super) began: Instant,
}

impl Drop for Streaming {
    fn drop(&mut self) {
        let now = Instant::now();
        let took = now.saturating_duration_since(self.began);
        if self.log.wants(StatusCode::OK, now) {
            tracing::info!(
                target: "rookery::request",
                {
                request.id = self.request_id.to_str().unwrap_or_default(),
                client.address = %self.client,
                duration_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
                },
                "stream ended"
            );
        }
    }
}

/// What stands in the place of a status, in the log and in figures, where a request has no answer, since its
/// client left before: 499, as other servers have it. It is never sent.
pub(super) fn unanswered() -> StatusCode {
    StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST)
}

/// Has the log tell when `response` has ended, if it is an event stream.
pub(super) fn watch_stream(response: Response, streaming: impl FnOnce() -> Streaming) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE);
    if kind.is_none_or(|kind| kind != EVENT_STREAM) {
        return response;
    }
    let streaming = streaming();
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _ = &streaming;
            frame
        }))
    })
}

impl RequestLog {
    /// A log of at most this many requests a second that succeed, as many that are refused, and as
    /// many that could not be taken.
    #[must_use]
    pub fn new(lines_per_second_max: u32) -> Self {
        Self {
            successes: LogThrottle::new(lines_per_second_max),
            refusals: LogThrottle::new(lines_per_second_max),
            untaken: LogThrottle::new(lines_per_second_max),
            skipped: AtomicU32::new(0),
        }
    }

    /// Whether this request gets a line. Failures of the service always do.
    #[must_use]
    pub fn wants(&self, status: StatusCode, now: Instant) -> bool {
        let lines = match status {
            StatusCode::SERVICE_UNAVAILABLE => &self.untaken,
            // What this service does not have is refused to whoever asks for it.
            StatusCode::NOT_IMPLEMENTED => &self.refusals,
            status if status.is_server_error() => return true,
            status if status.is_client_error() => &self.refusals,
            _ => &self.successes,
        };
        let is_warning = status == StatusCode::SERVICE_UNAVAILABLE;
        if !is_warning && !tracing::enabled!(target: "rookery::request", tracing::Level::INFO) {
            return false;
        }
        let wanted = lines.has_room(now);
        if !wanted {
            self.skipped.fetch_add(1, Ordering::Relaxed);
        }
        wanted
    }

    /// Tells of what was no request, under the bound of refusals.
    pub fn write_bad_head(&self, client: IpAddr, why: &hyper::Error, now: Instant) {
        if self.wants(StatusCode::BAD_REQUEST, now) {
            tracing::info!(
                target: "rookery::request",
                { client.address = %client, error.cause = %why },
                "no request"
            );
        }
    }

    /// Writes the line.
    pub fn write(&self, line: &Line<'_>) {
        let skipped = self.skipped.swap(0, Ordering::Relaxed);
        macro_rules! event {
            ($level:ident) => {
                tracing::$level!(
                    target: "rookery::request",
                    {
                    request.id = line.request_id.to_str().unwrap_or_default(),
                    trace.id = line.trace_id.map(tracing::field::display),
                    http.method = verb(line.method),
                    http.route = line.route,
                    http.status = line.status.as_u16(),
                    error.code = line.code.map(ErrorCode::as_str),
                    error.cause = line.cause,
                    client.address = %line.client,
                    duration_us = u64::try_from(line.took.as_micros()).unwrap_or(u64::MAX),
                    // A name that begins with `log.` is left out of the text format.
                    skipped = (skipped > 0).then_some(skipped),
                    },
                    "request"
                )
            };
        }
        match line.status {
            StatusCode::SERVICE_UNAVAILABLE => event!(warn),
            StatusCode::NOT_IMPLEMENTED => event!(info),
            status if status.is_server_error() => event!(error),
            _ => event!(info),
        }
    }
}
