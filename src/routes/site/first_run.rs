//! From nothing to a claimed agent and a running app: the steps that a new account is shown, and
//! the button that goes through them. It does what an agent does, by the same requests: registers,
//! is claimed with the human's code, deploys the example.

use askama::Template;
use axum::response::{IntoResponse as _, Response};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    api::Made,
    form_token::FormToken,
    frame::{Frame, Section},
    home::{self, Any},
    notice::{Done, Notice, or_again, sentence},
    page_context::PageContext,
    posted::Posted,
    records::{App, List},
    see_other,
    words::refusal,
};
use crate::{
    demo::GUESTBOOK,
    error::{ApiError, ApiResult},
    http::params::PageQuery,
    routes::register,
};

/// What to do where the service failed at the deploy.
const LOOK_FIRST: &str = "Look under Apps before the example is deployed again: it may be there.";
/// What the agent of the button is called.
const AGENT_NAME: &str = "First agent";

/// How far a new account is. Signed in it is, or it would not see this.
#[derive(Template)]
#[template(path = "site/_steps.html")]
pub struct Steps {
    /// Whether it has an agent.
    pub agent: bool,
    /// Its first app.
    pub app: Option<App>,
}

#[derive(Template)]
#[template(path = "site/first_run.html")]
struct FirstRunPage {
    frame: Frame,
    /// The app, where it was deployed.
    app: Option<NewApp>,
    secret: String,
    site_url: String,
    agent_name: &'static str,
}

#[derive(Deserialize)]
struct Registered {
    key: Secret,
}

#[derive(Deserialize)]
struct Secret {
    secret: String,
}

#[derive(Deserialize)]
struct Code {
    /// Left out where it was made before.
    #[serde(default)]
    code: String,
}

/// What the button sends.
#[derive(Deserialize)]
pub struct Start {
    #[serde(default)]
    form: FormToken,
}

#[derive(Deserialize)]
struct NewApp {
    id: String,
    slug: String,
    url: String,
}

/// How far the steps are that the page shows; it asks only as long as there is no app.
#[derive(Deserialize)]
pub struct Shown {
    agent: Option<bool>,
}

/// The steps alone, for the page that waits for them; nothing while they are as the page shows them, so
/// that nobody loses what they have selected there.
pub async fn steps(context: PageContext, PageQuery(shown): PageQuery<Shown>) -> Response {
    context.answer(look(&context, &shown).await)
}

async fn look(context: &PageContext, shown: &Shown) -> ApiResult<Response> {
    if !context.is_for_script() {
        // Typed, or come back to: the page that the steps stand on.
        return Ok(see_other("/")?);
    }
    // Apps of others that it was let into are not what the steps lead to.
    let (agents, app) = tokio::try_join!(
        context.api.get::<List<Any>>("/v1/self/agents?limit=1"),
        home::newest_own(context),
    )?;
    let steps = Steps { agent: !agents.items.is_empty(), app };
    if steps.app.is_none() && shown.agent == Some(steps.agent) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(context.page(StatusCode::OK, &steps)?)
}

/// The path of the button has no page of its own: reloaded, or come back to, the steps are at home.
pub async fn page(context: PageContext) -> Response {
    context.answer(see_other("/").map_err(Into::into))
}

/// Makes the first agent and lets it deploy the example.
pub async fn start(Posted(context, form): Posted<Start>) -> Response {
    // A server that takes no registrations, an account that is full: said where the steps are.
    let again = |status, error| home::view(&context, status, Some(Notice::refused(&error)));
    context.answer(or_again(run(&context, form).await, again).await)
}

async fn run(context: &PageContext, start: Start) -> ApiResult<Response> {
    let Start { form } = start;
    let api = &context.api;
    let agents: List<Any> = api.get("/v1/self/agents?limit=1").await?;
    if !agents.items.is_empty() {
        // Sent twice, or reloaded: the first agent is there.
        return Ok(context.go("/", Done::FirstAgentThere)?);
    }
    if !register::is_open(&context.state) {
        return Err(register::closed().into());
    }
    // Of forms that are sent at once, the one that makes the code goes on.
    let code = match api.make("/v1/self/claim-codes", &json!({}), &form).await? {
        Made::Now(Code { code }) => code,
        Made::Before(_) => return Ok(context.go("/", Done::FirstAgentBegun)?),
    };
    let name = json!({"name": AGENT_NAME});
    let registered: Registered = api.send(Method::POST, "/v1/register", &name).await?;
    let secret = registered.key.secret;
    let agent = api.with_key(&secret)?;
    agent.send::<Value>(Method::POST, "/v1/agents/claim", &json!({"code": code})).await?;
    let manifest: Value = serde_json::from_str(GUESTBOOK.manifest).unwrap_or_default();
    let deploy = json!({
        "html": GUESTBOOK.html,
        "manifest": manifest,
        "input_data": {"entries": [{"data": {
            "name": "Rookery",
            "message": "Your first app is running. Sign here, and see the row appear in its data.",
        }}]},
    });
    // The agent is there, and its key is told this once, whether or not there is an app.
    let (app, failed) = match agent.send(Method::POST, "/v1/apps", &deploy).await {
        Ok(app) => (Some(app), None),
        Err(failed) => (None, Some(failed)),
    };
    let notice = failed.as_ref().map(|ApiError { error, .. }| {
        let hint = (error.code.status() >= 500).then_some(LOOK_FIRST);
        Notice::of_refusal(sentence(&refusal(error)), hint)
    });
    let page = FirstRunPage {
        frame: context.frame(Section::Apps).with(notice),
        app,
        secret,
        site_url: context.state.public_url.clone(),
        agent_name: AGENT_NAME,
    };
    Ok(match failed {
        None => context.page(StatusCode::OK, &page)?,
        Some(failed) => context.telling(&failed, &page)?,
    })
}
