//! The steps around a measurement: JSON in, JSON out, refusals as failures. Not for measuring.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::{
    client::{ClientError, Connection, Endpoint, RequestHead},
    failure::{Failure, Result},
};

/// Time for one step. Deploying and purging large apps takes a while.
const STEP_TIMEOUT: Duration = Duration::from_secs(120);
/// How often a step is tried again while the server says `rate_limited` or `unavailable`.
const RETRIES_MAX: usize = 12;
/// Longest pause before that.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Idle connections kept for the next steps.
const POOL_MAX: usize = 64;

/// Who asks, and where. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Api {
    endpoint: Endpoint,
    fields: Vec<(String, String)>,
    pool: Arc<Mutex<Vec<Connection>>>,
}

/// An answer, taken apart.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The body; null when it is no JSON.
    pub body: Value,
    /// The cookie it sets, `name=value`.
    pub cookie: Option<String>,
    /// Where it leads.
    pub location: Option<String>,
    what: String,
}

impl Reply {
    /// The body of a success.
    ///
    /// # Errors
    /// [`Failure::Refused`].
    pub fn expect_ok(self) -> Result<Value> {
        if self.status < 400 {
            return Ok(self.body);
        }
        let text = |name: &str| self.body["error"][name].as_str().unwrap_or("-").to_owned();
        let (code, message) = (text("code"), text("message"));
        Err(Failure::Refused { what: self.what, status: self.status, code, message })
    }
}

impl Api {
    /// Without any credential.
    #[must_use]
    pub fn new(endpoint: &Endpoint) -> Self {
        Self { endpoint: endpoint.clone(), fields: Vec::new(), pool: Arc::default() }
    }

    /// The same server, with these header fields.
    #[must_use]
    pub fn with(&self, fields: &[(&str, &str)]) -> Self {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self { fields: fields.collect(), ..self.clone() }
    }

    /// The same, with connections of its own.
    #[must_use]
    pub fn afresh(&self) -> Self {
        Self { pool: Arc::default(), ..self.clone() }
    }

    /// The same, with one more header field.
    #[must_use]
    pub fn also(&self, name: &str, value: &str) -> Self {
        let mut more = self.clone();
        more.fields.push((name.to_owned(), value.to_owned()));
        more
    }

    /// Where it goes.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The head of requests like these, for a measurement.
    #[must_use]
    pub fn head(&self) -> RequestHead {
        let fields: Vec<(&str, &str)> =
            self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        RequestHead::new(&self.endpoint, &fields)
    }

    /// One step, tried again while the server asks to come back later.
    ///
    /// # Errors
    /// When no answer comes. A refusal is a [`Reply`].
    pub async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Reply> {
        for _ in 0..RETRIES_MAX {
            let (reply, pause) = self.attempt(method, path, body).await?;
            match pause {
                Some(pause) => sleep(pause.min(PAUSE_MAX)).await,
                None => return Ok(reply),
            }
        }
        Ok(self.attempt(method, path, body).await?.0)
    }

    /// The body of a step that succeeds.
    ///
    /// # Errors
    /// When no answer comes, or a refusal.
    pub async fn expect(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        self.call(method, path, body).await?.expect_ok()
    }

    async fn attempt(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(Reply, Option<Duration>)> {
        let mut request = Vec::new();
        match body {
            Some(body) => self.head().json(&mut request, method, path, body.to_string().as_bytes()),
            None => self.head().bodiless(&mut request, method, path),
        }
        let mut connection = match self.idle() {
            Some(connection) => connection,
            None => self.endpoint.connect().await?,
        };
        let exchanged = timeout(STEP_TIMEOUT, connection.exchange(&request)).await;
        let answer = exchanged.map_err(|_| ClientError::Timeout)??;
        let after = answer.header("retry-after").and_then(|text| text.parse().ok());
        let pause = match answer.status {
            429 | 503 => Some(Duration::from_secs(after.unwrap_or(1))),
            _ => None,
        };
        let cookie = answer.header("set-cookie").and_then(|text| text.split(';').next());
        let reply = Reply {
            status: answer.status,
            cookie: cookie.map(str::to_owned),
            location: answer.header("location").map(str::to_owned),
            body: serde_json::from_slice(answer.body).unwrap_or(Value::Null),
            // The query may hold a token.
            what: format!("{method} {}", path.split('?').next().unwrap_or_default()),
        };
        self.put_back(connection);
        Ok((reply, pause))
    }

    fn idle(&self) -> Option<Connection> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        pool.retain(|connection| connection.is_usable(now));
        pool.pop()
    }

    fn put_back(&self, connection: Connection) {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if connection.is_usable(Instant::now()) && pool.len() < POOL_MAX {
            pool.push(connection);
        }
    }
}

/// The text member of an answer.
///
/// # Errors
/// [`Failure::Answer`].
pub fn text<'a>(body: &'a Value, pointer: &'static str, what: &str) -> Result<&'a str> {
    let found = body.pointer(pointer).and_then(Value::as_str);
    found.ok_or_else(|| Failure::Answer { what: what.to_owned(), member: pointer })
}
