//! What operators see of the whole server: once a second the counters of every room are read and
//! made into rates. Nothing here walks apps; a tick costs the same with one app and with a
//! hundred thousand.
//!
//! What is not here: the counters (`rookery_actors::observe`, `rookery_storage`, `http::figures`),
//! the routes (`routes::ops`) and the terminal (`terminal`).

pub mod audit;
pub mod exposition;
pub mod metrics;
pub mod overview;
pub mod problems;
pub mod process;
pub mod readiness;
pub mod view;

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rookery_actors::observe::{
    RuntimeTotals,
    counters::MessageOutcome,
    histogram::{Distribution, quantile_us},
    lifecycle::{CountedState, LifecycleTotals},
};
use rookery_domain::Timestamp;
use rookery_storage::{
    apps,
    writer::{COMMIT_BUCKETS_US, WriterHealth},
};
use tokio::{
    sync::{Semaphore, watch},
    task::JoinHandle,
    time::{Instant, sleep_until},
};

use self::{
    audit::Audit,
    overview::{Apps, Http, Memory, Messages, Overview, Second, Writer},
    readiness::Readiness,
};
use crate::{
    http::edge::figures::{HttpFigures, HttpTotals},
    state::{AppState, State},
};

/// Time between two ticks.
const TICK: Duration = Duration::from_secs(1);
/// Time between two looks at the event loop.
const LAG_LOOK: Duration = Duration::from_millis(100);
/// Ticks between two counts of the apps in storage.
const STORED_EVERY: u64 = 60;
/// Live pages open at a time.
const STREAMS_MAX: usize = 64;

/// The operator's view of a server.
pub struct Ops {
    /// Counts of answers.
    pub http: HttpFigures,
    /// Whether a commit can be made.
    pub readiness: Readiness,
    /// What operators did.
    pub audit: Audit,
    started: Instant,
    started_at: Timestamp,
    lag_us: AtomicU64,
    stored: AtomicU64,
    overview: ArcSwap<Overview>,
    ticks: watch::Sender<u64>,
    last: Mutex<Option<Last>>,
    /// Open live pages.
    pub streams: Arc<Semaphore>,
}

/// What the counters of all rooms said at one time.
struct Reading {
    at: Instant,
    runtime: RuntimeTotals,
    writer: WriterHealth,
    http: HttpTotals,
}

/// What the last tick leaves to the next one.
struct Last {
    reading: Reading,
    seconds: VecDeque<Second>,
}

impl Ops {
    /// The view of a server that starts `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self {
            http: HttpFigures::default(),
            readiness: Readiness::default(),
            audit: Audit::default(),
            started: Instant::now(),
            started_at: now,
            lag_us: AtomicU64::new(0),
            stored: AtomicU64::new(0),
            overview: ArcSwap::default(),
            ticks: watch::Sender::new(0),
            last: Mutex::default(),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
        }
    }

    /// The picture of the last tick.
    #[must_use]
    pub fn overview(&self) -> Arc<Overview> {
        self.overview.load_full()
    }

    /// Changes with every tick.
    #[must_use]
    pub fn ticks(&self) -> watch::Receiver<u64> {
        self.ticks.subscribe()
    }

    /// When the server started: the same however often it is asked, whatever the clock does.
    #[must_use]
    pub const fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// Time since the server started.
    #[must_use]
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// How late the event loop was at worst since the last tick.
    #[must_use]
    pub fn lag(&self) -> Duration {
        Duration::from_micros(self.lag_us.load(Relaxed))
    }

    /// Apps in storage, as counted last, that are in none of the counted states.
    fn dormant(&self, now: &LifecycleTotals) -> u64 {
        let counted: u64 = now.states.iter().sum();
        self.stored.load(Relaxed).saturating_sub(counted)
    }

    /// Counts the apps in storage.
    pub async fn count_stored(&self, state: &State) {
        match apps::count(&state.rooms.db).await {
            Ok(count) => self.stored.store(count, Relaxed),
            Err(error) => tracing::warn!(%error, "apps could not be counted"),
        }
    }

    /// Ends a second: reads every counter and makes the next picture.
    pub fn tick(&self, state: &State) {
        let rooms = &state.rooms;
        rooms.apps().tick();
        let now = Reading {
            at: Instant::now(),
            runtime: rooms.apps().totals(),
            writer: rooms.writer.health(),
            http: self.http.totals(),
        };
        let mut last = self.last.lock();
        let Last { reading: before, mut seconds } = last.take().unwrap_or_else(|| Last {
            reading: Reading {
                at: self.started,
                runtime: RuntimeTotals::default(),
                writer: now.writer.clone(),
                http: HttpTotals::default(),
            },
            seconds: VecDeque::new(),
        });
        let mut overview = self.picture(state, &before, &now);
        if seconds.len() == view::POINTS {
            seconds.pop_front();
        }
        seconds.push_back(Second {
            messages: overview.messages.per_second,
            wait_p99_seconds: overview.messages.wait_p99_seconds.unwrap_or(0.0),
            commits: overview.writer.commits_per_second,
            commit_p99_seconds: overview.writer.commit_p99_seconds.unwrap_or(0.0),
        });
        overview.seconds = seconds.iter().copied().collect();
        overview.problems = problems::problems(&overview);
        *last = Some(Last { reading: now, seconds });
        drop(last);
        self.lag_us.store(0, Relaxed);
        self.overview.store(Arc::new(overview));
        self.ticks.send_modify(|ticks| *ticks += 1);
    }

    fn picture(&self, state: &State, before: &Reading, now: &Reading) -> Overview {
        // Ticks that a test asks for may be close together.
        let span = now.at.saturating_duration_since(before.at).as_secs_f64().max(1e-3);
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / span;
        let long_jobs = state.long_jobs();
        Overview {
            at: state.clock.now().to_string(),
            uptime_s: self.uptime().as_secs(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            draining: state.drain.is_cancelled(),
            accounts_loading: !state.rooms.directory.is_up(),
            problems: Vec::new(),
            apps: self.apps(&before.runtime, &now.runtime, rate),
            messages: messages(&before.runtime, &now.runtime, rate),
            writer: commits(&before.writer, &now.writer, rate),
            memory: Memory {
                resident_rows: now.runtime.all.resident_rows,
                resident_bytes: now.runtime.all.resident_bytes,
                budget_bytes: state.config.apps.memory_budget_bytes,
                process_bytes: process::resident_bytes(),
            },
            http: Http {
                per_second: rate(now.http.count, before.http.count),
                failed_per_second: rate(now.http.failed, before.http.failed),
                p99_seconds: seconds(&now.http.took.since(&before.http.took), 0.99),
            },
            event_loop_lag_seconds: self.lag().as_secs_f64(),
            feed_waiters: state.feed_waiters.count() as u64,
            mails_failed_in_a_row: state.mailer.outcomes().failed_in_a_row,
            not_ready: self.readiness.refused_lately(),
            long_jobs_waiting: long_jobs.count as u64,
            long_job_wait_seconds: long_jobs.longest.as_secs_f64(),
            seconds: Vec::new(),
        }
    }

    fn apps(
        &self,
        before: &RuntimeTotals,
        now: &RuntimeTotals,
        rate: impl Fn(u64, u64) -> f64,
    ) -> Apps {
        let (now, before) = (&now.lifecycle, &before.lifecycle);
        let of = |stage: CountedState| now.states[stage as usize];
        Apps {
            live: of(CountedState::Live),
            dormant: self.dormant(now),
            waking: of(CountedState::Waking),
            restarting: of(CountedState::Restarting),
            quarantined: of(CountedState::Quarantined),
            starts_per_second: rate(now.started, before.started),
            wake_p99_seconds: seconds(&now.wake.since(&before.wake), 0.99),
            crashes: now.crashes.iter().sum(),
        }
    }
}

