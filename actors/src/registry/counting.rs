//! A message from being sent to being answered: it is counted, and it is a span of its trace.
//! While it is queued or uncommitted, it counts in its app's queue too.

use std::sync::{Arc, atomic::Ordering};

use rookery_domain::{
    Error, Result,
    id::AppId,
    trace::{Trace, Value},
};
use rookery_storage::trace;
use tokio::time::Instant;

use super::{AppHandle, slot::Slot};
use crate::{
    app::message::Reply,
    observe::{
        Ended,
        activity::Watch,
        counters::{MessageKind, MessageOutcome},
    },
};

/// A message that is on its way: counted when it ends, however it ends.
pub(super) struct Counting<'a> {
    app: &'a AppHandle,
    kind: MessageKind,
    bytes: usize,
    pub(super) began: Instant,
    /// It was not let into the queue.
    pub(super) shed: bool,
    outcome: MessageOutcome,
    /// Its span, when somebody traces the request.
    pub(super) trace: Option<Box<Trace>>,
}

impl<'a> Counting<'a> {
    pub(super) fn new(app: &'a AppHandle, kind: MessageKind, bytes: usize) -> Self {
        let outcome = MessageOutcome::Abandoned;
        let trace = trace::current().map(|trace| Box::new(trace.child()));
        Self { app, kind, bytes, began: Instant::now(), shed: false, outcome, trace }
    }

    pub(super) fn answered(&mut self, answer: &Result<Reply>) {
        self.outcome = match answer {
            Ok(_) => MessageOutcome::Ok,
            Err(_) if self.shed => MessageOutcome::Shed,
            Err(error) => MessageOutcome::of(error),
        };
    }
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        let env = self.app.env();
        let now = Instant::now();
        if let Some(trace) = &self.trace {
            let outcome = self.outcome.as_str();
            let fields = vec![
                ("app.id", self.app.id().to_string().into()),
                ("message.kind", self.kind.as_str().into()),
                ("message.outcome", outcome.into()),
                ("message.bytes", self.bytes.into()),
            ];
            let failure = self.outcome.is_failure().then_some(outcome);
            let name = format!("message {}", self.kind.as_str());
            trace.end(name, self.began.into_std(), now.into_std(), failure, fields);
        }
        let message = Ended {
            kind: self.kind,
            outcome: self.outcome,
            bytes: self.bytes,
            took: now.saturating_duration_since(self.began),
            at: env.clock.now(),
        };
        env.observer.ended(&self.app.slot, message);
    }
}

/// Ends a span below `trace` that began at `began` and ends now: something about `app`.
pub(crate) fn end_span(
    trace: &Trace,
    name: &'static str,
    began: Instant,
    error: Option<&Error>,
    app: AppId,
) {
    let mut fields = vec![("app.id", Value::from(app.to_string()))];
    fields.extend(error.map(|error| ("error.type", error.code.as_str().into())));
    let failed = error.map(|error| error.code).filter(|code| code.status() >= 500);
    let failed = failed.map(|code| code.as_str());
    trace.child().end(name, began.into_std(), Instant::now().into_std(), failed, fields);
}

/// A message that is queued or uncommitted, as it is counted.
pub(crate) struct Queued {
    slot: Arc<Slot>,
    bytes: usize,
    /// Who looks at the app, and the message's number there.
    seen: Option<(Arc<Watch>, u64)>,
}

impl Queued {
    /// A message of so many bytes enters the queue of `slot`'s app; it leaves when this is dropped.
    /// `None` when the app's messages would weigh more than `bytes_max` together. A single message
    /// is let in whatever it weighs.
    pub(crate) fn new(slot: &Arc<Slot>, bytes: usize, bytes_max: usize) -> Option<Self> {
        let before = slot.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        if before > 0 && before + bytes > bytes_max {
            slot.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return None;
        }
        slot.observer.queued(slot.id, 1);
        let seen =
            slot.activity.watch.load().as_ref().map(|watch| (watch.clone(), watch.entered()));
        Some(Self { slot: slot.clone(), bytes, seen })
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.slot.queued_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.slot.observer.queued(self.slot.id, -1);
        if let Some((watch, number)) = &self.seen {
            watch.left(*number);
        }
    }
}
