//! `/sign-in/confirm`: where a mailed link opens. Says whom it signs in, and has one
//! button, so that opening it spends nothing.

use axum::{extract::State, response::Response};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use super::{frame, show, visitor};
use crate::{error::ApiResult, http::params::PageQuery, pages::site::ConfirmPage, state::AppState};

/// What a mailed link brings.
#[derive(Deserialize)]
pub struct Confirm {
    token: String,
}

/// The page.
///
/// # Errors
/// `invalid_request`.
pub async fn page(
    State(state): State<AppState>,
    headers: HeaderMap,
    PageQuery(query): PageQuery<Confirm>,
) -> ApiResult<Response> {
    let address = state.rooms.directory.link_address(&query.token).await?;
    let shell = frame(&state, visitor(&state, &headers)?)?;
    let page = ConfirmPage { shell, token: query.token, address };
    Ok(show(&state, StatusCode::OK, &page)?)
}
