//! `/agents`: the human's agents, what their keys may do, and the code by which a new one is
//! claimed.

use askama::Template;
use axum::response::Response;
use http::{Method, StatusCode};
use rookery_actors::directory::KeyState;
use rookery_domain::{Error, id::AgentId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    api::Made,
    form_token::FormToken,
    frame::{Frame, Section},
    notice::{Done, Notice, or_again},
    page_context::PageContext,
    paging::{CursorTrail, ITEMS_MAX, ONLY, Pager},
    posted::Posted,
    records::{Agent, List},
    words::At,
};
use crate::{error::ApiResult, routes::register};

#[derive(Template)]
#[template(path = "site/agents.html")]
struct AgentsPage {
    frame: Frame,
    agents: Vec<Agent>,
    pager: Pager,
    claim: Option<Claim>,
    new_key: Option<NewKey>,
    /// The agent whose name was refused, and the name.
    typed: Option<(AgentId, String)>,
    site_url: String,
    /// Whether agents may register themselves.
    takes_agents: bool,
}

impl AgentsPage {
    /// Whether the name of this agent was refused.
    fn refuses(&self, agent: &Agent) -> bool {
        self.typed.as_ref().is_some_and(|(id, _)| *id == agent.id)
    }

    /// What stands in the field of an agent's name.
    fn name<'a>(&'a self, agent: &'a Agent) -> &'a str {
        let typed = self.typed.as_ref().filter(|(id, _)| *id == agent.id);
        typed.map_or(&*agent.name, |(_, name)| name)
    }
}

/// A claim code, shown once.
#[derive(Deserialize)]
struct Claim {
    #[serde(default)]
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
    #[serde(default)]
    secret: String,
}

/// What a form of the page asks for.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Action {
    /// Makes a code that an agent claims itself with.
    ClaimCode {
        /// The token of the form.
        #[serde(default)]
        form: FormToken,
    },
    /// Has its keys refused for now.
    Pause {
        /// Which agent.
        agent: AgentId,
    },
    /// Lets it go on.
    Resume {
        /// Which agent.
        agent: AgentId,
    },
    /// Has its keys refused for ever.
    Revoke {
        /// Which agent.
        agent: AgentId,
    },
    /// Makes a key in place of those that it has.
    Rotate {
        /// Which agent.
        agent: AgentId,
        /// The token of the form.
        #[serde(default)]
        form: FormToken,
    },
    /// Calls it otherwise.
    Rename {
        /// Which agent.
        agent: AgentId,
        /// Its name.
        name: String,
    },
}

/// What the page shows once, and says.
#[derive(Default)]
struct Said {
    notice: Option<Notice>,
    claim: Option<Claim>,
    key: Option<(AgentId, String)>,
    /// The agent whose name was refused, and the name.
    typed: Option<(AgentId, String)>,
}

impl Said {
    fn made_before() -> Self {
        Self { notice: Some(Notice::made_before()), ..Self::default() }
    }
}

/// The page.
pub async fn page(context: PageContext) -> Response {
    context.answer(view(&context, StatusCode::OK, Said::default()).await)
}

/// Does what a form of the page asks for.
pub async fn act(Posted(context, action): Posted<Action>) -> Response {
    context.answer(perform(&context, action).await)
}

async fn perform(context: &PageContext, action: Action) -> ApiResult<Response> {
    let typed = match &action {
        Action::Rename { agent, name } => Some((*agent, name.clone())),
        _ => None,
    };
    let answered = run(context, action).await;
    let again = async |status, error: Error| {
        let form = typed.as_ref().map(|(agent, _)| agent.to_string()).unwrap_or_default();
        let notice = Notice::of_form(&error, &form, "agents", &["name"]);
        view(context, status, Said { notice: Some(notice), typed, ..Said::default() }).await
    };
    or_again(answered, again).await
}

async fn run(context: &PageContext, action: Action) -> ApiResult<Response> {
    let api = &context.api;
    let path = |agent: AgentId, verb: &str| format!("/v1/self/agents/{agent}/{verb}");
    let done = match action {
        Action::ClaimCode { form } => {
            let said = match api.make("/v1/self/claim-codes", &json!({}), &form).await? {
                Made::Now(claim) => Said { claim: Some(claim), ..Said::default() },
                Made::Before(Claim { .. }) => Said::made_before(),
            };
            return show(context, said).await;
        }
        Action::Rotate { agent, form } => {
            let said = match api.make(&path(agent, "rotate-key"), &json!({}), &form).await? {
                Made::Now(Minted { secret }) => {
                    Said { key: Some((agent, secret)), ..Said::default() }
                }
                Made::Before(_) => Said::made_before(),
            };
            return show(context, said).await;
        }
        Action::Pause { agent } => {
            api.act(Method::POST, &path(agent, "pause")).await?;
            Done::AgentPaused
        }
        Action::Resume { agent } => {
            api.act(Method::POST, &path(agent, "resume")).await?;
            Done::AgentResumed
        }
        Action::Revoke { agent } => {
            api.act(Method::POST, &path(agent, "revoke-key")).await?;
            Done::KeysRevoked
        }
        Action::Rename { agent, name } => {
            let path = format!("/v1/self/agents/{agent}");
            api.send::<Value>(Method::PATCH, &path, &json!({"name": name})).await?;
            Done::AgentRenamed
        }
    };
    Ok(context.again(done)?)
}

/// The page with what was made.
async fn show(context: &PageContext, said: Said) -> ApiResult<Response> {
    let code = said.claim.as_ref().map(|claim| claim.code.clone());
    let secret = code.or_else(|| said.key.as_ref().map(|(_, secret)| secret.clone()));
    context.showing(view(context, StatusCode::OK, said).await, secret)
}

async fn view(context: &PageContext, status: StatusCode, said: Said) -> ApiResult<Response> {
    let Said { notice, claim, key, typed } = said;
    let trail = CursorTrail::of(context, ONLY);
    let path = trail.path("/v1/self/agents", ITEMS_MAX);
    let List { items, next_cursor } = context.api.get::<List<Agent>>(&path).await?;
    let new_key = key.map(|(id, secret)| {
        let agent = items.iter().find(|agent| agent.id == id);
        NewKey { agent: agent.map(|agent| agent.name.clone()).unwrap_or_default(), secret }
    });
    let page = AgentsPage {
        frame: context.frame(Section::Agents).with(notice),
        agents: items,
        pager: trail.pager("agents", "/agents", next_cursor),
        claim,
        new_key,
        typed,
        site_url: context.state.public_url.clone(),
        takes_agents: register::is_open(&context.state),
    };
    Ok(context.page(status, &page)?)
}
