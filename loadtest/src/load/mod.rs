//! Sending requests by a plan and recording what came of them.
//!
//! Each generator thread has a runtime, connections and histograms of its own; threads share
//! nothing but the progress counters, and are merged when all is over.

pub(crate) mod pacer;
pub mod recorder;
pub mod schedule;
mod single;
mod thread;
pub mod traffic;
mod worker;

use std::{
    sync::{
        Arc, Barrier, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::{
    client::{ClientError, Endpoint},
    failure::{Failure, Result},
};
pub use recorder::Recorder;
pub use single::one_by_one;
pub use traffic::{Traffic, Workload};

/// How requests are timed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mode {
    /// So many a second, whatever the server does.
    Open {
        /// Requests a second.
        rate: f64,
    },
    /// Each connection sends its next request when the last one is answered. Shows throughput; its
    /// latencies leave out everything that was not sent because the server was slow.
    Closed,
}

/// One measured phase.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How requests are timed.
    pub mode: Mode,
    /// Connections, and so requests in flight at most, over all threads.
    pub connections: usize,
    /// Generator threads.
    pub threads: usize,
    /// What is sent before measuring begins.
    pub warmup: Duration,
    /// What is measured.
    pub duration: Duration,
    /// In a closed loop: ends the phase after so many requests; then nothing is warm-up.
    pub requests_max: Option<u64>,
    /// In an open loop: requests that may wait for a connection; further ones are dropped.
    pub backlog_max: usize,
    /// Time for one request, from sending it.
    pub timeout: Duration,
    /// Where the random choices begin.
    pub seed: u64,
}

/// Counters that somebody may watch while it runs.
#[derive(Debug, Default)]
pub struct Live {
    /// Answered as wanted.
    pub ok: AtomicU64,
    /// Failed.
    pub errors: AtomicU64,
    /// Dropped.
    pub dropped: AtomicU64,
}

/// The generator's own cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct GeneratorUse {
    /// CPU seconds of its threads.
    pub cpu_s: f64,
    /// The busiest thread's share of one CPU.
    pub busiest: f64,
    /// Its threads.
    pub threads: usize,
}

/// What a phase left behind.
#[derive(Debug)]
pub struct Recording {
    /// What was seen.
    pub recorder: Recorder,
    /// Time over which it was measured.
    pub elapsed: Duration,
    /// What the generator cost.
    pub generator: GeneratorUse,
}

/// What all threads of a phase know.
pub(crate) struct Shared {
    pub(crate) endpoint: Endpoint,
    pub(crate) plan: Plan,
    pub(crate) workload: Arc<dyn Workload>,
    pub(crate) live: Arc<Live>,
    pub(crate) cancel: CancellationToken,
    /// Requests that may still be begun, where the plan bounds them.
    pub(crate) budget: Option<AtomicU64>,
    ready: Barrier,
    failed: AtomicBool,
    start: OnceLock<Instant>,
}

/// Time between the last connection and the first request, for all threads to be there.
const LEAD: Duration = Duration::from_millis(20);

impl Shared {
    /// Waits for the other threads; when to begin, or none if one of them cannot.
    pub(crate) fn meet(&self, is_ready: bool) -> Option<Instant> {
        if !is_ready {
            self.failed.store(true, Ordering::SeqCst);
        }
        self.ready.wait();
        let start = *self.start.get_or_init(|| Instant::now() + LEAD);
        (!self.failed.load(Ordering::SeqCst)).then_some(start)
    }
}

/// Runs one phase to its end.
///
/// # Errors
/// When connections cannot be opened, the machine refuses threads or timers, or when cancelled.
pub async fn run(
    endpoint: &Endpoint,
    plan: &Plan,
    workload: Arc<dyn Workload>,
    live: Arc<Live>,
    cancel: &CancellationToken,
) -> Result<Recording> {
    let threads = plan.threads.clamp(1, plan.connections.max(1));
    let shared = Arc::new(Shared {
        endpoint: endpoint.clone(),
        plan: plan.clone(),
        workload,
        live,
        cancel: cancel.clone(),
        budget: plan.requests_max.map(AtomicU64::new),
        ready: Barrier::new(threads),
        failed: AtomicBool::new(false),
        start: OnceLock::new(),
    });
    let mut running = Vec::with_capacity(threads);
    for number in 0..threads {
        let (done, outcome) = oneshot::channel();
        let shared = Arc::clone(&shared);
        let name = format!("load-{number}");
        let body = move || drop(done.send(thread::run(&shared, number, threads)));
        let spawned = std::thread::Builder::new().name(name).spawn(body);
        spawned.map_err(|error| Failure::Client(ClientError::Io(error)))?;
        running.push(outcome);
    }
    let mut total: Option<thread::Outcome> = None;
    let mut failure = None;
    for outcome in running {
        match outcome.await {
            Ok(Ok(part)) => match &mut total {
                None => total = Some(part),
                Some(total) => total.merge(&part),
            },
            // A thread that only waited for the one that failed has nothing to add.
            Ok(Err(error)) => failure = failure.or(error),
            Err(_) => failure = failure.or(Some(ClientError::Protocol("a generator thread ended"))),
        }
    }
    if cancel.is_cancelled() {
        return Err(Failure::Interrupted);
    }
    match (failure, total) {
        (None, Some(total)) => Ok(total.into_recording(plan)),
        (failure, _) => Err(failure.unwrap_or(ClientError::Closed).into()),
    }
}
