//! An error, shown as a page to a browser that loads one. Programs get the envelope of `error.rs`
//! for the same status; which of the two a request gets is decided at the boundary.

use axum::response::Response;
use http::{HeaderValue, header};
use rookery_domain::ErrorCode;

use crate::{
    error::{self, ApiError},
    pages::{
        shell::{Shell, render},
        status::StatusPage,
    },
    state::State,
};

/// Gives `response` a page, if it carries an error.
pub(super) fn show(state: &State, response: &mut Response, request_id: &HeaderValue) {
    put(response, |code| page(state, code, request_id));
}

/// The same at the operators' listener, for an address that leads to nothing there: the way back is to
/// their pages, where the site's are not.
pub(super) fn show_operator(state: &State, response: &mut Response) {
    let shell = || Shell::new(&state.origins.site_origin(), None);
    let home = || "/ops".to_owned();
    put(response, |code| match code.status() {
        400 => StatusPage::misled(shell(), home()),
        _ => StatusPage::not_found(shell(), home()),
    });
}

fn put(response: &mut Response, page: impl FnOnce(ErrorCode) -> StatusPage) {
    let Some(failed) = ApiError::take(response) else { return };
    let code = failed.error.code;
    let mut page = page(code);
    page.status = error::status(code);
    *response.status_mut() = page.status;
    response.headers_mut().extend(page.headers());
    error::tell(&failed, response);
    // A page that cannot be rendered is an empty one with the right status.
    let html = render(&page).unwrap_or_default();
    // The length of the answer that carried the error is there already.
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(html.len()));
    *response.body_mut() = html.into();
}

fn page(state: &State, code: ErrorCode, request_id: &HeaderValue) -> StatusPage {
    let site = state.origins.site_origin();
    let shell = Shell::new(&site, None);
    let request_id = || request_id.to_str().ok().map(str::to_owned);
    match code {
        ErrorCode::AppNotFound => StatusPage::no_app(shell),
        ErrorCode::SoftDeleted => StatusPage::deleted(shell),
        ErrorCode::AppClosed => StatusPage::closed(shell),
        ErrorCode::RateLimited => StatusPage::rate_limited(shell),
        ErrorCode::Unavailable => StatusPage::unavailable(shell, request_id()),
        ErrorCode::NotFound | ErrorCode::MethodNotAllowed => {
            StatusPage::not_found(shell, format!("{site}/"))
        }
        ErrorCode::NotImplemented => StatusPage::not_offered(shell, format!("{site}/")),
        _ => match code.status() {
            401 => StatusPage::spent_link(shell, format!("{site}/sign-in")),
            403 => StatusPage::forbidden(shell),
            400..=499 => StatusPage::misled(shell, format!("{site}/")),
            _ => StatusPage::failed(shell, request_id()),
        },
    }
}
