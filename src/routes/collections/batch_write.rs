//! `POST /v1/apps/:id/collections/:name/batch`: creates or upserts many rows.

use axum::response::Response;
use rookery_actors::app::message::{Op, Reply};
use rookery_domain::ErrorCode;

use super::{
    answer,
    app_request::{AppRequest, Write},
    batch_text,
    bodies::{BatchWriteBody, WriteBody},
    callers::Callers,
    parameters::{CollectionPath, WriteHeaders},
    schema::BatchRecord,
};
use crate::{
    error::ApiResult,
    http::{body::ExactJson, idempotency::replay},
};

/// What the batch itself may answer: with `atomic`, whatever its entries may.
pub const ERRORS: &[ErrorCode] = super::create::ERRORS;

/// Creates or upserts many rows
///
/// At most 500 by default, and 8 MiB in all. Each entry is decided as the single call would and has a
/// result at its index; with `atomic` the first refusal is the answer (its place in `details.index`)
/// and nothing is written. One challenge answer serves the whole batch; where it is missing or wrong,
/// nothing is written and no entry has a result of its own.
///
/// A batch has two seconds, and its rows may weigh 1 MiB more than it brought for them, as where a few bytes
/// change a large row: entries behind that are refused with `unavailable` and `payload_too_large`. Send those
/// in another batch; under the same key the same is answered again.
#[utoipa::path(
    post,
    path = "/v1/apps/{id}/collections/{name}/batch",
    tag = "Rows",
    params(
        WriteHeaders,
    ),
    request_body = BatchWriteBody,
    responses((status = 200, description = "A result for each entry.", body = BatchRecord))
)]
pub(crate) async fn write_batch<C: Callers>(
    caller: C::Writer,
    CollectionPath(collection): CollectionPath,
    headers: WriteHeaders,
    body: ExactJson<BatchWriteBody>,
) -> ApiResult<Response> {
    let request: AppRequest = caller.into();
    let collection = collection.as_str();
    let WriteHeaders { idempotency, challenge } = headers;
    let state = challenge.state.clone();
    let ExactJson { value, bytes } = body;
    let write = Write {
        route: "batch",
        collection: Some(collection),
        key: idempotency.as_deref(),
        body: &bytes,
        render: Some(batch_text::batch_renderer(state.clone())),
    };
    let challenge = challenge.evidence(&request, collection, &write).await?;
    let op = Op::BatchWrite {
        collection: collection.into(),
        items: value.rows.into_iter().map(WriteBody::into_row).collect(),
        atomic: value.atomic,
        challenge,
    };
    match request.write(op, write).await? {
        Reply::Batch(results) => Ok(answer::batch(state, results)),
        Reply::Replayed(first) => Ok(replay(first)),
        other => Err(other.unexpected().into()),
    }
}
