//! Somebody who has one of everything, and the addresses of it all.

use reqwest::Method;
use rookery_domain::id::{AgentId, AppId, KeyId, OrgId, SessionId, TransferId};
use serde_json::{Value, json};

use super::document::Operation;
use crate::{
    harness::{Agent, Answer, Human, TestServer, apps::App},
    sharing::world::{manifest, text, token_of},
};

/// An owner, its things, and those that it shares with.
pub struct House<'a> {
    pub server: &'a TestServer,
    pub owner: Human,
    pub agent: Agent,
    pub app: App,
    pub member: Human,
    pub member_agent: Agent,
    /// The member's, a grant holder's, a preview's and the owner's tokens on the app's origin.
    pub visits: Vec<String>,
    /// A service credential's token: everything in every collection.
    pub credential: String,
    ids: Vec<(&'static str, String)>,
}

impl<'a> House<'a> {
    /// Builds the house `name`, of accounts of its own.
    pub async fn build(server: &'a TestServer, name: &str) -> Self {
        let owner = server.human(&format!("owner.{name}@example.com")).await;
        let agent = server.agent(&owner).await;
        let member = server.human(&format!("member.{name}@example.com")).await;
        let member_agent = server.agent(&member).await;
        let body = json!({"visibility": "private", "manifest": manifest()});
        let app = server.deploy(&agent.key, body).await;
        let mut house = Self {
            server,
            owner,
            agent,
            app,
            member,
            member_agent,
            visits: Vec::new(),
            credential: String::new(),
            ids: Vec::new(),
        };
        house.share().await;
        house.belong().await;
        house
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let request = self.server.by(&self.owner, Method::POST, path).json(&body);
        let answer = Answer::of(request).await;
        assert!(answer.status < 300, "{path}: {}", answer.text);
        answer.json()
    }

    /// Rows, a member, a grant link, a preview, a credential, an offer of the app.
    async fn share(&mut self) {
        let below = |path: &str| self.app.path(path);
        for key in ["row", "gone"] {
            let row = self.server.by_agent(&self.agent, Method::POST, &below("/collections/board"));
            Answer::of(row.json(&json!({"key": key, "data": {}}))).await.expect(201);
        }
        let gone = below("/collections/board/gone");
        let gone = self.server.by_agent(&self.agent, Method::DELETE, &gone);
        Answer::of(gone).await.expect(200);
        let member = json!({"email": self.member.email, "custom_role": "editor"});
        let member = self.post(&below("/members"), member).await;
        let grant = self.post(&below("/grants"), json!({"role": "editor"})).await;
        let preview = self.post(&below("/preview-tokens"), json!({})).await;
        let body = json!({"mode": "following",
            "operations": ["read", "create", "update", "delete", "count"]});
        let credential = self.post(&below("/credentials"), body).await;
        let heir = json!({"email": "heir@example.com"});
        let transfer = self.post(&below("/transfer"), heir).await;
        let visits = [
            self.enter(&self.member).await,
            self.open(&text(&grant, "url")).await,
            self.open(&text(&preview, "url")).await,
            self.enter(&self.owner).await,
        ];
        self.visits = visits.into();
        self.credential = text(&credential, "token");
        self.ids = vec![
            ("human_id", text(&member, "human_id")),
            ("grant_id", text(&grant, "id")),
            ("token_id", text(&preview, "id")),
            ("credential_id", text(&credential, "id")),
            ("transfer", text(&transfer, "id")),
        ];
    }

    /// An organization, and the owner's session.
    async fn belong(&mut self) {
        let org = self.post("/v1/orgs", json!({"name": "Crew"})).await;
        let sessions = self.server.by(&self.owner, Method::GET, "/v1/self/sessions");
        let sessions = Answer::of(sessions).await.expect(200);
        self.ids.push(("org", text(&org, "id")));
        self.ids.push(("session", text(&sessions["items"][0], "id")));
    }

    /// The host of the app's origin.
    pub fn host(&self) -> String {
        self.origin().split_once("://").expect("an origin").1.to_owned()
    }

