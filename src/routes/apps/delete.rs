//! `DELETE /v1/apps/:id`: into the trash.

use axum::extract::State;
use http::StatusCode;
use rookery_actors::{
    app::message::{AppOp, Op},
    task::to_the_end,
};
use rookery_domain::{ErrorCode, app::AppStatus};

use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AnyState, AppOwner},
        body::Nothing,
    },
    notices::{self, Deed},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// Moves an app to the trash.
///
/// It can be restored until its `purge_at`. Doing it again answers the same. When somebody else
/// than its owner does it, the owner is told by mail. The trash has room for as many apps as the
/// account may have, and for 100 at least; what is beyond counts among the account's apps until it
/// is purged.
#[utoipa::path(
    delete, path = "/v1/apps/{id}", tag = "Apps",
    responses((status = 204, description = "It is in the trash")),
)]
pub async fn delete(
    owner: AppOwner<AnyState>,
    State(state): State<AppState>,
    _: Nothing,
) -> ApiResult<StatusCode> {
    let AppOwner { app, caller, .. } = owner;
    let (before, by) = (app.record(), caller.account());
    to_the_end(async move {
        app.apply(caller, Op::App(AppOp::Delete)).await?;
        if before.status == AppStatus::Live {
            notices::tell_owner(&state, &before, by, Deed::Deleted);
        }
        Ok(())
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}
