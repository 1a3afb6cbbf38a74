//! `/sign-in`: asks for an address and mails a link there.

use axum::{body::Body, extract::State, response::Response};
use http::{HeaderMap, StatusCode, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rookery_actors::{Directory, directory::MailedLink};
use rookery_domain::{Error, ErrorCode, Result, email::Email, redirect::ReturnPath, slug};
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::{
    form, frame,
    notice::{self, Done},
    page_context::go,
    see_other, show, visitor,
};
use crate::{
    error::{ApiResult, status, tell},
    http::{client::RequestContext, csrf, params::PageQuery},
    pages::{
        origin::HostMatch,
        site::{SignInPage, SignInSentPage},
    },
    routes::auth::request_link,
    state::{AppState, State as Shared},
};

/// Whose the sealed address of a page is.
const SENT_TO: &str = "sign-in sent";

/// What is said of a mailed link that is not good.
const DEAD_LINK: &str = "This sign-in link no longer works: it was used, has expired, or never was. \
                         Ask for a new one here.";

/// What is said to a browser that would forget at once that it is signed in.
const NO_COOKIES: &str = "This browser keeps no cookies of this site, so nobody can stay signed in. \
                          Allow them, then open the link in the mail again: it was not used up.";

/// Where to go afterwards.
#[derive(Deserialize)]
pub struct SignIn {
    redirect_to: Option<String>,
}

/// To whom a link was sent.
#[derive(Deserialize)]
pub struct Sent {
    /// The address, sealed: no link of somebody else's says that a mail was sent, and no log holds it.
    to: String,
    redirect_to: Option<String>,
}

/// What the form sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    email: String,
    #[serde(default)]
    redirect_to: Option<String>,
}

/// The address of the page that leads to `path` afterwards.
pub(super) fn address(path: &ReturnPath) -> String {
    if *path == ReturnPath::default() {
        return "/sign-in".to_owned();
    }
    format!("/sign-in?redirect_to={}", utf8_percent_encode(path.as_str(), NON_ALPHANUMERIC))
}

fn return_path(text: Option<&str>) -> Result<ReturnPath> {
    let path = ReturnPath::named(text, |path| ReturnPath::of_site("redirect_to", path))?;
    Ok(path.unwrap_or_default())
}

/// Where signing in with the identity provider starts, if one is configured.
pub(super) fn idp_href(state: &Shared, path: &ReturnPath) -> Option<String> {
    state.idp.as_ref()?;
    let query = Serializer::new(String::new()).append_pair("redirect_to", path.as_str()).finish();
    Some(format!("/v1/auth/idp?{query}"))
}

/// The app that sent the human here: an invitation, or an app's own page, leads to `/authorize`.
fn app_of(path: &ReturnPath) -> Option<String> {
    let (path, query) = path.as_str().split_once('?')?;
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    let (_, slug) = pairs.find(|(name, _)| name == "app").filter(|_| path == "/authorize")?;
    slug::check(&slug).is_ok().then(|| slug.into_owned())
}

/// Why the form is shown again, and what was typed into it.
struct Refused {
    status: StatusCode,
    why: String,
    email: String,
}

fn ask(
    state: &Shared,
    headers: &HeaderMap,
    path: &ReturnPath,
    refused: Option<Refused>,
) -> Result<Response> {
    let (status, error, email) = match refused {
        Some(Refused { status, why, email }) => (status, Some(why), email),
        None => (StatusCode::OK, None, String::new()),
    };
    let page = SignInPage {
        shell: frame(state, visitor(state, headers)?)?,
        email,
        redirect_to: path.to_string(),
        app_name: app_of(path),
        error,
        idp_href: idp_href(state, path),
        is_lost: !state.mailer.reaches_anybody(),
    };
    show(state, status, &page)
}

/// The page.
///
/// # Errors
/// `invalid_request` for a return path that leads elsewhere.
pub async fn page(
    State(state): State<AppState>,
    headers: HeaderMap,
    PageQuery(query): PageQuery<SignIn>,
) -> ApiResult<Response> {
    let path = return_path(query.redirect_to.as_deref())?;
    Ok(ask(&state, &headers, &path, None)?)
}

