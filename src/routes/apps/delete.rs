//! `DELETE /v1/apps/:id`: into the trash.

use http::StatusCode;
use rookery_actors::app::message::{AppOp, Op};
use rookery_domain::ErrorCode;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AnyState, AppOwner},
        body::{Nothing, OptionalJson},
    },
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// Moves an app to the trash.
///
/// It can be restored until its `purge_at`. Doing it again answers the same.
#[utoipa::path(
    delete, path = "/v1/apps/{id}", tag = "Apps",
    params(("id" = String, Path, description = "The app's id or slug")),
    responses((status = 204, description = "It is in the trash")),
)]
pub async fn delete(
    owner: AppOwner<AnyState>,
    OptionalJson(Nothing {}): OptionalJson<Nothing>,
) -> ApiResult<StatusCode> {
    owner.app.apply(owner.caller, Op::App(AppOp::Delete)).await?;
    Ok(StatusCode::NO_CONTENT)
}
