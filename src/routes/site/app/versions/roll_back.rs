//! `POST /apps/:id/versions/:number`: deploys the content of an earlier version as a new one,
//! through the gate that every deploy goes through.

use axum::{extract::Path, response::Response};
use rookery_actors::control::RollBack;
use serde::Deserialize;

use super::one;
use crate::{
    error::{ApiError, ApiResult},
    http::auth::permission::AppOwner,
    routes::site::{
        desk::Desk,
        notice::{Notice, or_again},
        posted::Posted,
    },
};

/// What the form sends.
#[derive(Deserialize)]
pub struct Form {
    /// Set when the human has read what breaks, and goes on.
    #[serde(default)]
    force: Option<String>,
}

/// Goes back. No route of the API does this, so the page names the permission that a deploy's
/// route would: the owner, from the site's own origin.
pub async fn submit(
    owner: Result<AppOwner, ApiError>,
    Path((id, number)): Path<(String, String)>,
    Posted(desk, form): Posted<Form>,
) -> Response {
    desk.answer(roll_back(&desk, owner, &id, &number, form).await)
}

async fn roll_back(
    desk: &Desk,
    owner: Result<AppOwner, ApiError>,
    id: &str,
    number: &str,
    form: Form,
) -> ApiResult<Response> {
    let AppOwner { app, caller, .. } = owner?;
    let version = one::parse(number)?;
    let request = RollBack { caller, number: version, force: form.force.is_some(), dry_run: false };
    match desk.state.rooms.control().roll_back(&app, request).await {
        // A version that is not there has no page.
        Err(failed) if failed.code.status() == 404 => Err(failed.into()),
        rolled_back => {
            let answered = rolled_back.and_then(|deployed| {
                desk.go(&format!("/apps/{id}/versions/{}", deployed.report.version), "rolled-back")
            });
            let again =
                |status, error| one::view(desk, id, number, status, Some(Notice::refused(&error)));
            or_again(answered.map_err(Into::into), again).await
        }
    }
}
