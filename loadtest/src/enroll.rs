//! Getting an agent that may deploy: its own key, or a new agent that a human claims. The human
//! signs in through the development mailbox, or its session is given.

use serde_json::json;

use crate::{
    api::{Api, text},
    failure::{Failure, Result},
};

/// What the command line says about who asks.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// The key of a claimed agent.
    pub agent_key: Option<String>,
    /// A human's session cookie: its value, or `name=value`.
    pub session: Option<String>,
    /// The address of the human that signs in through the development mailbox.
    pub email: String,
}

/// An API in the name of an agent that may deploy.
///
/// # Errors
/// When the server refuses, or it has no development mailbox and nothing else was given.
pub async fn enroll(api: &Api, identity: &Identity) -> Result<Api> {
    if let Some(key) = &identity.agent_key {
        let agent = as_agent(api, key);
        agent.expect("GET", "/v1/keys", None).await?;
        return Ok(agent);
    }
    let cookie = match &identity.session {
        Some(session) => session_cookie(api, session),
        None => sign_in(api, &identity.email).await?,
    };
    let origin = public_origin(api).await?;
    let human = api.with(&[("cookie", &cookie), ("origin", &origin)]);

    let name = json!({"name": "rookery-load"});
    let enrolled = api.expect("POST", "/v1/register", Some(&name)).await?;
    let agent = as_agent(api, text(&enrolled, "/key/secret", "POST /v1/register")?);
    let minted = human.expect("POST", "/v1/self/claim-codes", Some(&json!({}))).await?;
    let code = text(&minted, "/code", "POST /v1/self/claim-codes")?;
    agent.expect("POST", "/v1/agents/claim", Some(&json!({"code": code}))).await?;
    Ok(agent)
}

/// Where browsers reach the service: what a human's requests must name as their origin, whatever
/// address they are sent to. The service's own document says it.
async fn public_origin(api: &Api) -> Result<String> {
    let document = api.expect("GET", "/v1/openapi.json", None).await?;
    let told = document.pointer("/servers/0/url").and_then(serde_json::Value::as_str);
    Ok(told.unwrap_or(api.endpoint().origin()).trim_end_matches('/').to_owned())
}

fn as_agent(api: &Api, key: &str) -> Api {
    api.with(&[("authorization", &format!("Bearer {key}"))])
}

/// The cookie's name depends on whether the site is secure.
fn session_cookie(api: &Api, session: &str) -> String {
    if session.contains('=') {
        return session.to_owned();
    }
    let is_secure = api.endpoint().origin().starts_with("https:");
    let name = if is_secure { "__Host-service_session" } else { "service_session" };
    format!("{name}={session}")
}

/// The session cookie of the human with this address, by the development mailbox.
///
/// # Errors
/// When the server refuses, or has no development mailbox.
pub async fn sign_in(api: &Api, email: &str) -> Result<String> {
    let no_mailbox = || {
        let hint = "give --agent-key (ROOKERY_KEY) or --session (ROOKERY_SESSION)";
        Failure::Usage(format!("the server has no development mailbox to sign in through; {hint}"))
    };
    if !api.endpoint().is_loopback() {
        return Err(no_mailbox());
    }
    let address = json!({"email": email});
    api.expect("POST", "/v1/auth/request-link", Some(&address)).await?;
    let escaped: String = url::form_urlencoded::byte_serialize(email.as_bytes()).collect();
    let reader = api.with(&[("accept", "application/json")]);
    let mailbox = reader.call("GET", &format!("/dev/mailbox?to={escaped}"), None).await?;
    if mailbox.status == 404 {
        return Err(no_mailbox());
    }
    let mails = mailbox.expect_ok()?;
    let mail = text(&mails, "/items/0/text", "GET /dev/mailbox")?;
    let token = mail.split_once("token=").and_then(|(_, rest)| rest.split_whitespace().next());
    let token = token
        .ok_or_else(|| Failure::Answer { what: "the sign-in mail".to_owned(), member: "token" })?;
    let verified = api.call("GET", &format!("/v1/auth/verify?token={token}"), None).await?;
    verified.cookie.ok_or_else(|| Failure::Answer {
        what: "GET /v1/auth/verify".to_owned(),
        member: "set-cookie",
    })
}