/// The form: leads to the same page for a known and an unknown address. A browser sends it from a page of
/// the site, or another site would have it mail strangers in its visitors' names.
///
/// # Errors
/// `csrf_origin_mismatch`, `payload_too_large`, `unavailable`.
pub async fn submit(
    State(state): State<AppState>,
    headers: HeaderMap,
    client: RequestContext,
    body: Body,
) -> ApiResult<Response> {
    if csrf::is_of_browser(&headers) && !comes_from_here(&headers, &state) {
        csrf::require_from(&headers, &state.public_url)?;
    }
    let form: Form = form(&state, &headers, client.address, body).await?;
    let path = return_path(form.redirect_to.as_deref())?;
    let parsed = Email::parse(&form.email);
    let again = |status, why| {
        ask(&state, &headers, &path, Some(Refused { status, why, email: form.email }))
    };
    let email = match parsed {
        Ok(email) => email,
        Err(error) if error.code == ErrorCode::InvalidRequest => {
            let why = "That is not an e-mail address.".to_owned();
            return Ok(again(StatusCode::BAD_REQUEST, why)?);
        }
        Err(error) => return Err(error.into()),
    };
    match request_link::send(&state, client.address, &email, Some(&path)).await {
        Err(refusal) if refusal.error.code == ErrorCode::RateLimited => {
            let minutes = refusal.retry_after_s.unwrap_or_default().div_ceil(60);
            let why = format!(
                "This address was sent, or your network has asked for, enough sign-in links lately. \
                 Use the newest one, or try again in {minutes} min."
            );
            return Ok(again(StatusCode::TOO_MANY_REQUESTS, why)?);
        }
        sent => sent?,
    }
    // Seen anew, so that reloading the answer sends no second mail.
    let query = Serializer::new(String::new())
        .append_pair("to", &state.rooms.key.seal(SENT_TO, email.as_str(), &mut rand::rng()))
        .append_pair("redirect_to", path.as_str())
        .finish();
    Ok(see_other(&format!("/sign-in/sent?{query}"))?)
}

/// Whether a form was sent by a page of the very address that it is sent to. A site on this machine has more
/// than one, and a link that is mailed leads to the right one.
fn comes_from_here(headers: &HeaderMap, state: &Shared) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.filter(|host| state.origins.classify(host) == HostMatch::Site);
    let scheme = if state.is_https() { "https" } else { "http" };
    host.is_some_and(|host| csrf::is_from(headers, &format!("{scheme}://{host}")))
}

/// Says that a link is on its way, to whom a form has sent one.
///
/// # Errors
/// `invalid_request` for a return path that leads elsewhere.
pub async fn sent(
    State(state): State<AppState>,
    PageQuery(query): PageQuery<Sent>,
) -> ApiResult<Response> {
    let path = return_path(query.redirect_to.as_deref())?;
    let Some(email) = state.rooms.key.open(SENT_TO, &query.to) else {
        return Ok(see_other(&address(&path))?);
    };
    let page = SignInSentPage {
        shell: frame(&state, None)?,
        again: address(&path),
        email,
        valid_minutes: u32::try_from(Directory::LINK_TTL_S / 60).unwrap_or_default(),
        dev_mailbox: state.mailer.readable_mailbox().is_some(),
        is_lost: !state.mailer.reaches_anybody(),
    };
    Ok(show(&state, StatusCode::OK, &page)?)
}

/// The page for who could not be signed in; the next try leads to `path`.
pub(in crate::routes) fn refused(
    state: &Shared,
    headers: &HeaderMap,
    error: Error,
    path: &ReturnPath,
) -> Result<Response> {
    let why = notice::sentence(&error.message);
    let refused = Refused { status: status(error.code), why, email: String::new() };
    let mut page = ask(state, headers, path, Some(refused))?;
    tell(&error.into(), &mut page);
    Ok(page)
}

/// The page of a mailed link that is not good, where another one can be asked for. Of one that is still
/// known it leads where that was to lead, whether it was used or has expired. Whoever is signed in
/// already has come back to it, and goes on there; by a link that was somebody else's they stay who they
/// are, and are told so.
pub(in crate::routes) fn link_refused(
    state: &Shared,
    headers: &HeaderMap,
    link: Option<MailedLink>,
) -> Result<Response> {
    let Some(visitor) = visitor(state, headers)? else {
        return refused(state, headers, unauthorized(DEAD_LINK), &leads_to(link));
    };
    let human = state.rooms.directory.human(visitor.human)?;
    let own = human.as_ref().and_then(|human| human.proven_email());
    match link {
        Some(link) if own == Some(&*link.address) => see_other(link.redirect_to.as_str()),
        Some(_) => go("/", Done::LinkOfAnother),
        None => go("/", Done::LinkOver),
    }
}

/// The page for a browser that keeps no cookies.
pub(in crate::routes) fn cookies_refused(
    state: &Shared,
    headers: &HeaderMap,
    link: Option<MailedLink>,
) -> Result<Response> {
    refused(state, headers, unauthorized(NO_COOKIES), &leads_to(link))
}

fn unauthorized(why: &str) -> Error {
    Error::new(ErrorCode::Unauthorized, why)
}

fn leads_to(link: Option<MailedLink>) -> ReturnPath {
    link.map(|link| link.redirect_to).unwrap_or_default()
}
