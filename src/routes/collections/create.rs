//! `POST /v1/apps/:id/collections/:name`: creates a row, or upserts on a unique field.

use axum::response::Response;
use rookery_actors::app::message::{Op, Reply, WriteRow};
use rookery_domain::ErrorCode;

use super::{
    answer,
    app_request::{AppRequest, Write},
    bodies::WriteBody,
    callers::Callers,
    parameters::{CollectionPath, WriteHeaders},
    schema::RowRecord,
};
use crate::{error::ApiResult, http::body::ExactJson};

/// What the create itself may answer.
pub const ERRORS: &[ErrorCode] = &[
    ErrorCode::PayloadTooLarge,
    ErrorCode::Conflict,
    ErrorCode::CollectionNotFound,
    ErrorCode::CredentialScopeForbidden,
    ErrorCode::RowNotFound,
    ErrorCode::CollectionWriteForbidden,
    ErrorCode::AuthorNotAllowed,
    ErrorCode::ChallengeRequired,
    ErrorCode::ChallengeVerificationFailed,
    ErrorCode::AppendOnly,
    ErrorCode::RelationSetForbidden,
    ErrorCode::RowSchemaViolation,
    ErrorCode::CollectionWriteBudgetExceeded,
    ErrorCode::UniqueConflict,
    ErrorCode::AppQuotaExceeded,
    ErrorCode::AccountQuotaExceeded,
];

/// Creates or upserts a row
///
/// With `key`: 201 the new row, or 200 the row that is at the key already, with
/// `Row-Existed: true`. With `on` (a unique field): 201 the new row, or 200 the row that holds the
/// same value, after `data` was merged into it as `PATCH` does: a `null` that created a member
/// removes it then. Both at once are `invalid_request`. A key or value whose row you may not see is
/// `row_not_found`; so is one that no row has, if you may neither write nor read every row there:
/// whoever may not look does not learn which there are.
#[utoipa::path(
    post,
    path = "/v1/apps/{id}/collections/{name}",
    tag = "Rows",
    params(
        WriteHeaders,
    ),
    request_body = WriteBody,
    responses(
        (status = 200, description = "The row was there, or was written by the upsert.",
            body = RowRecord),
        (status = 201, description = "The new row; `Location` leads to it.", body = RowRecord),
    )
)]
pub(crate) async fn create_row<C: Callers>(
    caller: C::Writer,
    CollectionPath(collection): CollectionPath,
    headers: WriteHeaders,
    body: ExactJson<WriteBody>,
) -> ApiResult<Response> {
    let request: AppRequest = caller.into();
    let collection = collection.as_str();
    let WriteHeaders { idempotency, challenge } = headers;
    let write = Write {
        route: "collections",
        collection: Some(collection),
        key: idempotency.as_deref(),
        body: &body.bytes,
        render: None,
    };
    let challenge = challenge.evidence(&request, collection, &write).await?;
    let row = body.value.into_row();
    let creates = matches!(row, WriteRow::Create(_));
    let op = match row {
        WriteRow::Create(item) => Op::Create { collection: collection.into(), item, challenge },
        WriteRow::Upsert(item) => Op::Upsert { collection: collection.into(), item, challenge },
    };
    match request.write(op, write).await? {
        Reply::Row(reply) => Ok(answer::created(&reply, || request.rows_path(collection))),
        Reply::Replayed(first) => Ok(answer::row_again(first, creates)?),
        other => Err(other.unexpected().into()),
    }
}
