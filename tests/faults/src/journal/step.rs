//! One request that changes rows, what it does if it is applied, and what an answer to it says.

use reqwest::{Method, Response};
use serde_json::Value;

use crate::api::Api;

/// A row as far as the campaign looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its version.
    pub version: u64,
    /// Its data.
    pub data: Value,
    /// Whether it is in the trash.
    pub is_deleted: bool,
}

/// A request and its effect.
#[derive(Debug, Clone)]
pub struct Step {
    /// The verb.
    pub method: Method,
    /// Below the collection: empty, `/batch`, or `/<key>`.
    pub path: String,
    /// The body.
    pub body: Value,
    /// Its `Idempotency-Key`.
    pub idempotency: Option<String>,
    /// The status that says it is done; a refusal that is expected has no effect.
    pub status: u16,
    /// The rows that it leaves.
    pub effect: Vec<(String, Row)>,
}

/// What the answer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Done, and durable.
    Done,
    /// Refused as it had to be.
    Refused,
    /// Not applied for certain, for a reason that passes.
    Unavailable,
    /// Not sent: nobody listens.
    Unreached,
    /// No answer, or one that says that the outcome is unknown.
    Nothing,
    /// Something that must not be said here.
    Wrong(String),
}

impl Step {
    /// Sends it to the collection at `rows`.
    ///
    /// # Errors
    /// As the client reports them; nobody then knows whether it was applied.
    pub async fn send(&self, api: &Api, rows: &str) -> reqwest::Result<Response> {
        let mut request = api.request(self.method.clone(), &format!("{rows}{}", self.path));
        if let Some(key) = &self.idempotency {
            request = request.header("idempotency-key", key);
        }
        if !self.body.is_null() {
            request = request.json(&self.body);
        }
        request.send().await
    }

    /// Sends it, and reads what is told. A connection that breaks tells nothing; an answer that is
    /// late is wrong.
    pub async fn ask(&self, api: &Api, rows: &str) -> Told {
        let (status, body) = match self.send(api, rows).await {
            Ok(answer) => {
                let status = answer.status().as_u16();
                match answer.text().await {
                    Ok(body) => (status, body),
                    Err(error) => return lost(&error, self),
                }
            }
            Err(error) => return lost(&error, self),
        };
        if status == self.status {
            return if self.effect.is_empty() { Told::Refused } else { Told::Done };
        }
        let error: Value = serde_json::from_str(&body).unwrap_or_default();
        let error = &error["error"];
        match status {
            503 if error["code"] == "unavailable" && error["retryable"] == true => {
                Told::Unavailable
            }
            500 if error["details"]["outcome"] == "unknown" => Told::Nothing,
            _ => Told::Wrong(format!("{} {}: {status} {body}", self.method, self.path)),
        }
    }
}

fn lost(error: &reqwest::Error, step: &Step) -> Told {
    if error.is_timeout() {
        return Told::Wrong(format!("{} {}: no answer by the deadline", step.method, step.path));
    }
    if error.is_connect() { Told::Unreached } else { Told::Nothing }
}
