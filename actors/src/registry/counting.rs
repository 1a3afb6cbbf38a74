//! A message from being sent to being answered: it is counted, and it is a span of its trace.
//! While it is queued or uncommitted, it counts in its app's queue too.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
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

/// What the messages of an app weigh that are on their way to it, queued or uncommitted, in bytes.
#[derive(Debug, Default)]
pub(super) struct Weights {
    all: AtomicUsize,
    visitors: Mutex<OfVisitors>,
}

#[derive(Debug, Default)]
struct OfVisitors {
    all: usize,
    /// Only networks that have some.
    by_network: HashMap<u64, usize>,
}

impl Weights {
    /// Whether there is no such message.
    pub(super) fn is_empty(&self) -> bool {
        self.all.load(Ordering::Relaxed) == 0
    }

    /// Adds a message, unless all would weigh more than `max` with it. Visitors, who may be anybody, have
    /// half of that at most, and one `network` half of what they have. A single message is let in whatever
    /// it weighs.
    fn add(&self, bytes: usize, network: Option<u64>, max: usize) -> bool {
        if let Some(network) = network
            && !self.visitors.lock().add(bytes, network, max / 2)
        {
            return false;
        }
        let before = self.all.fetch_add(bytes, Ordering::Relaxed);
        let fits = fits(before, bytes, max);
        if !fits {
            self.remove(bytes, network);
        }
        fits
    }

    fn remove(&self, bytes: usize, network: Option<u64>) {
        self.all.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(network) = network {
            self.visitors.lock().remove(bytes, network);
        }
    }
}

impl OfVisitors {
    fn add(&mut self, bytes: usize, network: u64, max: usize) -> bool {
        let of_network = self.by_network.get(&network).copied().unwrap_or(0);
        let fits = fits(self.all, bytes, max) && fits(of_network, bytes, max / 2);
        if fits {
            self.all += bytes;
            self.by_network.insert(network, of_network + bytes);
        }
        fits
    }

    fn remove(&mut self, bytes: usize, network: u64) {
        self.all -= bytes;
        if let Entry::Occupied(mut held) = self.by_network.entry(network) {
            *held.get_mut() -= bytes;
            if *held.get() == 0 {
                held.remove();
            }
        }
    }
}

const fn fits(before: usize, bytes: usize, max: usize) -> bool {
    before == 0 || before + bytes <= max
}

/// A message that is on its way, queued or uncommitted, as it is counted.
pub(crate) struct Queued {
    slot: Arc<Slot>,
    bytes: usize,
    /// Whence a visitor sent it.
    network: Option<u64>,
    /// Who looks at the app, and the message's number there.
    seen: Option<(Arc<Watch>, u64)>,
}

impl Queued {
    /// A message of so many bytes enters the queue of `slot`'s app; it leaves when this is dropped.
    /// `None` when the app's messages would weigh more than they may, of `bytes_max` together.
    pub(crate) fn new(
        slot: &Arc<Slot>,
        bytes: usize,
        bytes_max: usize,
        network: Option<u64>,
    ) -> Option<Self> {
        if !slot.weights.add(bytes, network, bytes_max) {
            return None;
        }
        slot.observer.queued(slot.id, 1);
        let seen =
            slot.activity.watch.load().as_ref().map(|watch| (watch.clone(), watch.entered()));
        Some(Self { slot: slot.clone(), bytes, network, seen })
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.slot.weights.remove(self.bytes, self.network);
        self.slot.observer.queued(self.slot.id, -1);
        if let Some((watch, number)) = &self.seen {
            watch.left(*number);
        }
    }
}
