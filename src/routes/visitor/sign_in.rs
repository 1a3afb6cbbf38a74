//! `/s/sign-in` on an app's origin: the way to the site's `/authorize` and back. A page need not
//! know where the site is.

use axum::{extract::State, response::Response};
use rookery_domain::redirect::ReturnPath;
use serde::Deserialize;

use super::see_other;
use crate::{
    error::ApiResult,
    http::{auth::permission::Door, client::RequestContext, params::StrictQuery},
    routes::page::authorize_address,
    state::AppState,
};

/// Where to go afterwards.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    /// A path of this app, in path mode also as the browser shows it; its start when absent.
    return_to: Option<String>,
}

/// Sends the browser to sign in. Nothing is spent or changed, so whoever leads a visitor here
/// gains nothing.
///
/// # Errors
/// `invalid_request` for a return path that leads elsewhere.
pub async fn sign_in(
    _: Door,
    State(state): State<AppState>,
    context: RequestContext,
    StrictQuery(query): StrictQuery<SignIn>,
) -> ApiResult<Response> {
    let slug = context.app.as_deref().unwrap_or_default();
    let return_to = query.return_to.as_deref().filter(|path| !path.is_empty());
    let return_to = return_to.map(|path| state.origins.path_in_app(slug, path));
    let return_to = return_to.map(|path| ReturnPath::parse("return_to", path)).transpose()?;
    Ok(see_other(&authorize_address(&state, slug, &return_to.unwrap_or_default()))?)
}
