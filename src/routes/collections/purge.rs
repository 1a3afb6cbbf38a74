//! `DELETE /v1/apps/:id/collections/:name/:key/purge`: destroys a row's content.

use axum::response::Response;
use http::StatusCode;
use rookery_actors::app::{
    message::{Op, Reply},
    render,
};
use rookery_domain::{Error, ErrorCode};

use super::{answer, asked::Asked, parameters::RowPath, schema::TombstoneRecord};
use crate::{error::ApiResult, http::auth::permission::RowCaller};

/// What the purge itself may answer.
pub const ERRORS: &[ErrorCode] = &[
    ErrorCode::CollectionNotFound,
    ErrorCode::CredentialScopeForbidden,
    ErrorCode::PurgeForbidden,
    ErrorCode::RowNotFound,
];

/// Purges a row
///
/// Live or in the trash, append-only or not: its content is destroyed, in the feed's history and
/// in kept answers too, and cannot be restored. Only for the owner.
#[utoipa::path(
    delete,
    path = "/v1/apps/{id}/collections/{name}/{key}/purge",
    tag = "Rows",
    params(
        ("id" = String, Path, description = "The app's id or slug."),
        ("name" = String, Path, description = "The collection."),
        ("key" = String, Path, description = "The row's key."),
    ),
    responses((status = 200, description = "What is left.", body = TombstoneRecord))
)]
pub(crate) async fn purge_row(caller: RowCaller, row: RowPath) -> ApiResult<Response> {
    purge(&caller.into(), row).await
}

/// Purges a row for any caller.
pub(crate) async fn purge(asked: &Asked, path: RowPath) -> ApiResult<Response> {
    let op = Op::Purge { collection: path.collection.into(), key: path.key.into() };
    match asked.app.apply(asked.caller.clone(), op, None, 0).await? {
        Reply::Purged(left) => Ok(answer::json(StatusCode::OK, render::tombstone(&left))),
        _ => Err(Error::internal(true).into()),
    }
}
