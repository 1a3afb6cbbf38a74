//! Traces: the spans that tell where one request's time went, and how they belong together
//! (W3C Trace Context, OpenTelemetry's trace model).
//!
//! A [`Trace`] travels with the work it follows: the boundary begins one for a request, each room
//! adds spans below it. A request that is not traced carries none, which costs nothing. What is
//! not here: who is traced, how spans are sent (the server's `traces`), and how a trace travels
//! through a task (`rookery_storage::trace`).

use std::{
    borrow::Cow,
    fmt,
    sync::Arc,
    time::{Instant, SystemTime},
};

use crate::text::{Hex, unhex};

/// The id of a trace, 16 bytes, not all zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(pub [u8; 16]);

/// The id of a span in its trace, 8 bytes, not all zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(pub [u8; 8]);

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

/// What a caller says of the trace that its request belongs to (the header `traceparent`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace: TraceId,
    /// The caller's own span.
    pub span: SpanId,
    /// Whether the caller keeps its spans of it.
    pub sampled: bool,
}

impl TraceParent {
    /// Reads the header; `None` when it is not well formed, or its version is the forbidden one.
    /// Later versions may say more behind what is known (W3C Trace Context, 4.3).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let version = unhex::<1>(parts.next()?)?[0];
        let trace = TraceId(unhex(parts.next()?)?);
        let span = SpanId(unhex(parts.next()?)?);
        let flags = unhex::<1>(parts.next()?)?[0];
        let known = version != 0xff && (version != 0 || parts.next().is_none());
        let real = trace.0 != [0; 16] && span.0 != [0; 8];
        (known && real).then_some(Self { trace, span, sampled: flags & 1 == 1 })
    }
}

/// A fact about a span. No secret, no path, no content may be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Words.
    Text(Cow<'static, str>),
    /// A number.
    Number(i64),
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// A span that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The trace.
    pub trace: TraceId,
    /// Its own id.
    pub id: SpanId,
    /// The span that it is part of.
    pub parent: Option<SpanId>,
    /// Whether it is this service's first of the trace: its parent is the caller's.
    pub entry: bool,
    /// What was done, one of few.
    pub name: Cow<'static, str>,
    /// When it began.
    pub began: SystemTime,
    /// When it ended, not before it began.
    pub ended: SystemTime,
    /// How the service failed at it; `None` when it did not, whatever the answer was.
    pub failure: Option<&'static str>,
    /// More about it.
    pub fields: Vec<(&'static str, Value)>,
}

/// Takes spans as they end. Called wherever work is done: it must return at once.
pub trait Spans: Send + Sync {
    /// An id for a new span.
    fn new_id(&self) -> SpanId;

    /// Takes a span, or drops it when there are too many.
    fn take(&self, span: Span);
}

/// A place in a trace: the span that is being made, below which further ones are.
#[derive(Clone)]
pub struct Trace {
    shared: Arc<Shared>,
    id: SpanId,
    parent: Option<SpanId>,
}

/// What all places of a trace share.
struct Shared {
    spans: Arc<dyn Spans>,
    trace: TraceId,
    entry: SpanId,
    /// One moment by both clocks: spans are measured by the one that never jumps.
    at: (Instant, SystemTime),
}

impl Trace {
    /// A trace's place in this service, entered at `at`, below the caller's span if there is one.
    #[must_use]
    pub fn enter(
        spans: Arc<dyn Spans>,
        trace: TraceId,
        parent: Option<SpanId>,
        at: (Instant, SystemTime),
    ) -> Self {
        let entry = spans.new_id();
        Self { shared: Arc::new(Shared { spans, trace, entry, at }), id: entry, parent }
    }

    /// The trace.
    #[must_use]
    pub fn trace_id(&self) -> TraceId {
        self.shared.trace
    }

    /// A place below this one.
    #[must_use]
    pub fn child(&self) -> Self {
        let id = self.shared.spans.new_id();
        Self { shared: Arc::clone(&self.shared), id, parent: Some(self.id) }
    }

    /// Ends this place's span.
    pub fn end(
        &self,
        name: impl Into<Cow<'static, str>>,
        began: Instant,
        ended: Instant,
        failure: Option<&'static str>,
        fields: Vec<(&'static str, Value)>,
    ) {
        let began = self.system_time(began);
        self.shared.spans.take(Span {
            trace: self.shared.trace,
            id: self.id,
            parent: self.parent,
            entry: self.id == self.shared.entry,
            name: name.into(),
            began,
            ended: self.system_time(ended).max(began),
            failure,
            fields,
        });
    }

    fn system_time(&self, at: Instant) -> SystemTime {
        let (instant, system) = self.shared.at;
        match at.checked_duration_since(instant) {
            Some(later) => system + later,
            None => system - instant.saturating_duration_since(at),
        }
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({}, {})", self.shared.trace, self.id)
    }
}
