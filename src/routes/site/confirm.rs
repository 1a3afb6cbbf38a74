//! `/sign-in/confirm`: where a mailed link opens. One button, so that opening it spends nothing.

use axum::{extract::State, response::Response};
use http::StatusCode;
use serde::Deserialize;

use super::{frame, show};
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
    PageQuery(query): PageQuery<Confirm>,
) -> ApiResult<Response> {
    let page = ConfirmPage { shell: frame(&state, None)?, token: query.token };
    Ok(show(&state, StatusCode::OK, &page)?)
}
