//! `/s/collections/...`: rows for the participants of an app. The work is in
//! [`collections`](crate::routes::collections), the same as for `/v1`; only who asks is told
//! otherwise here. Reading needs no participant in a public app, changing anything does.

use axum::{extract::State, response::Response};

use crate::{
    error::ApiResult,
    http::{
        auth::visitor::{AnyVisitor, Visitor},
        body::{ExactJson, Nothing, OptionalJson},
        conditional::{IfMatchHeader, IfNoneMatch},
        params::StrictQuery,
    },
    routes::collections::{
        batch_delete, batch_write,
        bodies::{BatchDeleteBody, BatchWriteBody, DeleteBody, UpdateBody, WriteBody},
        count, create, delete, deleted, get, list,
        parameters::{
            CollectionPath, GetParams, ListParams, PageParams, RowPath, VersionParams, WriteHeaders,
        },
        purge, restore,
        schema::{
            BatchRecord, CountRecord, RowPageRecord, RowRecord, TombstoneRecord, TrashPageRecord,
        },
        update,
    },
    state::AppState,
};

/// Lists rows
///
/// As `GET /v1/apps/{id}/collections/{name}`, as far as this visitor may read.
#[utoipa::path(get, path = "/s/collections/{name}", tag = "Participants",
    operation_id = "participant_list_rows",
    params(ListParams),
    responses((status = 200, description = "A page of rows.", body = RowPageRecord),
        (status = 304, description = "The page has not changed.")))]
pub(crate) async fn list_rows(
    visitor: AnyVisitor,
    CollectionPath(collection): CollectionPath,
    StrictQuery(params): StrictQuery<ListParams>,
    cached: IfNoneMatch,
) -> ApiResult<Response> {
    list::list(&visitor.into(), &collection, params, &cached).await
}

/// Creates or upserts a row
///
/// As `POST /v1/apps/{id}/collections/{name}`; visitors with no right but that of `anyone`, signed in
/// or not, write within the collection's `anonWriteBudget`.
#[utoipa::path(post, path = "/s/collections/{name}", tag = "Participants",
    operation_id = "participant_create_row",
    params(
        WriteHeaders,
    ),
    request_body = WriteBody,
    responses(
        (status = 200, description = "The row was there, or was written by the upsert.",
            body = RowRecord),
        (status = 201, description = "The new row; `Location` leads to it.", body = RowRecord)))]
pub(crate) async fn create_row(
    visitor: Visitor,
    CollectionPath(collection): CollectionPath,
    headers: WriteHeaders,
    body: ExactJson<WriteBody>,
) -> ApiResult<Response> {
    create::create(&visitor.into(), &collection, headers, body).await
}

/// Reads a row
///
/// As `GET /v1/apps/{id}/collections/{name}/{key}`.
#[utoipa::path(get, path = "/s/collections/{name}/{key}", tag = "Participants",
    operation_id = "participant_get_row",
    params(
        GetParams),
    responses((status = 200, description = "The row.", body = RowRecord),
        (status = 304, description = "The row has not changed.")))]
pub(crate) async fn get_row(
    visitor: AnyVisitor,
    row: RowPath,
    StrictQuery(params): StrictQuery<GetParams>,
    cached: IfNoneMatch,
) -> ApiResult<Response> {
    get::get(&visitor.into(), &row, &params, &cached).await
}

/// Updates a row
///
/// As `PATCH /v1/apps/{id}/collections/{name}/{key}`.
#[utoipa::path(patch, path = "/s/collections/{name}/{key}", tag = "Participants",
    operation_id = "participant_update_row",
    params(
        ("If-Match" = Option<String>, Header,
            description = "The `ETag` that you have seen, or the version. A weak tag matches nothing."),
        VersionParams),
    request_body = UpdateBody,
    responses((status = 200, description = "The row after the update.", body = RowRecord)))]
pub(crate) async fn update_row(
    visitor: Visitor,
    row: RowPath,
    StrictQuery(params): StrictQuery<VersionParams>,
    version: IfMatchHeader,
    body: ExactJson<UpdateBody>,
) -> ApiResult<Response> {
    update::update(&visitor.into(), row, &params, version, body).await
}

/// Deletes a row
///
/// As `DELETE /v1/apps/{id}/collections/{name}/{key}`.
#[utoipa::path(delete, path = "/s/collections/{name}/{key}", tag = "Participants",
    operation_id = "participant_delete_row",
    params(
        ("If-Match" = Option<String>, Header,
            description = "The `ETag` that you have seen, or the version. A weak tag matches nothing."),
        VersionParams),
    request_body = Option<DeleteBody>,
    responses((status = 200, description = "The row with its new version.", body = RowRecord)))]
