//! An app with one collection for each kind of rule, its owner's two agents, the owner's session
//! and a stranger.

use reqwest::{Method, RequestBuilder};
use rookery::config::Config;
use rookery_actors::control::{Bundle, CreateApp};
use rookery_domain::{
    Principal, Timestamp,
    id::{AgentId, AppId, HumanId},
    principal::PrincipalKind,
};
use serde_json::{Value, json};

use crate::harness::{Agent, Answer, Builder, TestServer, keys};

/// The agent that deployed the app.
pub const OWNER: &str = "owner-agent";
/// Another agent of the same human: the owner too, but another creator.
pub const SIBLING: &str = "sibling-agent";
/// An agent of somebody else.
pub const STRANGER: &str = "stranger-agent";

/// A server with one app.
pub struct Rows {
    pub server: TestServer,
    pub app: AppId,
    pub human: HumanId,
    cookie: String,
    agents: [Agent; 3],
}

/// The manifest of the app.
pub fn manifest() -> Value {
    let owner = json!({"read": ["owner"], "write": ["owner"], "update": ["owner"],
        "delete": ["owner"], "countRead": ["owner"]});
    let with = |changes: Value| {
        let mut permissions = owner.clone();
        for (list, subjects) in changes.as_object().expect("lists") {
            permissions[list] = subjects.clone();
        }
        permissions
    };
    let own = with(json!({"read": ["creator"], "update": ["creator"], "delete": ["creator"]}));
    json!({
        "collections": {
            "entries": {"permissions": owner},
            "others": {"permissions": owner},
            "people": {"permissions": owner, "unique": ["email"],
                "schema": {"$ref": "#/$defs/Person"}},
            "log": {"permissions": owner, "appendOnly": true, "unique": ["n"]},
            "own": {"permissions": own, "unique": ["slot"]},
            "authored": {"permissions": with(json!({"update": ["author"], "delete": ["author"]}))},
            "frozen": {"permissions": with(json!({"update": [], "delete": ["member"]}))},
            "blind": {"permissions": {"read": [], "write": ["owner"], "delete": ["owner"]}},
            "guarded": {"permissions": owner, "antiAbuse": "challenge", "unique": ["n"]},
            "guarded_own": {"permissions": own, "antiAbuse": "challenge"},
            "linked": {"permissions": owner,
                "relations": {"parent": {"collection": "entries", "set": "writer"}}},
            "kept": {"permissions": owner, "retention": {"maxAgeDays": 90, "maxRows": 2}},
        },
        "$defs": {
            "Person": {"type": "object", "required": ["email"], "properties": {
                "email": {"type": "string", "maxLength": 200}, "age": {"type": "integer"}}},
            "Ping": {"type": "object", "required": ["n"],
                "properties": {"n": {"type": "integer"}}},
        },
        "events": {"ping": {"schema": {"$ref": "#/$defs/Ping"}}, "free": {}},
    })
}

impl Rows {
    /// The app on a server with the defaults.
    pub async fn start() -> Self {
        Self::on(TestServer::builder()).await
    }

    /// The app on another server.
    pub async fn on(builder: Builder) -> Self {
        let server = builder.start().await;
        let human = server.human("owner@example.com").await;
        let stranger = server.human("stranger@example.com").await;
        let agents =
            [server.agent(&human).await, server.agent(&human).await, server.agent(&stranger).await];
        let state = server.state();
        let account = state
            .authenticator
            .bearer(&agents[0].key)
            .expect("the directory answers")
            .and_then(|identity| identity.account())
            .expect("an account");
        let id: AgentId = agents[0].id.parse().expect("an id");
        let request = CreateApp {
            owner: account,
            org: None,
            agent: Some(id),
            by: Principal::new(PrincipalKind::Agent, id.uuid()),
            bundle: Bundle {
                html: "<!doctype html><title>rows</title>".into(),
                manifest: Some(manifest().to_string()),
                ..Bundle::default()
            },
            slug: Some("rows".to_owned()),
            input_data: [].into(),
            dry_run: false,
            idempotency: None,
        };
        let created = state
            .rooms
            .control()
            .create(request)
            .await
            .expect("an app")
            .fresh()
            .expect("a new one");
        Self { app: created.record.id, server, human: account, cookie: human.cookie, agents }
    }

