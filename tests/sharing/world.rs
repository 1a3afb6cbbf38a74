//! A server with an owner and an app to share, and the people it is shared with.

use std::pin::Pin;

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use reqwest::{Method, RequestBuilder};
use rookery_actors::AppHandle;
use rookery_testkit::until;
use serde_json::{Value, json};

use crate::harness::{Agent, Answer, Builder, Human, TestServer, apps::App};

/// A server and the human that owns its apps.
pub struct World {
    pub server: TestServer,
    pub owner: Human,
    pub agent: Agent,
}

/// An app of the owner, and its own origin.
pub struct Site<'a> {
    pub server: &'a TestServer,
    pub world: &'a World,
    pub app: App,
}

/// Two custom roles, and one collection for each kind of list.
pub fn manifest() -> Value {
    json!({
        "roles": {"editor": {"title": "Editor"}, "reviewer": {"title": "Reviewer"}},
        "collections": {
            "board": {"permissions": {"read": ["anyone"], "write": ["anyone"],
                "update": ["creator"], "delete": ["creator"], "countRead": ["anyone"]}},
            "desk": {"permissions": {"read": ["editor"], "write": ["editor", "owner"],
                "update": ["editor:creator"], "delete": ["editor:own"], "countRead": ["editor"]}},
            "press": {"permissions": {"read": ["editor"], "write": ["editor"],
                "update": [], "delete": ["editor"]}},
            "club": {"permissions": {"read": ["member"], "write": ["member"],
                "update": ["creator"], "delete": ["member"], "countRead": ["member"]}},
            "safe": {"permissions": {"read": ["owner"], "write": ["owner"],
                "update": ["owner"], "delete": ["owner"], "countRead": ["owner"]}},
            "blind": {"permissions": {"read": [], "write": ["owner"], "update": [],
                "delete": ["owner"]}},
        },
        "events": {"ping": {}},
    })
}

/// The text of a member that must be there.
pub fn text(record: &Value, name: &str) -> String {
    let value = record[name].as_str();
    value.unwrap_or_else(|| panic!("no text {name:?} in {record}")).to_owned()
}

impl World {
    pub async fn start() -> Self {
        Self::start_with(TestServer::builder()).await
    }

    pub async fn start_with(builder: Builder) -> Self {
        let server = builder.start().await;
        let owner = server.human("owner@example.com").await;
        let agent = server.agent(&owner).await;
        Self { server, owner, agent }
    }

    /// An app with [`manifest`].
    pub async fn site(&self, visibility: &str) -> Site<'_> {
        self.site_of(visibility, manifest()).await
    }

    pub async fn site_of(&self, visibility: &str, manifest: Value) -> Site<'_> {
        let body = json!({"visibility": visibility, "manifest": manifest});
        let app = self.server.deploy(&self.agent.key, body).await;
        Site { server: &self.server, world: self, app }
    }

    /// Moves the clock on by whole seconds.
    pub fn pass_seconds(&self, seconds: i64) {
        let clock = &self.server.state().clock;
        clock.set(clock.now().plus_seconds(seconds));
    }
}

impl<'a> Site<'a> {
    /// The path of the app, or of something below it.
    pub fn path(&self, below: &str) -> String {
        self.app.path(below)
    }

    pub fn origin(&self) -> String {
        self.server.state().origins.app_origin(&self.app.slug)
    }

    pub async fn handle(&self) -> AppHandle {
        self.server.state().rooms.apps().find(&self.app.slug).await.expect("the app")
    }

    /// A request of the owner's agent to something below the app.
    pub fn request(&self, method: Method, below: &str) -> RequestBuilder {
        self.server.call(method, &self.path(below), &self.world.agent.key)
    }

    pub async fn get(&self, below: &str) -> Answer {
        Answer::of(self.request(Method::GET, below)).await
    }

    pub async fn post(&self, below: &str, body: Value) -> Answer {
        Answer::of(self.request(Method::POST, below).json(&body)).await
    }

    pub async fn patch(&self, below: &str, body: Value) -> Answer {
        Answer::of(self.request(Method::PATCH, below).json(&body)).await
    }

    pub async fn delete(&self, below: &str) -> Answer {
        Answer::of(self.request(Method::DELETE, below)).await
    }

    /// Deploys another manifest, whatever breaks.
    pub async fn redeploy(&self, manifest: Value) {
        let body = json!({"html": "<p>again</p>", "manifest": manifest, "force": true});
        self.post("/versions", body).await.expect(201);
    }

    /// A request to the app's own origin.
    pub fn visit(&self, method: Method, path: &str) -> RequestBuilder {
        let host = self.origin().split_once("://").expect("an origin").1.to_owned();
        self.server.request(method, path).header("host", host)
    }

