//! `/device`: a human approves or denies an agent that asked by device authorization.

use axum::{extract::State, response::Response};
use http::{HeaderMap, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rookery_actors::directory::{Device, DeviceState};
use rookery_domain::{Error, ErrorCode, Result, redirect::ReturnPath, secret::UserCode};
use serde::Deserialize;

use super::{
    form_account::FormAccount,
    page_context::{DONE, PageContext},
    posted::Posted,
    see_other, show_to, sign_in, visitor,
    words::At,
};
use crate::{
    error::{ApiResult, tell},
    http::{client::RequestContext, params::PageQuery},
    pages::{
        shell::Shell,
        site::{DevicePage, DeviceStep},
    },
    state::{AppState, State as Shared},
};

/// What the address of the page says that follows a decision.
const DECIDED: &str = "decided";

/// The code that the agent shows.
#[derive(Deserialize)]
pub struct UserCodeQuery {
    user_code: Option<String>,
    /// What the human did with it just now.
    done: Option<String>,
}

/// What the form sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    user_code: String,
    decision: Decision,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Approve,
    Deny,
}

/// Asks for a code, or shows who asks with it.
///
/// # Errors
/// `unavailable`, `internal`.
pub async fn page(
    State(state): State<AppState>,
    headers: HeaderMap,
    client: RequestContext,
    PageQuery(query): PageQuery<UserCodeQuery>,
) -> ApiResult<Response> {
    let code = query.user_code.unwrap_or_default();
    let Some(visitor) = visitor(&state, &headers)? else { return Ok(to_sign_in(&code)?) };
    let account = FormAccount::of(&state, visitor)?;
    if code.is_empty() {
        let step = DeviceStep::Enter { user_code: code, error: None };
        return Ok(answer(&state, &account, StatusCode::OK, step)?);
    }
    Ok(match state.rooms.directory.device(&code, client.address).await {
        Ok(device) => found(&state, &account, code, device)?,
        // The page after a decision, loaded anew when the code has ended.
        Err(error)
            if error.code == ErrorCode::NotFound && query.done.as_deref() == Some(DECIDED) =>
        {
            answer(&state, &account, StatusCode::OK, DeviceStep::Over)?
        }
        Err(error) => refused(&state, &account, code, error)?,
    })
}

/// Approves or denies. What follows is a page of its own, so that loading it anew decides nothing again.
pub async fn decide(client: RequestContext, Posted(context, form): Posted<Form>) -> Response {
    context.answer(perform(&context, form, client).await)
}

async fn perform(context: &PageContext, form: Form, client: RequestContext) -> ApiResult<Response> {
    let Form { user_code, decision } = form;
    let approve = decision == Decision::Approve;
    let directory = &context.state.rooms.directory;
    match directory.decide_device(&user_code, context.holder(), approve, client.address).await {
        Ok(_) => {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            let query = query.append_pair("user_code", &user_code).append_pair(DONE, DECIDED);
            Ok(see_other(&format!("/device?{}", query.finish()))?)
        }
        Err(error) => Ok(refused(&context.state, context.account(), user_code, error)?),
    }
}

/// What was found. As the agent shows the code, not as it was typed: a human compares the two.
fn found(
    state: &Shared,
    account: &FormAccount,
    user_code: String,
    device: Device,
) -> Result<Response> {
    let shown = UserCode::parse(&user_code).map(|code| code.expose());
    let step = step_of(shown.unwrap_or(user_code), device);
    answer(state, account, StatusCode::OK, step)
}

/// Asks again and says why.
fn refused(
    state: &Shared,
    account: &FormAccount,
    user_code: String,
    error: Error,
) -> Result<Response> {
    let why = explain(&error).ok_or_else(|| error.clone())?;
    let status = crate::error::status(error.code);
    let step = DeviceStep::Enter { user_code, error: Some(why.to_owned()) };
    let mut response = answer(state, account, status, step)?;
    tell(&error.into(), &mut response);
    Ok(response)
}

fn step_of(user_code: String, device: Device) -> DeviceStep {
    let agent_name = device.name;
    match device.state {
        DeviceState::Pending => DeviceStep::Review {
            user_code,
            agent_name,
            started_at: At::from(device.created_at).to_string(),
        },
        DeviceState::Approved => DeviceStep::Approved { agent_name },
        DeviceState::Redeemed => DeviceStep::Connected { agent_name },
        DeviceState::Denied => DeviceStep::Denied { agent_name },
    }
}

/// What to tell a human of a code that does not work; `None` for a failure of the service.
fn explain(error: &Error) -> Option<&'static str> {
    Some(match error.code {
        ErrorCode::NotFound => "No agent shows this code, or its ten minutes are over.",
        ErrorCode::Conflict => "This request was decided already.",
        ErrorCode::AccountQuotaExceeded => "Your account has as many agents as it may have.",
        ErrorCode::RateLimited => "Too many wrong codes. Wait a minute, then try again.",
        _ => return None,
    })
}

fn answer(
    state: &Shared,
    account: &FormAccount,
    status: StatusCode,
    step: DeviceStep,
) -> Result<Response> {
    let shell = Shell::new(&state.public_url, Some(account.who.clone()));
    show_to(account, state, status, &DevicePage { shell, step })
}

/// Signs in and comes back.
fn to_sign_in(user_code: &str) -> Result<Response> {
    let mut back = "/device".to_owned();
    if !user_code.is_empty() {
        back.push_str("?user_code=");
        back.extend(utf8_percent_encode(user_code, NON_ALPHANUMERIC));
    }
    see_other(&sign_in::address(&ReturnPath::of_site("user_code", &back)?))
}
