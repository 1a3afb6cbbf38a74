//! `POST /ops/apps/:id/close` on the operator's listener: takes an app down. `rookery app close`
//! asks this of a running server.

use axum::{Json, extract::State};
use http::HeaderMap;
use rookery_actors::task::to_the_end;
use rookery_domain::{
    Error, ErrorCode,
    sealed::{ServerKey, TokenPurpose},
};
use serde::{Deserialize, Serialize};

use super::app::find;
use crate::{
    http::params::Path,
    {error::ApiResult, ops::audit, state::AppState},
};

/// What whoever may close an app does.
const BY_COMMAND: &str =
    "Run `rookery app close APP` with the server's settings, as a user who may read its key.";

/// An app that was taken down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// Its id.
    pub id: String,
    /// Its slug.
    pub slug: String,
}

/// The header of [`proof`].
pub const PROOF_HEADER: &str = "x-rookery-close-proof";

/// Proof that whoever asks to close `app`, an id or a slug as in the path, reads the server's key. It is
/// good for nothing else, and closing an app twice is closing it once.
#[must_use]
pub fn proof(key: &ServerKey, app: &str) -> String {
    key.sign(TokenPurpose::Close, app.as_bytes())
}

/// Takes an app down: its owner may still read, nobody writes, its pages say that it is closed.
///
/// # Errors
/// `app_not_found`; `forbidden` without [`proof`]: this listener may be without a token, and whoever
/// reaches it is not whoever the server belongs to.
pub async fn close(
    State(state): State<AppState>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> ApiResult<Json<Closed>> {
    let sent = headers.get(PROOF_HEADER).and_then(|sent| sent.to_str().ok());
    let proven = sent.and_then(|sent| state.rooms.key.verify(TokenPurpose::Close, sent));
    if proven.is_none_or(|named| named != id.as_bytes()) {
        let message = "closing an app asks for proof that one reads the server's key";
        return Err(Error::new(ErrorCode::Forbidden, message).with_hint(BY_COMMAND).into());
    }
    let app = find(&state, &id).await?;
    let record = to_the_end(async move {
        let done = state.rooms.close_app(&app.id().to_string()).await;
        // It asks for no reason, and there is one way to it.
        let (now, reason) = (state.clock.now(), "rookery app close".to_owned());
        state.ops.audit.record(audit::Action::ended(now, "close", app.id(), reason, &done));
        done
    })
    .await?;
    Ok(Json(Closed { id: record.id.to_string(), slug: record.slug.to_string() }))
}
