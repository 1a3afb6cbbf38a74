//! Organizations: managing them, the apps that belong to them, and races. Here is what these tests
//! and those of transfers share: people with a session and an agent.

mod apps;
mod manage;
mod races;
mod told;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::harness::{Agent, Answer, Human, TestServer};

/// Somebody with a session and an agent.
pub struct Person {
    pub human: Human,
    pub agent: Agent,
    pub id: String,
}

impl TestServer {
    /// A person called `name`.
    pub async fn person(&self, name: &str) -> Person {
        let human = self.human(&format!("{name}@example.org")).await;
        let agent = self.agent(&human).await;
        let (_, secret) = human.cookie.split_once('=').expect("a cookie");
        let holder = self.state().rooms.directory.session(secret).expect("the directory");
        let id = holder.expect("an open session").human.to_string();
        Person { human, agent, id }
    }

    /// A request by a person's session, with a body where there is one.
    pub async fn ask(&self, who: &Person, method: Method, path: &str, body: Value) -> Answer {
        Answer::of(with(self.by(&who.human, method, path), body)).await
    }

    /// The same by its agent.
    pub async fn tell(&self, who: &Person, method: Method, path: &str, body: Value) -> Answer {
        Answer::of(with(self.by_agent(&who.agent, method, path), body)).await
    }

    /// The answer to closing a person's account.
    pub async fn close(&self, who: &Person) -> Answer {
        let body = json!({"confirm_email": who.human.email});
        self.ask(who, Method::DELETE, "/v1/self", body).await
    }

    /// The path of a new organization of `founder`, `/v1/orgs/org_...`.
    pub async fn org(&self, founder: &Person) -> String {
        let made = self.ask(founder, Method::POST, "/v1/orgs", json!({"name": "Rooks"})).await;
        let id = made.expect(201)["id"].as_str().expect("an id").to_owned();
        format!("/v1/orgs/{id}")
    }

    /// Makes `who` something in the organization at `org`.
    pub async fn join(&self, org: &str, by: &Person, who: &Person, role: &str) {
        let body = json!({"email": who.human.email, "role": role});
        self.ask(by, Method::POST, &format!("{org}/members"), body).await.expect(201);
    }

    /// The answer to setting a role.
    pub async fn set_role(&self, org: &str, by: &Person, who: &Person, role: &str) -> Answer {
        let path = format!("{org}/members/{}", who.id);
        self.ask(by, Method::PATCH, &path, json!({"role": role})).await
    }

    /// The roles in an organization, by member, as `by` sees them.
    pub async fn roles(&self, org: &str, by: &Person) -> Vec<(String, String)> {
        let path = format!("{org}/members?limit=200");
        let list = self.ask(by, Method::GET, &path, Value::Null).await.expect(200);
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let members = list["items"].as_array().expect("items").iter();
        members.map(|member| (text(&member["human_id"]), text(&member["role"]))).collect()
    }
}

/// The id in a path that ends with one.
pub fn id_of(path: &str) -> &str {
    path.rsplit_once('/').expect("a path").1
}

fn with(request: RequestBuilder, body: Value) -> RequestBuilder {
    if body.is_null() { request } else { request.json(&body) }
}
