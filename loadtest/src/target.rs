//! The server under load, the agent that asks there, and the apps that this run has put on it. What
//! was deployed is purged at the end, whichever way the run ended.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use rand::Rng as _;
use rookery_domain::id::AppId;
use serde_json::{Value, json};

use crate::{
    api::{Api, text},
    client::Endpoint,
    enroll::{Identity, enroll},
    failure::{Failure, Result},
    load::traffic::FILLER_BYTES,
    machine,
    server::{Ending, Server},
};

/// Deploys, fills and purges at a time.
const AT_ONCE: usize = 16;
/// Rows of one batch request: the service's bound.
const BATCH_ROWS: usize = 500;
/// Time for a server that listens to become ready.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// How often it is asked.
const READY_POLL: Duration = Duration::from_millis(1);
/// The one collection of this tool's apps.
const COLLECTION: &str = "rows";

/// An app of this run.
#[derive(Debug, Clone)]
pub struct App {
    /// Its id.
    pub id: AppId,
    /// Its own origin.
    pub url: String,
}

impl App {
    /// The path of its collection.
    #[must_use]
    pub fn collection(&self) -> String {
        format!("/v1/apps/{}/collections/{COLLECTION}", self.id)
    }
}

/// The server and what this run has put there.
pub struct Target {
    /// In the name of the agent.
    pub api: Api,
    /// The server, when it is the run's own.
    pub server: Option<Server>,
    /// The process to look at for memory and CPU.
    pub pid: Option<u32>,
    prefix: String,
    number: AtomicU64,
    /// Slugs, noted before the deploy is sent: a run that is interrupted meanwhile purges them too.
    deployed: Mutex<Vec<String>>,
}

impl Target {
    /// Enrolls at a server.
    ///
    /// # Errors
    /// When it cannot be reached or refuses.
    pub async fn reach(
        url: &str,
        identity: &Identity,
        server: Option<Server>,
        pid: Option<u32>,
    ) -> Result<Self> {
        let endpoint = Endpoint::resolve(url).await?;
        let api = enroll(&Api::new(&endpoint), identity).await?;
        let pid = pid.or_else(|| server.as_ref().map(Server::pid));
        let prefix = format!("load-{:08x}", rand::rng().random::<u32>());
        let number = AtomicU64::new(0);
        Ok(Self { api, server, pid, prefix, number, deployed: Mutex::default() })
    }

