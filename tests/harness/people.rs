//! Humans and agents, made through the service's own front door.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{Answer, TestServer};

/// A signed-in human.
#[derive(Debug, Clone)]
pub struct Human {
    pub email: String,
    /// The session cookie, `name=value`.
    pub cookie: String,
}

/// An agent with its first key.
#[derive(Debug, Clone)]
pub struct Agent {
    pub id: String,
    pub key_id: String,
    /// What it sends as a bearer.
    pub key: String,
}

impl Agent {
    /// Reads an answer with `agent` and `key`.
    pub fn of(body: &Value) -> Self {
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        Self {
            id: text(&body["agent"]["id"]),
            key_id: text(&body["key"]["id"]),
            key: text(&body["key"]["secret"]),
        }
    }
}

impl TestServer {
    /// Signs a human in: asks for a link, reads the mail, opens the link.
    pub async fn human(&self, email: &str) -> Human {
        let token = self.link_token(email, None).await;
        let answer = self.get(&format!("/v1/auth/verify?token={token}")).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        Human { email: email.to_owned(), cookie: answer.cookie() }
    }

    /// The token of a link that was just mailed.
    pub async fn link_token(&self, email: &str, redirect_to: Option<&str>) -> String {
        let mut body = json!({"email": email});
        if let Some(path) = redirect_to {
            body["redirect_to"] = json!(path);
        }
        let request = self.request(Method::POST, "/v1/auth/request-link").json(&body);
        Answer::of(request).await.expect(202);
        let mails = self.mails(email).await;
        let text = mails[0]["text"].as_str().expect("a mail").to_owned();
        let (_, rest) = text.split_once("/sign-in/confirm?token=").expect("a link");
        rest.split_whitespace().next().expect("a token").to_owned()
    }

    /// The mails to an address, newest first.
    pub async fn mails(&self, email: &str) -> Vec<Value> {
        let path = format!("/dev/mailbox?to={}", encoded(email));
        let request = self.request(Method::GET, &path);
        let answer = Answer::of(request.header("accept", "application/json")).await.expect(200);
        answer["items"].as_array().expect("items").clone()
    }

    /// A request by a human, from the site.
    pub fn by(&self, human: &Human, method: Method, path: &str) -> RequestBuilder {
        let request = self.request(method, path).header("cookie", &human.cookie);
        request.header("origin", self.public_url())
    }

    /// A request by an agent.
    pub fn by_agent(&self, agent: &Agent, method: Method, path: &str) -> RequestBuilder {
        self.request(method, path).bearer_auth(&agent.key)
    }

    /// An agent that nobody has claimed.
    pub async fn unclaimed_agent(&self) -> Agent {
        let request = self.request(Method::POST, "/v1/register").json(&json!({"name": "robot"}));
        Agent::of(&Answer::of(request).await.expect(201))
    }

    /// A claim code of a human.
    pub async fn claim_code(&self, human: &Human) -> String {
        let answer = Answer::of(self.by(human, Method::POST, "/v1/self/claim-codes")).await;
        answer.expect(201)["code"].as_str().expect("a code").to_owned()
    }

    /// The answer to a claim.
    pub async fn claim(&self, agent: &Agent, code: &str) -> Answer {
        let request = self.by_agent(agent, Method::POST, "/v1/agents/claim");
        Answer::of(request.json(&json!({"code": code}))).await
    }

    /// An agent of a human, claimed.
    pub async fn agent(&self, human: &Human) -> Agent {
        let agent = self.unclaimed_agent().await;
        let code = self.claim_code(human).await;
        self.claim(&agent, &code).await.expect(200);
        agent
    }
}

/// A value as it stands in a query.
pub fn encoded(value: &str) -> String {
    url::form_urlencoded::byte_serialize(value.as_bytes()).collect()
}
