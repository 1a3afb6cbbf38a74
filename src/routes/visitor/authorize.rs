//! `/authorize` on the site: carries a sign-in over to the origin of one app.

use axum::{
    extract::State,
    response::{Html, IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, header};
use rookery_actors::directory::SessionHolder;
use rookery_domain::{app::AppStatus, redirect::ReturnPath};
use serde::Deserialize;
use url::Url;

use super::see_other;
use crate::{
    error::ApiResult,
    http::{
        accept::is_navigation,
        cookie,
        params::PageQuery,
        prefetch::{Speculative, untouched},
    },
    pages::{
        origin::HostMatch,
        shell::{Shell, page_headers, render},
        site::ContinuePage,
    },
    routes::{page::sign_in_path, site},
    state::AppState,
};

/// Which app, and where in it.
#[derive(Debug, Deserialize)]
pub struct Authorize {
    /// Its id or slug.
    app: String,
    /// A path of the app; its start when absent or empty.
    return_to: Option<String>,
    /// What the browser was given where the sign-in began, at the app's `/s/sign-in`.
    state: Option<String>,
}

/// Signed out: to the sign-in page and back here. Signed in: to the app with a grant that it
/// redeems once, within a minute. A browser that has not begun at the app begins there, so that the
/// app knows it again.
///
/// # Errors
/// `invalid_request` for a return path that leads elsewhere; `app_not_found`.
pub async fn authorize(
    State(state): State<AppState>,
    Speculative(looking): Speculative,
    headers: HeaderMap,
    PageQuery(query): PageQuery<Authorize>,
) -> ApiResult<Response> {
    let return_to = ReturnPath::named(query.return_to.as_deref(), |path| {
        ReturnPath::of_app("return_to", path)
    })?;
    let return_to = return_to.unwrap_or_default();
    let app = state.rooms.apps().find(&query.app).await?;
    if looking {
        return Ok(untouched());
    }
    let Some(SessionHolder { human, session }) = site::visitor(&state, &headers)? else {
        return Ok(see_other(&sign_in_path(&query.app, &return_to))?);
    };
    let record = app.record();
    let url = state.app_url(record.id, &record.slug);
    if record.status != AppStatus::Live {
        // Nobody is let in; its own page says why.
        return lead(&state, &url);
    }
    let began = query.state.as_deref().and_then(cookie::sign_in::parse);
    if began.is_none() && is_navigation(&headers) {
        let begin = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("return_to", return_to.as_str())
            .finish();
        return lead(&state, &format!("{url}s/sign-in?{begin}"));
    }
    let directory = &state.rooms.directory;
    let grant = directory.create_session_grant(app.id(), human, session).await?;
    let mut parameters = url::form_urlencoded::Serializer::new(String::new());
    parameters.append_pair("grant", grant.expose()).append_pair("return_to", return_to.as_str());
    if let Some(began) = &began {
        parameters.append_pair("state", began.expose());
    }
    lead(&state, &format!("{url}s/callback?{}", parameters.finish()))
}

/// Sends the browser to an address of an app. Whoever has just signed in comes through a form of
/// the site, whose policy names the apps' own hosts only; a page leads on to any other.
fn lead(state: &AppState, address: &str) -> ApiResult<Response> {
    let host = Url::parse(address).ok().and_then(|url| url.host_str().map(str::to_owned));
    let is_own = |host: &str| state.origins.classify(host) != HostMatch::Unknown;
    if host.as_deref().is_some_and(is_own) {
        return Ok(see_other(address)?);
    }
    let page = ContinuePage {
        shell: Shell::new(&state.origins.site_origin(), None),
        address: address.to_owned(),
    };
    let mut response = Html(render(&page)?).into_response();
    let headers = response.headers_mut();
    headers.extend(page_headers(&[]));
    // The address holds a grant.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(response)
}
