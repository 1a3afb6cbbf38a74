//! Writers that write at the same time, each to rows of its own, until the server is gone or they
//! are told to stop.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::{sync::Notify, task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    api::Api,
    failure::{Failure, Result},
    journal::{Journal, Row, Step, Told},
    world::App,
};

/// Rows of an atomic batch.
const BATCH: usize = 3;
/// The pause of a writer that was told to try again, or got no answer.
const PAUSE: Duration = Duration::from_millis(20);

/// Writers at work.
#[derive(Debug)]
pub struct Crew {
    writers: Vec<JoinHandle<Journal>>,
    told: Arc<Count>,
    stop: CancellationToken,
}

/// How much was acknowledged, and who waits for it.
#[derive(Debug, Default)]
struct Count {
    acknowledged: AtomicUsize,
    unavailable: AtomicUsize,
    changed: Notify,
}

/// What a writer does when it gets no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnSilence {
    /// It leaves: the server was killed.
    CredentialWatch,
    /// It goes on with other rows: the server lives or comes back.
    GoOn,
}

impl Crew {
    /// Lets `writers` loose on an app. `label` keeps their rows apart from those of other crews.
    #[must_use]
    pub fn start(api: &Api, app: &App, label: &str, writers: usize, silence: OnSilence) -> Self {
        Self::start_marking(api, app, label, writers, silence, None)
    }

    /// The same; each acknowledgement is marked with the length that `trace` then has.
    #[must_use]
    pub fn start_marking(
        api: &Api,
        app: &App,
        label: &str,
        writers: usize,
        silence: OnSilence,
        trace: Option<&Path>,
    ) -> Self {
        let told = Arc::new(Count::default());
        let stop = CancellationToken::new();
        let spawn = |writer: usize| {
            let writer = Writer {
                api: api.clone(),
                rows: app.rows(),
                label: format!("{label}w{writer}"),
                told: Arc::clone(&told),
                stop: stop.clone(),
                silence,
                trace: trace.map(Path::to_owned),
                journal: Journal::default(),
            };
            tokio::spawn(writer.run())
        };
        Self { writers: (0..writers).map(spawn).collect(), told, stop }
    }

    /// Changes acknowledged so far.
    #[must_use]
    pub fn acknowledged(&self) -> usize {
        self.told.acknowledged.load(Ordering::Acquire)
    }

    /// Changes that were not applied for certain, so far.
    #[must_use]
    pub fn unavailable(&self) -> usize {
        self.told.unavailable.load(Ordering::Acquire)
    }

    /// Waits until so many changes were acknowledged.
    ///
    /// # Errors
    /// When that takes longer than `patience`.
    pub async fn reach(&self, count: usize, patience: Duration) -> Result<()> {
        let begin = Instant::now();
        loop {
            let changed = self.told.changed.notified();
            if self.acknowledged() >= count {
                return Ok(());
            }
            let left = patience.saturating_sub(begin.elapsed());
            if tokio::time::timeout(left, changed).await.is_err() {
                let reached = self.acknowledged();
                return Err(Failure(format!("{reached} of {count} writes in {patience:?}")));
            }
        }
    }

    /// Whether every writer has left.
    #[must_use]
    pub fn has_left(&self) -> bool {
        self.writers.iter().all(JoinHandle::is_finished)
    }

    /// Lets them finish what they are at; what they were told.
    ///
    /// # Errors
    /// When a writer itself failed.
    pub async fn finish(self) -> Result<Journal> {
        self.stop.cancel();
        let mut journal = Journal::default();
        for writer in self.writers {
            journal.absorb(writer.await?);
        }
        Ok(journal)
    }
}

struct Writer {
    api: Api,
    rows: String,
    label: String,
    told: Arc<Count>,
    stop: CancellationToken,
    silence: OnSilence,
    trace: Option<PathBuf>,
    journal: Journal,
}

/// Whether a round goes on.
type Going = std::ops::ControlFlow<()>;

