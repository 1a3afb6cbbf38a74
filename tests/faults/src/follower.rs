//! Somebody who follows an app's feed while the server is being broken: what was seen must have
//! been durable.

use std::{collections::BTreeMap, time::Duration};

use reqwest::Method;
use serde_json::Value;
use tokio::{task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    api::Api,
    failure::{Failure, Result},
    world::App,
};

/// The pause after an answer that is none.
const PAUSE: Duration = Duration::from_millis(20);

/// What an event says of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// `row.created` and so on.
    pub kind: String,
    /// The collection.
    pub collection: String,
    /// The row.
    pub key: String,
    /// Its version.
    pub version: u64,
    /// Its data, where the event has any.
    pub data: Value,
}

/// Events by number.
pub type Events = BTreeMap<u64, Event>;

/// A running follower.
#[derive(Debug)]
pub struct Follower {
    task: JoinHandle<Events>,
    stop: CancellationToken,
}

impl Follower {
    /// Begins to follow from the app's start.
    #[must_use]
    pub fn start(api: &Api, app: &App) -> Self {
        let stop = CancellationToken::new();
        let (api, app, stopped) = (api.clone(), app.clone(), stop.clone());
        let task = tokio::spawn(async move {
            let mut seen = Events::new();
            let mut cursor = app.start;
            while !stopped.is_cancelled() {
                let path = format!("/v1/apps/{}/feed?wait=5&limit=200&since={cursor}", app.id);
                let page = tokio::select! {
                    page = page(&api, &path) => page,
                    () = stopped.cancelled() => break,
                };
                match page {
                    Ok((events, next, _)) => {
                        seen.extend(events);
                        cursor = next;
                    }
                    // It was killed, or is about to answer again; the end is for others to tell.
                    Err(_) => sleep(PAUSE).await,
                }
            }
            seen
        });
        Self { task, stop }
    }

    /// What it has seen.
    ///
    /// # Errors
    /// When it failed itself.
    pub async fn finish(self) -> Result<Events> {
        self.stop.cancel();
        Ok(self.task.await?)
    }
}

/// All events since the app's start.
///
/// # Errors
/// When the server refuses.
pub async fn all(api: &Api, app: &App) -> Result<Events> {
    let mut events = Events::new();
    let mut cursor = app.start.clone();
    loop {
        let path = format!("/v1/apps/{}/feed?wait=0&limit=200&since={cursor}", app.id);
        let (page, next, more) = page(api, &path).await?;
        events.extend(page);
        if !more {
            return Ok(events);
        }
        cursor = next;
    }
}

async fn page(api: &Api, path: &str) -> Result<(Events, String, bool)> {
    let page = crate::api::expect(api.request(Method::GET, path), 200).await?;
    let cursor = crate::api::text(&page["cursor"])?;
    let events = page["events"].as_array().ok_or_else(|| Failure::new("a page without events"))?;
    let events = events.iter().map(|event| {
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let version = event["version"].as_u64().unwrap_or(0);
        let told = Event {
            kind: text("type"),
            collection: text("collection"),
            key: text("key"),
            version,
            data: event["data"].clone(),
        };
        (event["seq"].as_u64().unwrap_or(0), told)
    });
    Ok((events.collect(), cursor, page["more"] == true))
}
