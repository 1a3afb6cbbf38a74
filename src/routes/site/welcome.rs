//! `/`: what this is, and the way to a first app.

use axum::{extract::State, response::Response};
use http::{HeaderMap, StatusCode};

use super::{frame, show, visitor};
use crate::{error::ApiResult, pages::site::WelcomePage, state::AppState};

/// The page.
///
/// # Errors
/// `unavailable`.
pub async fn page(State(state): State<AppState>, headers: HeaderMap) -> ApiResult<Response> {
    let shell = frame(&state, visitor(&state, &headers)?)?;
    let dev_mailbox = state.mailer.readable_mailbox().is_some();
    Ok(show(&state, StatusCode::OK, &WelcomePage { shell, dev_mailbox })?)
}