    /// Deploys an app with `rows` rows of about 200 bytes, keys `k0` and on.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn deploy(&self, rows: usize) -> Result<App> {
        let app = self.deploy_with(manifest(), "private", rows.min(BATCH_ROWS)).await?;
        for first in (BATCH_ROWS..rows).step_by(BATCH_ROWS) {
            let rows = seed_rows(first, rows.min(first + BATCH_ROWS));
            let path = format!("{}/batch", app.collection());
            let answer = self.api.expect("POST", &path, Some(&json!({"rows": rows}))).await?;
            check_batch(&answer, &path)?;
        }
        Ok(app)
    }

    /// Deploys an app that nobody has asked for any rows: it has never been awake.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn deploy_asleep(&self, rows: usize) -> Result<App> {
        self.deploy_with(manifest(), "private", rows).await
    }

    /// Deploys an app with a manifest of its own; its rows come with the deploy.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn deploy_with(&self, manifest: Value, visibility: &str, rows: usize) -> Result<App> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let slug = format!("{}-{number}", self.prefix);
        self.deployed.lock().unwrap_or_else(PoisonError::into_inner).push(slug.clone());
        let mut body = json!({
            "html": "<!doctype html><title>Load</title><p>An app of rookery-load.</p>",
            "manifest": manifest, "slug": slug, "visibility": visibility,
        });
        if rows > 0 {
            body["input_data"] = json!({COLLECTION: seed_rows(0, rows)});
        }
        let record = self.api.expect("POST", "/v1/apps", Some(&body)).await?;
        let id = text(&record, "/id", "POST /v1/apps")?.parse().map_err(|_| Failure::Answer {
            what: "POST /v1/apps".to_owned(),
            member: "an app's id",
        })?;
        Ok(App { id, url: text(&record, "/url", "POST /v1/apps")?.to_owned() })
    }

    /// Deploys several apps of `rows` rows.
    ///
    /// # Errors
    /// When the server refuses one.
    pub async fn deploy_many(&self, count: usize, rows: usize) -> Result<Vec<App>> {
        stream::iter(0..count).map(|_| self.deploy(rows)).buffered(AT_ONCE).try_collect().await
    }

    /// Asks every app for a row, so that it is awake.
    ///
    /// # Errors
    /// When the server refuses one.
    pub async fn wake(&self, apps: &[App]) -> Result<()> {
        let asked = stream::iter(apps).map(async |app| {
            let path = format!("{}?limit=1", app.collection());
            self.api.expect("GET", &path, None).await.map(drop)
        });
        asked.buffer_unordered(AT_ONCE).try_collect().await
    }

    /// Ends the run's own server and starts it again; how long the new process took until it was
    /// ready.
    ///
    /// # Errors
    /// [`Failure::Usage`] without a server of the run's own; [`Failure::Server`] when it does not
    /// come back.
    pub async fn restart_server(&mut self, ending: Ending) -> Result<Duration> {
        let own = || Failure::Usage("only a server of the run's own is ended".to_owned());
        let server = self.server.as_mut().ok_or_else(own)?;
        let started = server.restart(ending)?;
        self.pid = Some(server.pid());
        // Connections to the process that ended are of no use.
        self.api = self.api.afresh();
        let began = Instant::now();
        let mut request = Vec::new();
        self.api.head().bodiless(&mut request, "GET", "/ready");
        loop {
            if let Ok(mut connection) = self.api.endpoint().connect().await
                && connection.exchange(&request).await.is_ok_and(|answer| answer.is_ok())
            {
                return Ok(started + began.elapsed());
            }
            if began.elapsed() > READY_TIMEOUT {
                return Err(Failure::Server("it listens, and is not ready".to_owned()));
            }
            tokio::time::sleep(READY_POLL).await;
        }
    }

    /// The server's resident bytes, where they can be seen.
    #[must_use]
    pub fn resident(&self) -> Option<u64> {
        self.pid.and_then(machine::process_resident)
    }

    /// The server's CPU time, where it can be seen.
    #[must_use]
    pub fn cpu(&self) -> Option<Duration> {
        self.pid.and_then(machine::process_cpu)
    }

    /// Purges every app of this run; how many could not be. With a server of the run's own there
    /// is nothing to do: its data folder goes.
    pub async fn clean_up(&self) -> usize {
        let slugs =
            std::mem::take(&mut *self.deployed.lock().unwrap_or_else(PoisonError::into_inner));
        if self.server.is_some() {
            return 0;
        }
        let purged = stream::iter(&slugs).map(|slug| purge(self.api.clone(), slug));
        purged.buffer_unordered(AT_ONCE).filter(|done| std::future::ready(!done)).count().await
    }
}

/// Deletes and purges an app; whether it is gone.
async fn purge(api: Api, slug: &str) -> bool {
    let path = format!("/v1/apps/{slug}");
    match api.call("DELETE", &path, None).await {
        // It was never deployed.
        Ok(reply) if reply.status == 404 => return true,
        Ok(reply) if reply.status < 400 => {}
        _ => return false,
    }
    let purged = api.call("POST", &format!("{path}/purge"), Some(&json!({}))).await;
    purged.is_ok_and(|reply| reply.status < 400 || reply.status == 404)
}

fn seed_rows(from: usize, to: usize) -> Vec<Value> {
    let text = "x".repeat(FILLER_BYTES);
    let row = |i: usize| json!({"key": format!("k{i}"), "data": {"name": format!("row {i}"), "n": i, "text": text}});
    (from..to).map(row).collect()
}

fn check_batch(answer: &Value, what: &str) -> Result<()> {
    let results = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    match results.iter().find(|result| result.get("error").is_some()) {
        None => Ok(()),
        Some(refused) => {
            let text = |name: &str| refused["error"][name].as_str().unwrap_or("-").to_owned();
            let status = refused["status"].as_u64().and_then(|n| u16::try_from(n).ok());
            Err(Failure::Refused {
                what: what.to_owned(),
                status: status.unwrap_or_default(),
                code: text("code"),
                message: text("message"),
            })
        }
    }
}

/// The manifest of this tool's apps: a schema, permissions and one unique field, as real apps have.
#[must_use]
pub fn manifest() -> Value {
    json!({
        "collections": {COLLECTION: {
            "schema": {"$ref": "#/$defs/Row"},
            "permissions": {
                "read": ["member"], "write": ["member"], "update": ["member"],
                "delete": ["owner"], "countRead": ["member"],
            },
            "unique": ["name"],
        }},
        "$defs": {"Row": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 80},
                "n": {"type": "integer"},
                "text": {"type": "string", "maxLength": 400},
            },
            "required": ["name", "n"],
            "additionalProperties": false,
        }},
    })
}

/// The paths of the apps' collections, for a workload.
#[must_use]
pub fn collections(apps: &[App]) -> Arc<[String]> {
    apps.iter().map(App::collection).collect()
}
