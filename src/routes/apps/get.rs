//! `GET /v1/apps/:id`: the detail record.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use rookery_domain::{Error, ErrorCode, app::AppStatus};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{record::AppRecordBody, replay::to_json};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AnyState, AppOwner},
        conditional::IfNoneMatch,
        params::StrictQuery,
        reply::RawJson,
    },
    pages::assets::strong_etag,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::SoftDeleted];

/// Whether a deleted app is shown.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Query {
    /// Shows an app in the trash too.
    #[serde(default)]
    include_deleted: bool,
}

/// Shows an app.
///
/// It is described without being woken.
#[utoipa::path(
    get, path = "/v1/apps/{id}", tag = "Apps",
    params(("id" = String, Path, description = "The app's id or slug"), Query),
    responses(
        (status = 200, description = "The app, with a strong `ETag`", body = AppRecordBody),
        (status = 304, description = "The caller has this answer already"),
    ),
)]
pub async fn get(
    owner: AppOwner<AnyState>,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Query>,
    cached: IfNoneMatch,
) -> ApiResult<Response> {
    if owner.app.record().status == AppStatus::Deleted && !query.include_deleted {
        let message = "the app is in the trash; include_deleted=true shows it";
        return Err(Error::new(ErrorCode::SoftDeleted, message).into());
    }
    let body = to_json(&AppRecordBody::of(&state, &owner.app).await?);
    Ok(cached.answer(&strong_etag(body.as_bytes()), || RawJson(body).into_response()))
}
