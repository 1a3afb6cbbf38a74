//! `DELETE /v1/self/push-subscriptions`: a browser is told nothing more.

use axum::extract::State;
use http::StatusCode;
use rookery_domain::{Error, ErrorCode};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::{
    error::ApiResult,
    http::{
        auth::permission::HumanSession,
        body::{BodyBound, OptionalJson, RequestBody},
        params::StrictQuery,
    },
    push::subscription::{hash, parse_endpoint},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// Which subscription.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichSubscription {
    /// Its endpoint.
    endpoint: Option<String>,
}

impl RequestBody for WhichSubscription {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Which subscription, where a client sends no body.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WhichByQuery {
    /// Its endpoint, for clients that send no body with DELETE.
    endpoint: Option<String>,
}

/// Deletes the push subscription with this endpoint; a second time changes nothing.
#[utoipa::path(
    delete, path = "/v1/self/push-subscriptions", tag = "Account", params(WhichByQuery),
    request_body = Option<WhichSubscription>,
    responses((status = 204, description = "The account has none with this endpoint")),
)]
pub async fn delete_push_subscription(
    caller: HumanSession,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<WhichByQuery>,
    OptionalJson(body): OptionalJson<WhichSubscription>,
) -> ApiResult<StatusCode> {
    let endpoint = match (body.endpoint, query.endpoint) {
        (Some(endpoint), None) | (None, Some(endpoint)) => endpoint,
        _ => {
            return Err(Error::invalid(
                "`endpoint`: needed, in the body or in the query, not in both",
            )
            .into());
        }
    };
    let hash = hash(&parse_endpoint(&endpoint)?);
    state.rooms.directory.delete_push_subscription(caller.human, hash).await?;
    Ok(StatusCode::NO_CONTENT)
}
