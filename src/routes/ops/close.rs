//! `POST /ops/apps/:id/close` on the operator's listener: takes an app down. `rookery app close`
//! asks this of a running server.

use axum::{Json, extract::State};
use http::{HeaderMap, header};
use rookery_actors::task::to_the_end;
use rookery_domain::{Error, ErrorCode};
use serde::{Deserialize, Serialize};

use crate::{
    http::params::Path,
    {error::ApiResult, ops::audit, state::AppState},
};

/// An app that was taken down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// Its id.
    pub id: String,
    /// Its slug.
    pub slug: String,
}

/// Takes an app down: its owner may still read, nobody writes, its pages say that it is closed.
///
/// # Errors
/// `app_not_found`; `forbidden` for a request that a browser sent: this listener may be without a
/// token, and any page can make a browser post to a loopback address.
pub async fn close(
    State(state): State<AppState>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> ApiResult<Json<Closed>> {
    if headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site") {
        return Err(Error::new(ErrorCode::Forbidden, "browsers may not do this").into());
    }
    let app = state.rooms.apps().find(&id).await?;
    let record = to_the_end(async move {
        let done = state.rooms.close_app(&app.id().to_string()).await;
        // It asks for no reason.
        let (now, reason) = (state.clock.now(), String::new());
        state.ops.audit.record(audit::Action::ended(now, "close", app.id(), reason, &done));
        done
    })
    .await?;
    Ok(Json(Closed { id: record.id.to_string(), slug: record.slug.to_string() }))
}
