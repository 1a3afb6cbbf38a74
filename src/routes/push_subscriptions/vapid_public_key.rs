//! `GET /v1/self/push-subscription/vapid-public-key`: what a browser subscribes with.

use axum::{Json, extract::State};
use rookery_domain::ErrorCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{error::ApiResult, http::auth::permission::HumanSession, state::AppState};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// The key.
#[derive(Debug, Serialize, ToSchema)]
pub struct VapidPublicKey {
    /// An uncompressed point of P-256 in base64url, for `applicationServerKey`.
    public_key: String,
}

/// Shows the VAPID public key (RFC 8292) with which a browser makes a push subscription.
///
/// It is the same for everybody and does not change.
#[utoipa::path(
    get, path = "/v1/self/push-subscription/vapid-public-key", tag = "Account",
    responses((status = 200, description = "The key", body = VapidPublicKey)),
)]
pub async fn read_vapid_public_key(
    _: HumanSession,
    State(state): State<AppState>,
) -> ApiResult<Json<VapidPublicKey>> {
    Ok(Json(VapidPublicKey { public_key: state.push.public_key().to_owned() }))
}
