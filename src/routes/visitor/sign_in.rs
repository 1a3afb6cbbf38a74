//! `/s/sign-in` on an app's origin: the way to the site's `/authorize` and back. A page need not
//! know where the site is.

use axum::{extract::State, response::Response};
use http::HeaderMap;
use rookery_domain::{Result, redirect::ReturnPath};
use serde::Deserialize;

use super::see_other;
use crate::{
    error::ApiResult,
    http::{auth::permission::PublicLink, client::RequestContext, cookie, params::PageQuery},
    routes::page::authorize_address,
    state::AppState,
};

/// Where to go afterwards.
#[derive(Debug, Deserialize)]
pub struct SignIn {
    /// A path of this app, in path mode also as the browser shows it; its start when absent or empty.
    return_to: Option<String>,
}

/// Sends the browser to sign in, with a state by which the end of this sign-in is told from anybody
/// else's. Nothing else is spent or changed, so whoever leads a visitor here gains nothing. From an
/// origin to which `/authorize` does not lead it begins once more at that one.
///
/// # Errors
/// `invalid_request` for a return path that leads elsewhere.
pub async fn sign_in(
    _: PublicLink,
    State(state): State<AppState>,
    context: RequestContext,
    headers: HeaderMap,
    PageQuery(query): PageQuery<SignIn>,
) -> ApiResult<Response> {
    let slug = context.app.as_deref().unwrap_or_default();
    let return_to = ReturnPath::named(query.return_to.as_deref(), |shown| {
        return_path(state.origins.path_in_app(slug, shown))
    })?;
    let return_to = return_to.unwrap_or_default();
    let app = state.rooms.apps().find(slug).await.ok();
    let comes_back = app.is_some_and(|app| {
        let record = app.record();
        context.origin(&state) == Some(state.app_origin(record.id, &record.slug))
    });
    let mut answer = HeaderMap::new();
    let began = comes_back.then(|| cookie::sign_in::begin(&headers, &mut answer, slug, &state));
    let mut response = see_other(&authorize_address(&state, slug, &return_to, began.as_ref()))?;
    response.headers_mut().extend(answer);
    Ok(response)
}

/// Where an app's page wants to be come back to. Addresses in browsers may hold a backslash behind the path,
/// where it means nothing; one that is too long to be carried leads to the app's start.
fn return_path(shown: &str) -> Result<ReturnPath> {
    let (path, rest) = shown.split_at(shown.find(['?', '#']).unwrap_or(shown.len()));
    let path = format!("{path}{}", rest.replace('\\', "%5C"));
    match ReturnPath::is_too_long(&path) {
        true => Ok(ReturnPath::default()),
        false => ReturnPath::of_app("return_to", &path),
    }
}