fn messages(
    before: &RuntimeTotals,
    now: &RuntimeTotals,
    rate: impl Fn(u64, u64) -> f64,
) -> Messages {
    use MessageOutcome as Outcome;
    let of = |outcome| rate(now.all.outcome_count(outcome), before.all.outcome_count(outcome));
    let wait = now.all.wait.since(&before.all.wait);
    Messages {
        per_second: rate(now.all.message_count(), before.all.message_count()),
        refused_per_second: of(Outcome::Refused),
        failed_per_second: Outcome::ALL.into_iter().filter(|one| one.is_failure()).map(of).sum(),
        total: now.all.message_count(),
        queued: now.all.queued,
        wait_p50_seconds: seconds(&wait, 0.5),
        wait_p99_seconds: seconds(&wait, 0.99),
        handle_p99_seconds: seconds(&now.all.handle.since(&before.all.handle), 0.99),
    }
}

fn commits(before: &WriterHealth, now: &WriterHealth, rate: impl Fn(u64, u64) -> f64) -> Writer {
    let commits = now.batches.saturating_sub(before.batches);
    let rows = now.rows.saturating_sub(before.rows);
    let times: Vec<u64> = now
        .commit_times
        .iter()
        .zip(before.commit_times)
        .map(|(now, before)| now.saturating_sub(before))
        .collect();
    Writer {
        ok: now.ok,
        commits_per_second: rate(now.batches, before.batches),
        rows_per_commit: if commits == 0 { 0.0 } else { rows as f64 / commits as f64 },
        commit_p99_seconds: quantile_us(&COMMIT_BUCKETS_US, &times, 0.99).map(in_seconds),
        last_commit_seconds: in_seconds(now.last_commit_us),
        queued: now.queued as u64,
        wait_seconds: now.oldest_wait.as_secs_f64(),
        wal_bytes: now.wal_bytes,
        wal_alarm: now.wal_alarm,
        restarts: now.restarts,
    }
}

fn seconds(times: &Distribution, quantile: f64) -> Option<f64> {
    times.quantile_us(quantile).map(in_seconds)
}

fn in_seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Ticks once a second until the server drains, and looks at the event loop meanwhile.
pub async fn run(state: &AppState) {
    let mut ticks: u64 = 0;
    let mut next_tick = Instant::now();
    let mut counting: Option<JoinHandle<()>> = None;
    loop {
        if Instant::now() >= next_tick {
            // A database that does not answer is when a tick is needed most: it waits for nobody.
            if ticks.is_multiple_of(STORED_EVERY)
                && counting.as_ref().is_none_or(JoinHandle::is_finished)
            {
                let state = state.clone();
                counting = Some(tokio::spawn(async move { state.ops.count_stored(&state).await }));
            }
            state.ops.tick(state);
            ticks += 1;
            next_tick = Instant::now() + TICK;
        }
        let expected = Instant::now() + LAG_LOOK;
        tokio::select! {
            () = state.drain.cancelled() => return,
            () = sleep_until(expected) => {}
        }
        let late = u64::try_from(expected.elapsed().as_micros()).unwrap_or(u64::MAX);
        state.ops.lag_us.fetch_max(late, Relaxed);
    }
}
