//! The site for humans, through HTTP as a browser without scripts sees it. What needs a browser is
//! in `browser`.

mod account;
mod accounts;
mod agents;
mod assets;
mod browser;
mod closed;
mod columns;
mod data;
mod domains;
mod empty_lists;
mod fields;
mod first_run;
mod home;
mod long_rows;
mod member;
mod new_row;
mod once;
mod orgs;
mod paging;
mod refused;
mod settings;
mod sharing;
mod sign_in;
mod twice;
mod versions;
mod way_back;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::harness::{
    Agent, Answer, Human, TestServer,
    apps::{App, open_collection},
};

pub const GET: Method = Method::GET;
pub const POST: Method = Method::POST;

impl TestServer {
    /// A page as a signed-in human sees it.
    pub async fn see(&self, human: &Human, path: &str) -> Answer {
        Answer::of(self.by(human, GET, path).header("accept", "text/html")).await
    }

    /// A part of a page, as the page's script asks for it.
    pub async fn part(&self, human: &Human, path: &str, page: &str) -> Answer {
        let request = self.by(human, GET, path).header("hx-request", "true");
        Answer::of(request.header("hx-current-url", format!("{}{page}", self.public_url()))).await
    }

    /// A form of a page, sent by its human.
    pub fn form(&self, human: &Human, path: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        self.by(human, POST, path).form(fields)
    }

    /// The answer to it.
    pub async fn submit(&self, human: &Human, path: &str, fields: &[(&str, &str)]) -> Answer {
        Answer::of(self.form(human, path, fields)).await
    }
}

/// An app, its owner, and the owner's agent.
pub struct Owned {
    pub server: TestServer,
    pub ada: Human,
    pub agent: Agent,
    pub app: App,
}

impl Owned {
    /// A server with one app of this manifest.
    pub async fn with(manifest: Value) -> Self {
        let server = TestServer::start().await;
        let ada = server.human("ada@example.org").await;
        let agent = server.agent(&ada).await;
        let app = server.deploy(&agent.key, json!({"manifest": manifest})).await;
        Self { server, ada, agent, app }
    }

    /// The same with a role, and two collections.
    pub async fn with_role() -> Self {
        Self::with(json!({
            "collections": {"entries": open_collection(), "notes": open_collection()},
            "roles": {"guest": {"title": "Guest of honour"}},
        }))
        .await
    }

    /// The path of the app's pages.
    pub fn page(&self, below: &str) -> String {
        format!("/apps/{}{below}", self.app.id)
    }

    /// A page of the app, as its owner sees it.
    pub async fn see(&self, below: &str) -> Answer {
        self.server.see(&self.ada, &self.page(below)).await
    }

    /// A form of a page of the app.
    pub async fn submit(&self, below: &str, fields: &[(&str, &str)]) -> Answer {
        self.server.submit(&self.ada, &self.page(below), fields).await
    }

    /// What the agent does with the app.
    pub async fn agent(&self, method: Method, below: &str, body: Value) -> Answer {
        self.server.send(method, &self.agent.key, &self.app.path(below), &body).await
    }

    /// What the agent reads of the app.
    pub async fn read(&self, below: &str) -> Value {
        self.server.get_as(&self.agent.key, &self.app.path(below)).await.expect(200)
    }
}

impl Answer {
    /// Where a form led to.
    #[track_caller]
    pub fn led_to(&self) -> &str {
        assert_eq!(self.status, 303, "{}", self.text);
        self.header("location")
    }

    /// Checks that the page says this; what isolates the direction of a text may stand around it.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        let isolates = ["<bdi>", "</bdi>", " dir=\"auto\""];
        let page = isolates.iter().fold(self.text.clone(), |page, one| page.replace(one, ""));
        let is_there = page.contains(text) || self.text.contains(text);
        assert!(is_there, "{text:?} is not on the page:\n{}", self.text);
        self
    }

    /// Checks that it does not.
    #[track_caller]
    pub fn hides(&self, text: &str) -> &Self {
        assert!(!self.text.contains(text), "{text:?} is on the page:\n{}", self.text);
        self
    }

    /// What stands between two texts of the page, the first time.
    #[track_caller]
    pub fn between(&self, before: &str, after: &str) -> String {
        let rest = self.text.split_once(before).unwrap_or_else(|| panic!("no {before:?}")).1;
        rest.split_once(after).unwrap_or_else(|| panic!("no {after:?}")).0.to_owned()
    }
}
