//! `/`: for a stranger what this is and the way in; for who is signed in, its apps.

use axum::{extract::State, response::Response};
use http::StatusCode;

use rookery_domain::redirect::ReturnPath;

use super::{frame, home, page_context::PageContext, show, sign_in::idp_href};
use crate::{error::ApiResult, pages::site::WelcomePage, routes::register, state::AppState};

/// The page.
///
/// # Errors
/// `unavailable`.
pub async fn page(
    State(state): State<AppState>,
    context: Result<PageContext, Response>,
) -> ApiResult<Response> {
    match context {
        Ok(context) => return Ok(context.answer(home::view(&context, StatusCode::OK, None).await)),
        Err(failed) if failed.status().as_u16() >= 400 => return Ok(failed),
        // The way to sign in, which this page shows itself.
        Err(_) => {}
    }
    let shell = frame(&state, None)?;
    let page = WelcomePage {
        shell,
        dev_mailbox: state.mailer.readable_mailbox().is_some(),
        takes_agents: register::is_open(&state),
        is_lost: !state.mailer.reaches_anybody(),
        idp_href: idp_href(&state, &ReturnPath::default()),
    };
    Ok(show(&state, StatusCode::OK, &page)?)
}
