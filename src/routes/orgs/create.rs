//! `POST /v1/orgs`: makes an organization.

use axum::{extract::State, response::Response};
use rookery_actors::directory::OrgRecord;
use rookery_domain::{ErrorCode, orgs::OrgName};

use super::record::{OrgBody, OrgNameBody};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::Account,
        body::StrictJson,
        idempotency::{IdempotencyKey, answer_once},
        reply::Created,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] =
    &[ErrorCode::Conflict, ErrorCode::AccountQuotaExceeded, ErrorCode::PayloadTooLarge];

/// Makes an organization.
///
/// The caller's account is its first admin and its billing account. An account makes 100
/// organizations at most; those that others leave to it do not count.
#[utoipa::path(
    post, path = "/v1/orgs", tag = "Organizations", request_body = OrgNameBody,
    params(IdempotencyKey),
    responses((status = 201, description = "The organization", body = OrgBody)),
)]
pub async fn create(
    caller: Account,
    State(state): State<AppState>,
    key: IdempotencyKey,
    StrictJson(body): StrictJson<OrgNameBody>,
) -> ApiResult<Response> {
    let name = OrgName::parse(&body.name)?;
    let directory = state.rooms.directory.clone();
    let shown = |made: &OrgRecord| Created {
        location: format!("/v1/orgs/{}", made.org.id),
        record: OrgBody::of(made),
    };
    let account = caller.account;
    let make = move |keep| async move { directory.create_org(account, name, keep).await };
    let request = key.request(caller.caller.principal(), &["POST /v1/orgs"], &body);
    answer_once(shown, |kept| state.rooms.directory.idempotent(request, kept, make)).await
}
