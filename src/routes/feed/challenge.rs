//! `GET /v1/apps/:id/challenge`: a proof-of-work task.

use axum::Json;
use rookery_domain::{ErrorCode, challenge::Challenge};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    error::ApiResult,
    http::{auth::permission::RowCaller, params::StrictQuery},
    routes::collections::app_request::AppRequest,
    siteverify::{Siteverify, Widget},
};

/// What the task itself may answer.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::CollectionNotFound];

/// For what the task is.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChallengeParams {
    /// The collection that is to be written to.
    collection: String,
}

/// A task after the ALTCHA protocol: find the number up to `maxnumber` for which
/// `SHA-256(salt + number)` is `challenge`.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChallengeRecord {
    /// `SHA-256`.
    algorithm: &'static str,
    /// The hash to reach, in hexadecimal.
    challenge: String,
    /// The largest number worth trying.
    maxnumber: u64,
    /// What the number is appended to.
    salt: String,
    /// To be sent back as it is.
    signature: String,
}

impl From<Challenge> for ChallengeRecord {
    fn from(task: Challenge) -> Self {
        let Challenge { algorithm, challenge, maxnumber, salt, signature } = task;
        Self { algorithm, challenge, maxnumber, salt, signature }
    }
}

/// What a page needs to ask for a provider's token: where the widget's script is, and how it is
/// called.
#[derive(Debug, Serialize, ToSchema)]
pub struct WidgetRecord {
    /// `siteverify`.
    provider: &'static str,
    /// The site key that the widget is shown with.
    site_key: String,
    /// The script that defines the widget.
    script_url: String,
    /// The name under which it does: `turnstile`, `hcaptcha`, `grecaptcha`.
    api: String,
}

/// The task of a visitor: a proof of work, or where the operator has chosen a provider, its widget.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum VisitorChallenge {
    /// A proof of work.
    Work(ChallengeRecord),
    /// A provider's widget.
    Widget(WidgetRecord),
}

impl From<&Siteverify> for WidgetRecord {
    fn from(provider: &Siteverify) -> Self {
        let Widget { site_key, script_url, api } = provider.widget().clone();
        Self { provider: "siteverify", site_key, script_url, api }
    }
}

/// Gives a proof-of-work task
///
/// Find the `number` from 0 to `maxnumber` for which the SHA-256 of `salt` and the number's decimal digits
/// is `challenge`, in hexadecimal. The answer is base64 over the JSON
/// `{algorithm, challenge, number, salt, signature}`, goes into `x-service-challenge-token` of one create,
/// upsert or batch within ten minutes, and is spent by it, also when the write is refused for another
/// reason (then until the app sleeps or the server starts anew).
#[utoipa::path(
    get,
    path = "/v1/apps/{id}/challenge",
    tag = "Feed",
    params(ChallengeParams),
    responses((status = 200, description = "The task.", body = ChallengeRecord))
)]
pub(crate) async fn get_challenge(
    caller: RowCaller,
    StrictQuery(params): StrictQuery<ChallengeParams>,
) -> ApiResult<Json<ChallengeRecord>> {
    challenge(&caller.into(), &params).await
}

/// A task for any caller.
pub(crate) async fn challenge(
    request: &AppRequest,
    params: &ChallengeParams,
) -> ApiResult<Json<ChallengeRecord>> {
    let task = request.app.challenge(&request.caller, &params.collection).await?;
    Ok(Json(task.into()))
}