pub(crate) async fn delete_row(
    visitor: Visitor,
    row: RowPath,
    StrictQuery(params): StrictQuery<VersionParams>,
    version: IfMatchHeader,
    body: OptionalJson<DeleteBody>,
) -> ApiResult<Response> {
    delete::delete(&visitor.into(), row, &params, version, &body.0).await
}

/// Purges a row
///
/// As `DELETE /v1/apps/{id}/collections/{name}/{key}/purge`: for the owner.
#[utoipa::path(delete, path = "/s/collections/{name}/{key}/purge", tag = "Participants",
    operation_id = "participant_purge_row",
    params(
        ("If-Match" = Option<String>, Header,
            description = "The `ETag` that you have seen, or the version. A weak tag matches nothing."),
        VersionParams),
    request_body = Option<DeleteBody>,
    responses((status = 200, description = "What is left.", body = TombstoneRecord)))]
pub(crate) async fn purge_row(
    visitor: Visitor,
    row: RowPath,
    StrictQuery(params): StrictQuery<VersionParams>,
    version: IfMatchHeader,
    body: OptionalJson<DeleteBody>,
) -> ApiResult<Response> {
    purge::purge(&visitor.into(), row, &params, version, &body.0).await
}

/// Restores a row
///
/// As `POST /v1/apps/{id}/collections/{name}/{key}/restore`: for the owner.
#[utoipa::path(post, path = "/s/collections/{name}/{key}/restore", tag = "Participants",
    operation_id = "participant_restore_row",
    request_body = Option<Nothing>,
    responses((status = 200, description = "The row with its new version.", body = RowRecord)))]
pub(crate) async fn restore_row(visitor: Visitor, row: RowPath, _: Nothing) -> ApiResult<Response> {
    restore::restore(&visitor.into(), &row).await
}

/// Creates or upserts many rows
///
/// As `POST /v1/apps/{id}/collections/{name}/batch`; each row spends the budget.
#[utoipa::path(post, path = "/s/collections/{name}/batch", tag = "Participants",
    operation_id = "participant_write_batch",
    params(
        WriteHeaders,
    ),
    request_body = BatchWriteBody,
    responses((status = 200, description = "A result for each entry.", body = BatchRecord)))]
pub(crate) async fn write_batch(
    visitor: Visitor,
    CollectionPath(collection): CollectionPath,
    headers: WriteHeaders,
    body: ExactJson<BatchWriteBody>,
) -> ApiResult<Response> {
    batch_write::batch_write(&visitor.into(), &collection, headers, body).await
}

/// Deletes many rows
///
/// As `DELETE /v1/apps/{id}/collections/{name}/batch`.
#[utoipa::path(delete, path = "/s/collections/{name}/batch", tag = "Participants",
    operation_id = "participant_delete_batch",
    request_body = BatchDeleteBody,
    responses((status = 200, description = "A result for each entry.", body = BatchRecord)))]
pub(crate) async fn delete_batch(
    visitor: Visitor,
    CollectionPath(collection): CollectionPath,
    State(state): State<AppState>,
    body: ExactJson<BatchDeleteBody>,
) -> ApiResult<Response> {
    batch_delete::batch_delete(&state, &visitor.into(), &collection, body).await
}

/// Counts rows
///
/// As `GET /v1/apps/{id}/collections/{name}/count`.
#[utoipa::path(get, path = "/s/collections/{name}/count", tag = "Participants",
    operation_id = "participant_count_rows",
    responses((status = 200, description = "The number.", body = CountRecord)))]
pub(crate) async fn count_rows(
    visitor: AnyVisitor,
    CollectionPath(collection): CollectionPath,
) -> ApiResult<Response> {
    count::count(&visitor.into(), &collection).await
}

/// Lists the rows in the trash
///
/// As `GET /v1/apps/{id}/collections/{name}/deleted`: for the owner.
#[utoipa::path(get, path = "/s/collections/{name}/deleted", tag = "Participants",
    operation_id = "participant_list_deleted_rows",
    params(PageParams),
    responses((status = 200, description = "A page of the trash.", body = TrashPageRecord),
        (status = 304, description = "The page has not changed.")))]
pub(crate) async fn list_deleted_rows(
    visitor: AnyVisitor,
    CollectionPath(collection): CollectionPath,
    StrictQuery(params): StrictQuery<PageParams>,
) -> ApiResult<Response> {
    deleted::deleted(&visitor.into(), &collection, params).await
}