    /// The same by a participant.
    pub fn by(&self, token: &str, method: Method, path: &str) -> RequestBuilder {
        self.visit(method, path).header("x-service-participant-token", token)
    }

    /// The answer to a GET of a participant.
    pub async fn see(&self, token: &str, path: &str) -> Answer {
        Answer::of(self.by(token, Method::GET, path)).await
    }

    /// The answer to a request with a body, of a participant.
    pub async fn send(&self, token: &str, method: Method, path: &str, body: Value) -> Answer {
        Answer::of(self.by(token, method, path).json(&body)).await
    }

    /// The human's own session in the app: a participant token.
    pub async fn enter(&self, human: &Human) -> String {
        let path = format!("/authorize?app={}", self.app.slug);
        let answer = Answer::of(self.server.by(human, Method::GET, &path)).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        let location = answer.header("location").to_owned();
        let arrived = self.open(location.strip_prefix(&self.origin()).expect("the app")).await;
        token_of(&arrived)
    }

    /// The answer to a link below the app's origin.
    pub async fn open(&self, path: &str) -> Answer {
        Answer::of(self.visit(Method::GET, path)).await
    }

    /// An anonymous participant.
    pub async fn guest(&self) -> String {
        let made = Answer::of(self.visit(Method::POST, "/s/session").json(&json!({}))).await;
        text(&made.expect(201), "token")
    }

    /// A human that is a member: its session on the site, its id, its participant token.
    pub async fn member(&self, email: &str, role: Option<&str>) -> (Human, String, String) {
        let human = self.server.human(email).await;
        let body = json!({"email": email, "custom_role": role});
        let id = text(&self.post("/members", body).await.expect(201), "human_id");
        let token = self.enter(&human).await;
        (human, id, token)
    }

    /// A grant link: its id, and its path below the app's origin.
    pub async fn grant(&self, body: Value) -> (String, String) {
        let grant = self.post("/grants", body).await.expect(201);
        (text(&grant, "id"), self.below(&text(&grant, "url")))
    }

    /// A visitor that came by a grant link for `role`: the link's id and a participant token.
    pub async fn holder(&self, role: &str) -> (String, String) {
        let (id, path) = self.grant(json!({"role": role})).await;
        (id, token_of(&self.open(&path).await))
    }

    /// A visitor that looks by a preview token: the token's id and a participant token.
    pub async fn looker(&self) -> (String, String) {
        let preview = self.post("/preview-tokens", json!({})).await.expect(201);
        let path = self.below(&text(&preview, "url"));
        (text(&preview, "id"), token_of(&self.open(&path).await))
    }

    /// A service credential: its id and its token.
    pub async fn credential(&self, body: Value) -> (String, String) {
        let made = self.post("/credentials", body).await.expect(201);
        (text(&made, "id"), text(&made, "token"))
    }

    /// A request with a credential's token to something below the app.
    pub fn with(&self, token: &str, method: Method, below: &str) -> RequestBuilder {
        self.server.call(method, &self.path(below), token)
    }

    /// A new row of the owner's agent.
    pub async fn row(&self, collection: &str, key: &str) {
        let body = json!({"key": key, "data": {"of": "owner"}});
        self.post(&format!("/collections/{collection}"), body).await.expect(201);
    }

    /// The path of an address on the app's origin.
    pub fn below(&self, url: &str) -> String {
        url.strip_prefix(&self.origin()).expect("on the app's origin").to_owned()
    }

    /// Waits until somebody follows the app.
    pub async fn until_followed(&self) {
        let handle = self.handle().await;
        until("a follower", || handle.observe().followers > 0).await;
    }
}

/// The participant token that an answer sets as a cookie.
#[track_caller]
pub fn token_of(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{}", answer.text);
    let cookie = answer.header("set-cookie");
    let (_, value) = cookie.split_once('=').expect("a cookie");
    value.split(';').next().expect("a value").to_owned()
}

/// An open event stream.
pub struct Events {
    chunks: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
    text: String,
}

impl Events {
    pub async fn open(request: RequestBuilder) -> Self {
        let response = request.header("accept", "text/event-stream").send().await;
        let response = response.expect("an answer");
        assert_eq!(response.status(), 200);
        Self { chunks: Box::pin(response.bytes_stream()), text: String::new() }
    }

    /// Everything up to its end.
    pub async fn rest(mut self) -> String {
        while let Some(chunk) = self.chunks.next().await {
            self.text.push_str(&String::from_utf8_lossy(&chunk.expect("the stream goes on")));
        }
        self.text
    }
}
