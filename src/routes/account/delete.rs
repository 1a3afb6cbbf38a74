//! `DELETE /v1/self`: ends the account.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use rookery_actors::{WorkerKind, task::to_the_end};
use rookery_domain::{Error, ErrorCode, email::Email};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    closing::close_apps,
    error::ApiResult,
    http::{
        auth::permission::HumanSession,
        body::{BodyBound, RequestBody, StrictJson},
        cookie,
    },
    notices,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// The human means it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirmation {
    /// The account's address; empty for an account that has none.
    #[schema(max_length = 254)]
    confirm_email: String,
}

impl RequestBody for Confirmation {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Deletes the account, and signs out.
///
/// Its sessions and its agents' keys are refused from the very next request on; name, address,
/// favorites and views are forgotten. Its apps are closed, and destroyed after the time that
/// deleted apps are kept. It is a member of others' apps no more; what it wrote there stays, with
/// its id. It leaves its organizations; while it is the last admin of one that others are in, the
/// answer is `conflict` with `details.org_id`, and nothing has changed. By mail are told who is billed for
/// an organization in its place, and the admins of an organization that apps of the account were in.
#[utoipa::path(
    delete, path = "/v1/self", tag = "Account", request_body = Confirmation,
    responses((status = 204, description = "Deleted",
        headers(("Set-Cookie" = String, description = "Clears the session")))),
)]
pub async fn delete_account(
    caller: HumanSession,
    State(state): State<AppState>,
    StrictJson(body): StrictJson<Confirmation>,
) -> ApiResult<Response> {
    let directory = &state.rooms.directory;
    let human = directory.human(caller.human)?.ok_or_else(Error::internal)?;
    let typed = match body.confirm_email.as_str() {
        "" => None,
        text => Email::parse(text).ok().map(|email| email.as_str().to_owned()),
    };
    let confirmed = typed == human.email && (typed.is_some() || body.confirm_email.is_empty());
    if !confirmed {
        return Err(Error::invalid("`confirm_email` is not the account's address").into());
    }
    let shared = state.clone();
    to_the_end(async move {
        let closed = shared.rooms.directory.close_account(caller.human, typed).await;
        if closed.as_ref().is_err_and(Error::is_unknown_outcome) {
            // It may be closed: whoever looks finds out.
            shared.rooms.runtime.workers().begin(WorkerKind::Sweeper);
        }
        notices::tell_of_billing(&shared, closed?);
        close_apps(&shared).await;
        Ok(())
    })
    .await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    cookie::session::clear(response.headers_mut(), &state);
    Ok(response)
}