    /// The app's origin.
    pub fn origin(&self) -> String {
        self.server.state().origins.app_origin(&self.app.slug)
    }

    /// The token of a human's own session in the app.
    pub async fn enter(&self, human: &Human) -> String {
        let path = format!("/authorize?app={}", self.app.slug);
        let answer = Answer::of(self.server.by(human, Method::GET, &path)).await;
        self.open(answer.header("location")).await
    }

    /// The token that a link on the app's origin gives.
    async fn open(&self, url: &str) -> String {
        let path = url.strip_prefix(&self.origin()).expect("on the app's origin");
        let request = self.server.request(Method::GET, path).header("host", self.host());
        token_of(&Answer::of(request).await)
    }

    fn id(&self, name: &str) -> &str {
        let known = self.ids.iter().find(|(known, _)| *known == name);
        known.map_or("none", |(_, id)| id)
    }

    /// The path of an operation on what is here; or, with `absent`, on what is nowhere.
    pub fn path(&self, operation: &Operation, absent: bool) -> String {
        let template = &operation.template;
        let kinds = [
            ("/v1/apps/{", self.app.id.as_str(), AppId::new().to_string()),
            ("/v1/self/apps/{", &self.app.id, AppId::new().to_string()),
            ("/v1/orgs/{", self.id("org"), OrgId::new().to_string()),
            ("/v1/keys/{", &self.agent.key_id, KeyId::new().to_string()),
            ("/v1/self/agents/{", &self.agent.id, AgentId::new().to_string()),
            ("/v1/self/sessions/{", self.id("session"), SessionId::new().to_string()),
            ("/v1/self/transfers/{", self.id("transfer"), TransferId::new().to_string()),
        ];
        let mut path = String::new();
        for part in template.split_inclusive('}') {
            let Some((before, name)) = part.split_once('{') else {
                path.push_str(part);
                continue;
            };
            let name = name.trim_end_matches('}');
            let subject =
                kinds.iter().find(|(start, ..)| path.is_empty() && format!("{before}{{") == *start);
            path.push_str(before);
            path.push_str(match (subject, name) {
                (Some((_, _, nowhere)), _) if absent => nowhere,
                (Some((_, here, _)), _) => here,
                (None, "name") => "board",
                (None, "key") => "row",
                (None, name) => self.id(name),
            });
        }
        path
    }

    /// What the owner sees of it all, without what looking at it changes.
    pub async fn seen(&self) -> Vec<Value> {
        let org = format!("/v1/orgs/{}", self.id("org"));
        let orgs = ["", "/members"].map(|below| format!("{org}{below}"));
        let app = ["", "/members", "/grants", "/credentials", "/transfer"];
        let account = ["/v1/self/agents", "/v1/self/profile", "/v1/self/apps"].map(str::to_owned);
        let mut seen = Vec::new();
        for path in app.map(|below| self.app.path(below)).into_iter().chain(orgs).chain(account) {
            let request = self.server.by(&self.owner, Method::GET, &path);
            let mut record = Answer::of(request).await.expect(200);
            without_use(&mut record);
            seen.push(record);
        }
        let rows = self.app.path("/collections/board");
        let rows = self.server.by_agent(&self.agent, Method::GET, &rows);
        seen.push(Answer::of(rows).await.expect(200));
        seen
    }

    /// Where the app's feed stands, and what has happened since then.
    pub async fn feed(&self, since: Option<&str>) -> Value {
        let query = since.map(|since| format!("?wait=0&since={since}")).unwrap_or_default();
        let path = self.app.path(&format!("/feed{query}"));
        Answer::of(self.server.by_agent(&self.agent, Method::GET, &path)).await.expect(200)
    }
}

/// Takes out what says when something was last used.
fn without_use(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("last_used_at");
            members.values_mut().for_each(without_use);
        }
        Value::Array(items) => items.iter_mut().for_each(without_use),
        _ => {}
    }
}
