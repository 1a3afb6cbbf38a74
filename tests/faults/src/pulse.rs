//! A steady, light load on healthy apps while something else is being broken: what its requests
//! notice is the figure.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use reqwest::Method;
use serde_json::json;
use tokio::{task::JoinHandle, time::interval};
use tokio_util::sync::CancellationToken;

use crate::{
    api::{Api, expect},
    failure::{Failure, Result},
    world::App,
};

/// Latencies are recorded up to a minute, in microseconds.
const MICROS_MAX: u64 = 60_000_000;

/// Healthy apps with one row each.
#[derive(Debug, Clone)]
pub struct Quiet {
    api: Api,
    apps: Arc<Vec<App>>,
}

/// What a pulse noticed.
#[derive(Debug)]
pub struct Felt {
    /// Time from when a request was meant to be sent until its answer, in microseconds.
    pub latency: Histogram<u64>,
    /// Requests that did not succeed.
    pub failed: Vec<String>,
}

impl Felt {
    /// The latency that 99 of 100 requests did not exceed.
    #[must_use]
    pub fn p99(&self) -> Duration {
        Duration::from_micros(self.latency.value_at_quantile(0.99))
    }
}

impl Quiet {
    /// Deploys them.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn deploy(api: &Api, apps: usize) -> Result<Self> {
        let mut deployed = Vec::with_capacity(apps);
        for _ in 0..apps {
            let app = App::deploy(api).await?;
            let row = json!({"key": "pulse", "data": {"n": 0}});
            expect(api.request(Method::POST, &app.rows()).json(&row), 201).await?;
            deployed.push(app);
        }
        Ok(Self { api: api.clone(), apps: Arc::new(deployed) })
    }

    /// Updates their rows `per_second` times a second until it is stopped.
    #[must_use]
    pub fn start(&self, per_second: u32) -> Pulse {
        let stop = CancellationToken::new();
        let felt = Arc::new(Mutex::new(Vec::new()));
        let (quiet, stopped, told) = (self.clone(), stop.clone(), Arc::clone(&felt));
        let task = tokio::spawn(async move {
            let mut tick = interval(Duration::from_secs(1) / per_second);
            let mut running = Vec::new();
            for n in 0.. {
                // `tick` tells when it was due, however late this is.
                let due = tokio::select! {
                    due = tick.tick() => due.into_std(),
                    () = stopped.cancelled() => break,
                };
                let (quiet, told) = (quiet.clone(), Arc::clone(&told));
                running.push(tokio::spawn(async move {
                    let result = quiet.update(n).await;
                    told.lock().push((due.elapsed(), result));
                }));
            }
            for one in running {
                // A panic here is a bug of the campaign; its request is then missing.
                let _ = one.await;
            }
        });
        Pulse { task, stop, felt }
    }

    async fn update(&self, n: usize) -> Result<()> {
        let app = &self.apps[n % self.apps.len()];
        let path = format!("{}/pulse", app.rows());
        let update = self.api.request(Method::PATCH, &path).json(&json!({"data": {"n": n}}));
        expect(update, 200).await.map(drop)
    }

    /// What they notice for so long when nothing is broken.
    ///
    /// # Errors
    /// When it failed itself.
    pub async fn alone(&self, per_second: u32, time: Duration) -> Result<Felt> {
        let pulse = self.start(per_second);
        tokio::time::sleep(time).await;
        pulse.stop().await
    }
}

/// How long a request took from when it was due, and what came of it.
type Update = (Duration, Result<()>);

/// A running pulse.
#[derive(Debug)]
pub struct Pulse {
    task: JoinHandle<()>,
    stop: CancellationToken,
    felt: Arc<Mutex<Vec<Update>>>,
}

impl Pulse {
    /// Ends it, once every request has its answer.
    ///
    /// # Errors
    /// When it failed itself.
    pub async fn stop(self) -> Result<Felt> {
        self.stop.cancel();
        self.task.await?;
        let latency = Histogram::new_with_max(MICROS_MAX, 3);
        let mut latency = latency.map_err(|error| Failure(error.to_string()))?;
        let mut failed = Vec::new();
        for (took, result) in self.felt.lock().drain(..) {
            latency.saturating_record(u64::try_from(took.as_micros()).unwrap_or(MICROS_MAX));
            failed.extend(result.err().map(|Failure(words)| words));
        }
        Ok(Felt { latency, failed })
    }
}

/// How many times one is of the other.
#[must_use]
pub fn factor(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(1e-6)
}

/// How long something took.
pub async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let begin = Instant::now();
    let done = work.await;
    (done, begin.elapsed())
}