    /// Stops the server and starts another one on its data.
    pub async fn restart(self) -> Self {
        Self { server: self.server.restart().await, ..self }
    }

    /// As [`Self::restart`], with settings that were changed meanwhile.
    pub async fn restart_with(self, change: impl FnOnce(&mut Config)) -> Self {
        Self { server: self.server.restart_with(change).await, ..self }
    }

    /// The key of one of the agents.
    pub fn key(&self, who: &str) -> &str {
        let at = [OWNER, SIBLING, STRANGER].iter().position(|name| *name == who);
        &self.agents[at.expect("one of the agents")].key
    }

    /// The session of the owner.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// The path of a collection, or of something below it.
    pub fn path(&self, rest: &str) -> String {
        format!("/v1/apps/{}/collections/{rest}", self.app)
    }

    /// A request below the app's collections, by the holder of `bearer`.
    pub fn request(&self, bearer: &str, method: Method, rest: &str) -> RequestBuilder {
        self.server.request(method, &self.path(rest)).bearer_auth(self.key(bearer))
    }

    /// The answer to a GET of the owner.
    pub async fn get(&self, rest: &str) -> Answer {
        Answer::of(self.request(OWNER, Method::GET, rest)).await
    }

    /// The keys of all pages of a list, whose address goes on with its other parameters.
    pub async fn pages(&self, list: &str) -> Vec<Vec<String>> {
        let (mut pages, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.get(&format!("{list}{cursor}")).await.expect(200);
            pages.push(keys(&page).into_iter().map(str::to_owned).collect());
            let Some(next) = page["next_cursor"].as_str() else { return pages };
            cursor = format!("&cursor={next}");
        }
    }

    /// The answer to a request with a body, by the holder of `bearer`.
    pub async fn send(&self, bearer: &str, method: Method, rest: &str, body: Value) -> Answer {
        Answer::of(self.request(bearer, method, rest).json(&body)).await
    }

    /// The answer to a POST of the owner.
    pub async fn post(&self, rest: &str, body: Value) -> Answer {
        self.send(OWNER, Method::POST, rest, body).await
    }

    /// The answer to a PATCH of the owner.
    pub async fn patch(&self, rest: &str, body: Value) -> Answer {
        self.send(OWNER, Method::PATCH, rest, body).await
    }

    /// The answer to a DELETE of the owner.
    pub async fn delete(&self, rest: &str) -> Answer {
        Answer::of(self.request(OWNER, Method::DELETE, rest)).await
    }

    /// A new row of the owner's agent.
    pub async fn row(&self, collection: &str, key: &str, data: Value) -> Value {
        self.post(collection, json!({"key": key, "data": data})).await.expect(201)
    }

    /// The answer to a GET of the feed.
    pub async fn feed(&self, query: &str) -> Answer {
        let path = format!("/v1/apps/{}/feed{query}", self.app);
        Answer::of(self.server.request(Method::GET, &path).bearer_auth(self.key(OWNER))).await
    }

    /// The newest feed cursor.
    pub async fn now(&self) -> String {
        let page = self.feed("").await.expect(200);
        page["cursor"].as_str().expect("a cursor").to_owned()
    }

    /// Every event after `since`, read page by page without waiting.
    pub async fn events(&self, since: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut cursor = since.to_owned();
        loop {
            let page = self.feed(&format!("?since={cursor}&wait=0&limit=7")).await.expect(200);
            all.extend(page["events"].as_array().expect("events").iter().cloned());
            cursor = page["cursor"].as_str().expect("a cursor").to_owned();
            if page["more"] == false {
                return all;
            }
        }
    }

    /// Moves the clock on by whole seconds.
    pub fn pass_seconds(&self, seconds: i64) {
        let clock = &self.server.state().clock;
        let now: Timestamp = clock.now();
        clock.set(now.plus_seconds(seconds));
    }
}
