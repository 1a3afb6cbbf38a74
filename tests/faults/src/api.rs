//! What the campaign says to a server: a human signs in, its agent deploys, reads and writes.

use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use crate::failure::{Failure, Result};

/// A request must have its answer within this time, whatever happens to the server. Longer than
/// the server's own deadlines.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// A client of its own.
///
/// # Panics
/// When the system has no entropy.
#[must_use]
pub fn client() -> Client {
    rookery::outbound::install_tls();
    Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .timeout(DEADLINE)
        .build()
        .expect("an HTTP client")
}

/// An owner's way to one server. After a restart the same owner has another way: [`Api::at`].
#[derive(Debug, Clone)]
pub struct Api {
    /// The server's origin.
    pub url: String,
    /// The client.
    pub client: Client,
    /// The key of the owner's agent.
    pub key: String,
    /// The owner's address.
    pub email: String,
}

impl Api {
    /// Signs a human in and claims an agent for it.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn enroll(url: &str, email: &str) -> Result<Self> {
        let mut api = Self {
            url: url.to_owned(),
            client: client(),
            key: String::new(),
            email: email.to_owned(),
        };
        api.key = api.agent().await?;
        let code = api.claim_code().await?;
        let claim = api.request(Method::POST, "/v1/agents/claim").json(&json!({"code": code}));
        expect(claim, 200).await?;
        Ok(api)
    }

    /// The same owner on a server that was started again.
    #[must_use]
    pub fn at(&self, url: &str) -> Self {
        // Connections to the one before are of no use.
        Self { url: url.to_owned(), client: client(), ..self.clone() }
    }

    /// The key of a new agent that nobody has claimed.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn agent(&self) -> Result<String> {
        let register = self.plain(Method::POST, "/v1/register").json(&json!({"name": "robot"}));
        text(&expect(register, 201).await?["key"]["secret"])
    }

    /// A claim code of the owner.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn claim_code(&self) -> Result<String> {
        let token = self.link_token().await?;
        let verify = self.plain(Method::GET, &format!("/v1/auth/verify?token={token}"));
        let verified = verify.send().await?;
        let cookie = verified.headers().get("set-cookie").and_then(|value| value.to_str().ok());
        let cookie = cookie.and_then(|value| value.split(';').next());
        let cookie = cookie.ok_or_else(|| Failure::new("no session"))?;
        let code = self.plain(Method::POST, "/v1/self/claim-codes");
        let code = code.header("cookie", cookie).header("origin", &self.url);
        text(&expect(code, 201).await?["code"])
    }

    /// The token of a link that was mailed to the owner just now.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn link_token(&self) -> Result<String> {
        let link = self.plain(Method::POST, "/v1/auth/request-link");
        expect(link.json(&json!({"email": self.email})), 202).await?;
        let mailbox = self.plain(Method::GET, &format!("/dev/mailbox?to={}", self.email));
        let mail = expect(mailbox.header("accept", "application/json"), 200).await?;
        let mail = text(&mail["items"][0]["text"])?;
        let token = mail.split_once("token=").and_then(|(_, rest)| rest.split_whitespace().next());
        token.map(str::to_owned).ok_or_else(|| Failure::new("a mail without a link"))
    }

    /// Deploys an app; its record.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn deploy(&self, manifest: &Value) -> Result<Value> {
        let body = json!({"html": "<p>app</p>", "manifest": manifest});
        expect(self.request(Method::POST, "/v1/apps").json(&body), 201).await
    }

    /// The body of a GET that succeeds.
    ///
    /// # Errors
    /// When it does not.
    pub async fn get(&self, path: &str) -> Result<Value> {
        expect(self.request(Method::GET, path), 200).await
    }

    /// A request by the owner's agent.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.plain(method, path).bearer_auth(&self.key)
    }

    /// A request by nobody.
    pub fn plain(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }
}

/// The JSON body of an answer with this status.
///
/// # Errors
/// When the answer is another one, or none.
pub async fn expect(request: RequestBuilder, status: u16) -> Result<Value> {
    let answer = request.send().await?;
    let (got, path) = (answer.status().as_u16(), answer.url().path().to_owned());
    let body = answer.text().await?;
    if got != status {
        return Err(Failure(format!("{path} answered {got} in place of {status}: {body}")));
    }
    Ok(serde_json::from_str(&body).unwrap_or_default())
}

/// A member that is text.
///
/// # Errors
/// When it is none.
pub fn text(value: &Value) -> Result<String> {
    value.as_str().map(str::to_owned).ok_or_else(|| Failure::new("an answer without its text"))
}
