//! Accounts that may deploy, and apps they deployed: the beginning of most tests.

use reqwest::{Method, RequestBuilder};
use rookery_domain::id::HumanId;
use serde_json::{Value, json};

use super::{Answer, TestServer};

/// A document without anything in it.
pub const HTML: &str = "<!doctype html><title>An app</title><h1>Hello</h1>";

/// A human with a session and an agent.
#[derive(Debug, Clone)]
pub struct Owner {
    /// The human.
    pub human: HumanId,
    /// The key of its agent.
    pub key: String,
    /// The secret of its session.
    pub session: String,
}

impl AsRef<str> for Owner {
    fn as_ref(&self) -> &str {
        &self.key
    }
}

/// A deployed app.
#[derive(Debug, Clone)]
pub struct App {
    /// Its id.
    pub id: String,
    /// Its slug.
    pub slug: String,
    /// Its record as the deploy answered it.
    pub record: Value,
}

impl App {
    /// The app in an answer.
    pub fn of(record: Value) -> Self {
        let text = |name: &str| record[name].as_str().expect("an app record").to_owned();
        Self { id: text("id"), slug: text("slug"), record }
    }

    /// The path of the app, or of something below it (`""`, `"/wake"`).
    pub fn path(&self, below: &str) -> String {
        format!("/v1/apps/{}{below}", self.id)
    }
}

/// A manifest with one open collection, `entries`, for tests that only need a place for rows.
pub fn guestbook() -> Value {
    json!({"collections": {"entries": open_collection()}})
}

/// A collection in which everybody may do everything.
pub fn open_collection() -> Value {
    json!({"permissions": {
        "read": ["anyone"], "write": ["anyone"], "update": ["anyone"], "delete": ["anyone"],
        "countRead": ["anyone"],
    }})
}

impl TestServer {
    /// An account with this name in its address, with a session and an agent.
    pub async fn owner(&self, name: &str) -> Owner {
        let human = self.human(&format!("{name}@example.org")).await;
        let agent = self.agent(&human).await;
        let session = human.cookie.split_once('=').expect("a cookie").1.to_owned();
        let holder = self.state().rooms.directory.session(&session).expect("the directory");
        Owner { human: holder.expect("a session").human, key: agent.key, session }
    }

    /// Deploys a new app; `html` is filled in when the body has none.
    #[track_caller]
    pub fn deploy(&self, agent: impl AsRef<str>, mut body: Value) -> impl Future<Output = App> {
        if body.get("html").is_none() {
            body["html"] = HTML.into();
        }
        let request = self.call(Method::POST, "/v1/apps", agent).json(&body);
        async move { App::of(Answer::of(request).await.expect(201)) }
    }

    /// A request by the holder of a key.
    pub fn call(&self, method: Method, path: &str, agent: impl AsRef<str>) -> RequestBuilder {
        self.request(method, path).bearer_auth(agent.as_ref())
    }

    /// The answer to a GET by the holder of a key.
    pub async fn get_as(&self, agent: impl AsRef<str>, path: &str) -> Answer {
        Answer::of(self.call(Method::GET, path, agent)).await
    }

    /// The answer to a request by the holder of a key, with a JSON body unless it is null.
    pub async fn send(
        &self,
        method: Method,
        agent: impl AsRef<str>,
        path: &str,
        body: &Value,
    ) -> Answer {
        let request = self.call(method, path, agent);
        Answer::of(if body.is_null() { request } else { request.json(body) }).await
    }
}
