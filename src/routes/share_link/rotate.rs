//! `POST /v1/apps/:id/share-link/rotate`: another share link.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use rookery_actors::app::message::Reply;
use rookery_domain::{Error, ErrorCode, idempotency::Idempotent};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::Nothing,
        idempotency::{IdempotencyKey, replay},
    },
    routes::{apps::record::share_url, sharing::OwnerPost},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// The share link in force.
#[derive(Clone, Serialize, ToSchema)]
pub struct ShareLinkBody {
    /// The link; null in a replayed answer, the app's record shows it.
    share_url: Option<String>,
}

/// Replaces an app's share link.
///
/// The old one opens nothing any more, and whoever came by it is shown out. Only an app with
/// visibility `link` has one: `conflict` for any other.
#[utoipa::path(
    post, path = "/v1/apps/{id}/share-link/rotate", tag = "Sharing", request_body = Option<Nothing>,
    params(IdempotencyKey),
    responses((status = 200, description = "The new link", body = ShareLinkBody)),
)]
pub async fn rotate(
    owner: AppOwner,
    State(state): State<AppState>,
    key: IdempotencyKey,
    body: Nothing,
) -> ApiResult<Response> {
    let AppOwner { app, caller, .. } = owner;
    let op = state.rooms.control().share_rotation(&app);
    let kept = |_: &Reply| Some(ShareLinkBody { share_url: None });
    let making = OwnerPost { app, caller, route: "POST share-link/rotate".to_owned(), key };
    match making.change(op, &body, kept).await? {
        Idempotent::Replayed(kept) => Ok(replay(kept)),
        Idempotent::Fresh(Reply::App(record)) => {
            Ok(Json(ShareLinkBody { share_url: share_url(&state, &record) }).into_response())
        }
        Idempotent::Fresh(_) => Err(Error::unknown_outcome().into()),
    }
}
