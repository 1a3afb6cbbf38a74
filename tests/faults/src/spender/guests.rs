//! Anonymous visitors who spend an app's daily budget of writes: never more than it, and nothing of
//! it comes back.

use reqwest::Method;
use serde_json::json;
use tokio::task::JoinHandle;

use super::{number, status};
use crate::{
    api::{Api, expect, text},
    failure::Result,
    verdict::Violations,
    world::{App, GUESTS_PER_DAY},
};

/// What visitors of one app were told so far.
#[derive(Debug, Default)]
pub struct Guests {
    acknowledged: usize,
    open: usize,
}

impl Guests {
    /// Writes until somebody does not answer, at most `count` times.
    #[must_use]
    pub fn start(api: &Api, app: &App, count: usize) -> JoinHandle<Self> {
        let (api, app) = (api.clone(), app.clone());
        tokio::spawn(async move {
            let mut guests = Self::default();
            let Ok(token) = enter(&api, &app).await else { return guests };
            for _ in 0..count {
                match write(&api, &app, &token).await {
                    Ok(201) => guests.acknowledged += 1,
                    Ok(_) => {}
                    Err(_) => {
                        guests.open += 1;
                        break;
                    }
                }
            }
            guests
        })
    }

    /// Adds what others were told.
    pub fn absorb(&mut self, other: &Self) {
        self.acknowledged += other.acknowledged;
        self.open += other.open;
    }

    /// Every acknowledged write is there, and no other.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn check(&self, api: &Api, app: &App, violations: &mut Violations) -> Result<()> {
        let rows = count(api, app).await?;
        let most = self.acknowledged + self.open;
        violations.unless((self.acknowledged..=most).contains(&rows), || {
            format!("visitors were told of {} to {most} rows, found {rows}", self.acknowledged)
        });
        Ok(())
    }

    /// Spends what is left of the day's budget: it must come out exactly.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn spend_the_rest(api: &Api, app: &App, violations: &mut Violations) -> Result<()> {
        let token = enter(api, app).await?;
        let before = count(api, app).await?;
        for _ in before..=GUESTS_PER_DAY {
            write(api, app, &token).await?;
        }
        let rows = count(api, app).await?;
        violations.unless(rows == GUESTS_PER_DAY, || {
            format!("a budget of {GUESTS_PER_DAY} writes let {rows} through")
        });
        Ok(())
    }
}

fn request(api: &Api, app: &App, path: &str) -> reqwest::RequestBuilder {
    let port = api.url.rsplit_once(':').map_or("", |(_, port)| port);
    let host = format!("{}.localhost:{port}", app.slug);
    api.plain(Method::POST, path).header("host", host)
}

async fn enter(api: &Api, app: &App) -> Result<String> {
    let made = expect(request(api, app, "/s/session").json(&json!({})), 201).await?;
    text(&made["token"])
}

async fn write(api: &Api, app: &App, token: &str) -> Result<u16> {
    let write = request(api, app, "/s/collections/guests");
    let write = write.header("x-service-participant-token", token);
    status(write.json(&json!({"data": {"n": 1}}))).await
}

async fn count(api: &Api, app: &App) -> Result<usize> {
    let counted = api.get(&format!("/v1/apps/{}/collections/guests/count", app.id)).await?;
    Ok(number(&counted, "count"))
}