impl Writer {
    async fn run(mut self) -> Journal {
        for round in 0.. {
            // A step without effect on later ones ends the round early; the next one has new rows.
            let _ = self.round(&format!("{}-{round}", self.label)).await;
            if self.stop.is_cancelled() {
                break;
            }
        }
        self.journal
    }

    /// Creates a row, is refused, changes it, is refused, writes a batch, is refused, deletes.
    async fn round(&mut self, key: &str) -> Going {
        let row =
            |version, data: &Value, is_deleted| Row { version, data: data.clone(), is_deleted };
        let (first, second) = (json!({"name": key, "n": 0}), json!({"name": key, "n": 1}));
        let create = Step {
            method: Method::POST,
            path: String::new(),
            body: json!({"key": key, "data": first}),
            idempotency: Some(key.to_owned()),
            status: 201,
            effect: vec![(key.to_owned(), row(1, &first, false))],
        };
        self.step(create).await?;
        self.step(refusal(Method::POST, "", json!({"key": format!("{key}-twin"), "data": first})))
            .await?;
        let update = Step {
            method: Method::PATCH,
            path: format!("/{key}"),
            body: json!({"data": {"n": 1}, "if_match": 1}),
            idempotency: None,
            status: 200,
            effect: vec![(key.to_owned(), row(2, &second, false))],
        };
        let stale = refusal(Method::PATCH, &update.path, update.body.clone());
        self.step(update).await?;
        self.step(stale).await?;
        let keys: Vec<String> = (0..BATCH).map(|n| format!("{key}-b{n}")).collect();
        let data: Vec<Value> = (0..BATCH).map(|n| json!({"n": n})).collect();
        let pairs = || keys.iter().zip(&data);
        let mut rows: Vec<Value> =
            pairs().map(|(key, data)| json!({"key": key, "data": data})).collect();
        let batch = Step {
            method: Method::POST,
            path: "/batch".to_owned(),
            body: json!({"rows": rows, "atomic": true}),
            idempotency: Some(format!("{key}-batch")),
            status: 200,
            effect: pairs().map(|(key, data)| (key.clone(), row(1, data, false))).collect(),
        };
        self.step(batch).await?;
        for (n, row) in rows.iter_mut().enumerate() {
            row["key"] = json!(format!("{key}-c{n}"));
        }
        rows.push(json!({"key": format!("{key}-c"), "data": first}));
        self.step(refusal(Method::POST, "/batch", json!({"rows": rows, "atomic": true}))).await?;
        let delete = Step {
            method: Method::DELETE,
            path: format!("/{}", keys[0]),
            body: Value::Null,
            idempotency: None,
            status: 200,
            effect: vec![(keys[0].clone(), row(2, &data[0], true))],
        };
        self.step(delete).await
    }

    async fn step(&mut self, step: Step) -> Going {
        if self.stop.is_cancelled() {
            return Going::Break(());
        }
        let told = step.ask(&self.api, &self.rows).await;
        if let (Some(trace), Told::Done) = (&self.trace, &told) {
            let length = std::fs::metadata(trace).map_or(u64::MAX, |file| file.len());
            self.journal.marks.push((length, step.effect.clone()));
        }
        let count = step.effect.len();
        self.journal.note(step, told.clone());
        match told {
            Told::Done => {
                self.told.acknowledged.fetch_add(count, Ordering::AcqRel);
                self.told.changed.notify_waiters();
                Going::Continue(())
            }
            Told::Refused => Going::Continue(()),
            Told::Unavailable => {
                self.told.unavailable.fetch_add(1, Ordering::AcqRel);
                sleep(PAUSE).await;
                Going::Break(())
            }
            Told::Unreached | Told::Nothing | Told::Wrong(_) => {
                match self.silence {
                    OnSilence::CredentialWatch => self.stop.cancel(),
                    OnSilence::GoOn => sleep(PAUSE).await,
                }
                Going::Break(())
            }
        }
    }
}

/// A request that has to be refused with 409 and must not change anything.
fn refusal(method: Method, path: &str, body: Value) -> Step {
    let path = path.to_owned();
    Step { method, path, body, idempotency: None, status: 409, effect: Vec::new() }
}
