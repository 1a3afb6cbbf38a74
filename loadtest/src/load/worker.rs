//! One connection at work: takes the next request, sends it, notes what came.

use std::{
    borrow::Cow,
    cell::RefCell,
    rc::Rc,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use serde::Deserialize;
use tokio::time::timeout;

use super::{
    Recorder, Shared, Traffic,
    pacer::Pacer,
    recorder::Sample,
    schedule::{Schedule, Take},
};
use crate::client::{ClientError, Connection};

/// Pause after a connection could not be opened, so that a dead server is not hammered.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);

/// What the connections of one thread share.
pub(super) struct Work {
    pub(super) recorder: RefCell<Recorder>,
    pub(super) pacer: Rc<Pacer>,
    /// None in a closed loop.
    pub(super) schedule: Option<RefCell<Schedule>>,
    pub(super) start: Instant,
    pub(super) warmup: Duration,
}

pub(super) struct Worker<'a> {
    shared: &'a Shared,
    work: &'a Work,
    connection: Connection,
    traffic: Box<dyn Traffic>,
    request: Vec<u8>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        work: &'a Work,
        connection: Connection,
        seed: u64,
    ) -> Self {
        let traffic = shared.workload.worker(seed);
        Self { shared, work, connection, traffic, request: Vec::with_capacity(1024) }
    }

    pub(super) async fn run(mut self) {
        match &self.work.schedule {
            Some(schedule) => self.open_loop(schedule).await,
            None => self.closed_loop().await,
        }
    }

    async fn open_loop(&mut self, schedule: &RefCell<Schedule>) {
        let start = self.work.start;
        loop {
            let taken = schedule.borrow_mut().take(start.elapsed());
            self.note_dropped(schedule);
            let intended = match taken {
                Take::Done => return,
                Take::Due(intended) => intended,
                Take::At(intended) => {
                    self.work.pacer.until(start + intended).await;
                    let late = start.elapsed().saturating_sub(intended);
                    self.work.recorder.borrow_mut().record_lateness(late);
                    intended
                }
            };
            let lane = self.traffic.next(&mut self.request);
            let sent = Instant::now();
            let error = self.exchange().await;
            // Whether it counts is decided by when it was meant to be sent, never by how it went.
            if intended >= self.work.warmup {
                self.record(lane, start + intended, sent, Instant::now(), error);
            }
        }
    }

    /// The first measured answer of a connection counts also when it comes after the end, so that
    /// of a server slower than the phase is long something is known.
    async fn closed_loop(&mut self) {
        let end = self.work.warmup + self.shared.plan.duration;
        let begin = self.work.start + self.work.warmup;
        let mut has_counted = false;
        loop {
            let sent = Instant::now();
            let is_over = sent.saturating_duration_since(self.work.start) >= end;
            if is_over && has_counted || !self.spend() {
                return;
            }
            let lane = self.traffic.next(&mut self.request);
            let error = self.exchange().await;
            let done = Instant::now();
            let is_inside = done.saturating_duration_since(self.work.start) <= end
                || self.shared.budget.is_some()
                || !has_counted;
            if sent >= begin && is_inside {
                self.record(lane, sent, sent, done, error);
                has_counted = true;
            }
        }
    }

    /// Takes one request from the plan's budget, where it has one.
    fn spend(&self) -> bool {
        self.shared.budget.as_ref().is_none_or(|budget| {
            let take = |left: u64| left.checked_sub(1);
            budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
        })
    }

    fn note_dropped(&self, schedule: &RefCell<Schedule>) {
        let mut schedule = schedule.borrow_mut();
        while let Some(intended) = schedule.next_dropped() {
            if let Some(measured) = intended.checked_sub(self.work.warmup) {
                self.work.recorder.borrow_mut().record_dropped(measured);
                self.shared.live.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn record(
        &self,
        lane: usize,
        intended: Instant,
        sent: Instant,
        done: Instant,
        error: Option<Cow<'static, str>>,
    ) {
        let counter = if error.is_none() { &self.shared.live.ok } else { &self.shared.live.errors };
        counter.fetch_add(1, Ordering::Relaxed);
        self.work.recorder.borrow_mut().record(Sample {
            lane,
            intended: self.work.measured(intended),
            sent: self.work.measured(sent),
            done: self.work.measured(done),
            error: error.as_deref(),
        });
    }

    /// Sends the request; the code of what went wrong, if anything did.
    async fn exchange(&mut self) -> Option<Cow<'static, str>> {
        let timed = timeout(self.shared.plan.timeout, self.attempt()).await;
        match timed.unwrap_or(Err(ClientError::Timeout)) {
            Ok(code) => code.map(Cow::Owned),
            Err(error) => {
                if matches!(error, ClientError::Connect { .. }) {
                    tokio::time::sleep(RECONNECT_PAUSE).await;
                }
                Some(Cow::Borrowed(error.name()))
            }
        }
    }

    async fn attempt(&mut self) -> Result<Option<String>, ClientError> {
        if !self.connection.is_usable(Instant::now()) {
            self.connection = self.shared.endpoint.connect().await?;
        }
        let answer = self.connection.exchange(&self.request).await?;
        Ok((!answer.is_ok()).then(|| error_code(answer.status, answer.body)))
    }
}

/// The code of a refusal: the server's, else its status.
fn error_code(status: u16, body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow)]
        error: Inner<'a>,
    }
    #[derive(Deserialize)]
    struct Inner<'a> {
        code: Cow<'a, str>,
    }
    serde_json::from_slice::<Envelope<'_>>(body)
        .map_or_else(|_| format!("http_{status}"), |envelope| envelope.error.code.into_owned())
}
