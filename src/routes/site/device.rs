//! `/device`: a human approves or denies an agent that asked by device authorization.

use axum::{body::Body, extract::State, response::Response};
use http::{HeaderMap, Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rookery_actors::directory::{Device, DeviceState, SessionHolder};
use rookery_domain::{Error, ErrorCode, Result, redirect::ReturnPath, secret::UserCode};
use serde::Deserialize;

use super::{FORM_BYTES_MAX, form, frame, see_other, show, sign_in, visitor, words::At};
use crate::{
    error::{ApiResult, tell},
    http::{client::RequestContext, csrf, params::PageQuery},
    pages::site::{DevicePage, DeviceStep},
    state::{AppState, State as Shared},
};

/// The code that the agent shows.
#[derive(Deserialize)]
pub struct UserCodeQuery {
    user_code: Option<String>,
}

/// What the form sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
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
    if code.is_empty() {
        let step = DeviceStep::Enter { user_code: code, error: None };
        return Ok(answer(&state, visitor, StatusCode::OK, step)?);
    }
    let found = state.rooms.directory.device(&code, client.address).await;
    Ok(found_or_asked_again(&state, visitor, code, found)?)
}

/// Approves or denies. The form must come from this site.
///
/// # Errors
/// `csrf_origin_mismatch`, `invalid_request`, `payload_too_large`, `unavailable`, `internal`.
pub async fn decide(
    State(state): State<AppState>,
    method: Method,
    headers: HeaderMap,
    client: RequestContext,
    body: Body,
) -> ApiResult<Response> {
    csrf::check(&method, &headers, &state.public_url)?;
    let Form { user_code, decision } =
        form(&state, &headers, client.address, body, FORM_BYTES_MAX).await?;
    let Some(visitor) = visitor(&state, &headers)? else { return Ok(to_sign_in(&user_code)?) };
    let approve = decision == Decision::Approve;
    let decided = state
        .rooms
        .directory
        .decide_device(&user_code, visitor.human, approve, client.address)
        .await;
    Ok(found_or_asked_again(&state, visitor, user_code, decided)?)
}

/// Shows what was found, or asks again and says why.
fn found_or_asked_again(
    state: &Shared,
    visitor: SessionHolder,
    user_code: String,
    found: Result<Device>,
) -> Result<Response> {
    match found {
        Ok(device) => {
            // As the agent shows it, not as it was typed: a human compares the two.
            let shown = UserCode::parse(&user_code).map(|code| code.expose());
            let step = step_of(shown.unwrap_or(user_code), device);
            answer(state, visitor, StatusCode::OK, step)
        }
        Err(error) => {
            let why = explain(&error).ok_or_else(|| error.clone())?;
            let status = crate::error::status(error.code);
            let step = DeviceStep::Enter { user_code, error: Some(why.to_owned()) };
            let mut response = answer(state, visitor, status, step)?;
            tell(&error.into(), &mut response);
            Ok(response)
        }
    }
}

fn step_of(user_code: String, device: Device) -> DeviceStep {
    let agent_name = device.name;
    match device.state {
        DeviceState::Pending => DeviceStep::Review {
            user_code,
            agent_name,
            started_at: At::from(device.created_at).to_string(),
        },
        DeviceState::Approved | DeviceState::Redeemed => DeviceStep::Approved { agent_name },
        DeviceState::Denied => DeviceStep::Denied { agent_name },
    }
}

/// What to tell a human of a code that does not work; `None` for a failure of the service.
fn explain(error: &Error) -> Option<&'static str> {
    Some(match error.code {
        ErrorCode::NotFound => "No agent shows this code, or its ten minutes are over.",
        ErrorCode::Conflict => "This request was decided already.",
        ErrorCode::RateLimited => "Too many wrong codes. Wait a minute, then try again.",
        _ => return None,
    })
}

fn answer(
    state: &Shared,
    visitor: SessionHolder,
    status: StatusCode,
    step: DeviceStep,
) -> Result<Response> {
    show(state, status, &DevicePage { shell: frame(state, Some(visitor))?, step })
}

/// Signs in and comes back.
fn to_sign_in(user_code: &str) -> Result<Response> {
    let mut back = "/device".to_owned();
    if !user_code.is_empty() {
        back.push_str("?user_code=");
        back.extend(utf8_percent_encode(user_code, NON_ALPHANUMERIC));
    }
    see_other(&sign_in::address(&ReturnPath::parse("user_code", &back)?))
}
