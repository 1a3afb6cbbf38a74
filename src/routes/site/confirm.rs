//! `/sign-in/confirm`: where a mailed link opens. Says whom it signs in, and has one
//! button, so that opening it spends nothing. A link that is not good has no button: its page offers
//! another one.

use axum::{extract::State, response::Response};
use http::{HeaderMap, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rookery_domain::Result;
use serde::Deserialize;

use super::{frame, see_other, show, sign_in, visitor};
use crate::{
    error::ApiResult,
    http::{cookie, params::PageQuery},
    pages::site::ConfirmPage,
    state::AppState,
};

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
    let link = state.rooms.directory.mailed_link(&query.token).await?;
    let address = match link {
        Some(link) if link.is_good => link.address,
        link => return Ok(sign_in::link_refused(&state, &headers, link)?),
    };
    let shell = frame(&state, visitor(&state, &headers)?)?;
    let page = ConfirmPage { shell, token: query.token, address };
    let mut response = show(&state, StatusCode::OK, &page)?;
    cookie::session::probe(response.headers_mut(), state.is_https());
    Ok(response)
}

/// Leads to the page, for who has to be asked first.
pub(in crate::routes) fn ask(token: &str) -> Result<Response> {
    see_other(&format!("/sign-in/confirm?token={}", utf8_percent_encode(token, NON_ALPHANUMERIC)))
}
