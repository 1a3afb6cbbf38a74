//! `DELETE /v1/apps/:id/collections/:name/:key/purge`: destroys a row's content.

use axum::{extract::State, response::Response};
use http::StatusCode;
use rookery_actors::{
    app::{message::RowTarget, render},
    task::to_the_end,
};
use rookery_domain::{Error, ErrorCode};

use super::{
    answer,
    app_request::AppRequest,
    bodies::DeleteBody,
    callers::Callers,
    parameters::{RowPath, SeenVersion},
    schema::TombstoneRecord,
};
use crate::{error::ApiResult, http::body::OptionalJson, state::AppState};

/// What the purge itself may answer.
pub const ERRORS: &[ErrorCode] = &[
    ErrorCode::PayloadTooLarge,
    ErrorCode::CollectionNotFound,
    ErrorCode::CredentialScopeForbidden,
    ErrorCode::PurgeForbidden,
    ErrorCode::RowNotFound,
    ErrorCode::Conflict,
];

/// Purges a row
///
/// Live or in the trash, append-only or not: its content is destroyed, in the feed's history and
/// in kept answers too, and cannot be restored. A repeated create whose kept answer was destroyed
/// is no longer recognised, and creates a row. With `if_match` or `If-Match` a row that has moved
/// on is `conflict`; of one in the trash the answer holds no `details.current`. Only for the owner.
#[utoipa::path(
    delete,
    path = "/v1/apps/{id}/collections/{name}/{key}/purge",
    tag = "Rows",
    params(SeenVersion),
    request_body = Option<DeleteBody>,
    responses((status = 200, description = "What is left.", body = TombstoneRecord))
)]
pub(crate) async fn purge_row<C: Callers>(
    caller: C::WriterBeyondAllowlist,
    State(state): State<AppState>,
    row: RowPath,
    seen: SeenVersion,
    OptionalJson(body): OptionalJson<DeleteBody>,
) -> ApiResult<Response> {
    let AppRequest { app, caller, .. } = caller.into();
    let if_match = seen.with_body(body.if_match)?;
    let target = RowTarget { key: row.key.into(), if_match };
    let purged = to_the_end(async move {
        let purged = app.purge_row(&caller, &row.collection, target).await;
        if purged.as_ref().err().is_none_or(Error::is_unknown_outcome) {
            state.screenshots.forget(&app.record());
        }
        purged
    });
    Ok(answer::json(StatusCode::OK, render::purged_row(&purged.await?)))
}
