//! `POST /apps/:id/versions/:number`: deploys the content of an earlier version as a new one,
//! through the gate that every deploy goes through.

use axum::response::Response;
use rookery_actors::control::{Deployed, Expected, RollBack};
use rookery_domain::{
    Error,
    idempotency::{Idempotent, StoredResponse},
    manifest::Visibility,
};
use serde::Deserialize;

use super::one;
use crate::{
    error::{ApiError, ApiResult},
    http::{auth::permission::AppOwner, idempotency::IdempotencyKey, params::Path, reply::to_json},
    routes::site::{
        form_token::FormToken,
        notice::{Done, Notice, or_again},
        page_context::PageContext,
        posted::Posted,
    },
};

/// What the form sends.
#[derive(Deserialize)]
pub struct Form {
    /// The version that was current when its page was made.
    version: u32,
    /// Who reached the app then.
    visibility: Visibility,
    /// Set when the human has read what breaks, and goes on.
    #[serde(default)]
    force: Option<String>,
    /// The token of the form.
    #[serde(default)]
    form: FormToken,
}

/// What is kept of a version that was made: its number.
fn made(deployed: &Deployed) -> StoredResponse {
    StoredResponse { status: 201, location: None, body: to_json(&deployed.report.version) }
}

/// The version that was made by an earlier request of the same form.
fn made_before(first: &StoredResponse) -> Result<u32, Error> {
    serde_json::from_str(&first.body).map_err(|_| Error::internal())
}

/// Goes back, once for this form. No route of the API does this, so the page names the permission
/// that a deploy's route would: the owner, from the site's own origin.
pub async fn submit(
    owner: Result<AppOwner, ApiError>,
    Path((id, number)): Path<(String, String)>,
    Posted(context, form): Posted<Form>,
) -> Response {
    context.answer(roll_back(&context, owner, &id, &number, form).await)
}

async fn roll_back(
    context: &PageContext,
    owner: Result<AppOwner, ApiError>,
    id: &str,
    number: &str,
    form: Form,
) -> ApiResult<Response> {
    let AppOwner { app, caller, .. } = owner?;
    let version = one::parse(number)?;
    let force = form.force.is_some();
    // What its page showed is what the human agreed to.
    let expected = Expected { version: form.version, visibility: form.visibility };
    let key = form.form.key(&[&*app.id().to_string(), number])?;
    let key = IdempotencyKey(key.and_then(|key| key.to_str().map(str::to_owned).ok()));
    let once = key.request(caller.principal(), &["roll back"], &force);
    let idempotency = once.map(|request| Deployed::once(request, Box::new(made)));
    let request = RollBack {
        caller,
        number: version,
        expected: Some(expected),
        force,
        dry_run: false,
        idempotency,
    };
    match context.state.rooms.control().roll_back(&app, request).await {
        // A version that is not there has no page.
        Err(failed) if failed.code.status() == 404 => Err(failed.into()),
        rolled_back => {
            let answered = rolled_back.and_then(|deployed| {
                let made = match deployed {
                    Idempotent::Fresh(deployed) => deployed.report.version,
                    Idempotent::Replayed(first) => made_before(&first)?,
                };
                context.go(&format!("/apps/{id}/versions/{made}"), Done::RolledBack)
            });
            let again = |status, error| {
                one::view(context, id, number, status, Some(Notice::refused(&error)))
            };
            or_again(answered.map_err(Into::into), again).await
        }
    }
}
