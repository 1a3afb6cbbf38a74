//! `/agents`: the human's agents, what their keys may do, and the code by which a new one is
//! claimed.

use askama::Template;
use axum::{body::Body, response::Response};
use http::{Method, StatusCode};
use rookery_domain::id::AgentId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    FORM_BYTES_MAX,
    desk::{Desk, Frame, Section},
    notice::{Notice, or_again},
    paging::{ITEMS_MAX, ONLY, Pager, Trail},
    posted::Posted,
    records::{Agent, List},
    words::At,
};
use crate::error::ApiResult;

#[derive(Template)]
#[template(path = "site/agents.html")]
struct AgentsPage {
    frame: Frame,
    agents: Vec<Agent>,
    pager: Pager,
    claim: Option<Claim>,
    new_key: Option<NewKey>,
    site_url: String,
}

/// A claim code, shown once.
#[derive(Deserialize)]
struct Claim {
    code: String,
    expires_at: At,
}

/// A new key, shown once.
struct NewKey {
    agent: String,
    secret: String,
}

#[derive(Deserialize)]
struct Minted {
    secret: String,
}

/// What a form of the page asks for.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
enum Action {
    ClaimCode,
    Pause { agent: AgentId },
    Resume { agent: AgentId },
    Revoke { agent: AgentId },
    Rotate { agent: AgentId },
    Rename { agent: AgentId, name: String },
}

/// What the page shows once.
#[derive(Default)]
struct Once {
    claim: Option<Claim>,
    key: Option<(AgentId, String)>,
}

/// The page.
pub async fn page(desk: Desk) -> Response {
    desk.answer(view(&desk, StatusCode::OK, None, Once::default()).await)
}

/// Does what a form of the page asks for.
pub async fn act(Posted(desk, body): Posted) -> Response {
    let answered = perform(&desk, body).await;
    let again = |status, error| view(&desk, status, Some(Notice::refused(&error)), Once::default());
    desk.answer(or_again(answered, again).await)
}

async fn perform(desk: &Desk, body: Body) -> ApiResult<Response> {
    let api = &desk.api;
    let path = |agent: AgentId, verb: &str| format!("/v1/self/agents/{agent}/{verb}");
    let done = match desk.form(body, FORM_BYTES_MAX).await? {
        Action::ClaimCode => {
            let claim: Claim = api.send(Method::POST, "/v1/self/claim-codes", &json!({})).await?;
            let once = Once { claim: Some(claim), ..Once::default() };
            return view(desk, StatusCode::OK, None, once).await;
        }
        Action::Rotate { agent } => {
            let path = path(agent, "rotate-key");
            let minted: Minted = api.send(Method::POST, &path, &json!({})).await?;
            let once = Once { key: Some((agent, minted.secret)), ..Once::default() };
            return view(desk, StatusCode::OK, None, once).await;
        }
        Action::Pause { agent } => {
            api.act(Method::POST, &path(agent, "pause")).await?;
            "paused"
        }
        Action::Resume { agent } => {
            api.act(Method::POST, &path(agent, "resume")).await?;
            "resumed"
        }
        Action::Revoke { agent } => {
            api.act(Method::POST, &path(agent, "revoke-key")).await?;
            "revoked"
        }
        Action::Rename { agent, name } => {
            let path = format!("/v1/self/agents/{agent}");
            api.send::<Value>(Method::PATCH, &path, &json!({"name": name})).await?;
            "renamed"
        }
    };
    Ok(desk.again("/agents", done)?)
}

async fn view(
    desk: &Desk,
    status: StatusCode,
    notice: Option<Notice>,
    once: Once,
) -> ApiResult<Response> {
    let trail = Trail::of(desk, ONLY);
    let path = trail.path("/v1/self/agents", ITEMS_MAX);
    let List { items, next_cursor } = desk.api.get::<List<Agent>>(&path).await?;
    let mut frame = desk.frame(Section::Agents);
    frame.notice = notice.or(frame.notice);
    let new_key = once.key.map(|(id, secret)| {
        let agent = items.iter().find(|agent| agent.id == id);
        NewKey { agent: agent.map(|agent| agent.name.clone()).unwrap_or_default(), secret }
    });
    let page = AgentsPage {
        frame,
        agents: items,
        pager: trail.pager("agents", "/agents", next_cursor),
        claim: once.claim,
        new_key,
        site_url: desk.state.public_url.clone(),
    };
    Ok(desk.page(status, &page)?)
}
