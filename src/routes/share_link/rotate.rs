//! `POST /v1/apps/:id/share-link/rotate`: another share link.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use rookery_actors::app::message::Reply;
use rookery_domain::{ErrorCode, app::AppRecord};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::Nothing,
        idempotency::{Answer, IdempotencyKey, ShownOnce, answer_once},
    },
    routes::apps::record::share_url,
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

impl ShownOnce for ShareLinkBody {
    fn without_secrets(self) -> Self {
        Self { share_url: None }
    }
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
    let shown = move |record: &Arc<AppRecord>| Answer {
        location: None,
        record: ShareLinkBody { share_url: share_url(&state, record) },
    };
    let changed = |reply: &Reply| match reply {
        Reply::App(record) => Some(record.clone()),
        _ => None,
    };
    let what = ["POST share-link/rotate", &app.id().to_string()];
    let request = key.request(caller.principal(), &what, &body);
    answer_once(shown, |kept| app.idempotent(request, kept, caller, op, changed)).await
}
