//! The site for humans: welcome, sign-in, the human's side of device authorization, the
//! development mailbox; and for who is signed in: apps, agents, organizations, an app's own pages,
//! the account.
//!
//! Each page is a module with its handlers beside the typed template that it fills. A page decides
//! nothing: it asks the API inside the process (`api`) and shows what that answers. The pages that
//! need no session (`pages::site`) have no script; the others work without it.

pub mod account;
pub mod agents;
pub mod api;
pub mod app;
pub mod assets;
pub mod confirm;
pub mod device;
pub mod fields;
pub mod first_run;
pub mod form_account;
pub mod form_token;
pub mod frame;
pub mod home;
pub mod mailbox;
pub mod marks;
pub mod notice;
pub mod orgs;
pub mod page_context;
pub mod paging;
pub mod posted;
pub mod records;
pub mod sign_in;
pub mod sign_out;
pub mod transfers;
pub mod trash;
pub mod usage;
pub mod welcome;
pub mod words;

use std::net::IpAddr;

use askama::Template;
use axum::{body::Body, response::Response};
use http::{HeaderMap, StatusCode, header};
use rookery_actors::directory::SessionHolder;
use rookery_domain::{Error, Result};
use serde::de::DeserializeOwned;

use self::form_account::FormAccount;
use crate::{
    http::{
        body::{budget::BodySender, read_within},
        cookie,
        params::form_fields,
        reply::see_other,
    },
    pages::shell::{self, Shell},
    state::State,
};

/// Bytes of a form of the site, unless it carries rows.
const FORM_BYTES_MAX: usize = 8 << 10;

/// Who looks at a page, if somebody is signed in. A session that has ended is nobody's.
pub(in crate::routes) fn visitor(
    state: &State,
    headers: &HeaderMap,
) -> Result<Option<SessionHolder>> {
    match cookie::session::read(headers, state) {
        Some(secret) => state.rooms.directory.session(secret),
        None => Ok(None),
    }
}

/// The frame of a page.
fn frame(state: &State, visitor: Option<SessionHolder>) -> Result<Shell> {
    let human = match visitor {
        Some(visitor) => state.rooms.directory.human(visitor.human)?,
        None => None,
    };
    Ok(Shell::new(&state.public_url, human.and_then(|human| human.email.clone())))
}

/// A page of the site.
fn show(state: &State, status: StatusCode, page: &impl Template) -> Result<Response> {
    Ok(page_of(state, status, shell::render(page)?, shell::page_headers))
}

/// The same for who is signed in, whose forms it has.
fn show_to(
    account: &FormAccount,
    state: &State,
    status: StatusCode,
    page: &impl Template,
) -> Result<Response> {
    let text = account.mark(&notice::with_focus(shell::render(page)?));
    Ok(page_of(state, status, text, shell::page_headers))
}

/// A page for who is signed in, with style and scripts of its own.
fn html(
    account: &FormAccount,
    state: &State,
    status: StatusCode,
    page: &impl Template,
) -> Result<Response> {
    let text = account.mark(&notice::with_focus(shell::render(page)?));
    Ok(page_of(state, status, text, shell::site_headers))
}

/// The answer that `text` is, with the headers that `headers` makes of where its forms may lead.
fn page_of(
    state: &State,
    status: StatusCode,
    text: String,
    headers: fn(&[&str]) -> HeaderMap,
) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    // Signing in may end at an app, and browsers hold a form to where its redirects lead.
    let apps = state.origins.any_app_source();
    let targets: Vec<&str> = apps.iter().map(String::as_str).collect();
    *response.headers_mut() = headers(&targets);
    response
}

/// Reads the form that a client at `address` sends, as it stands in the body. Only a browser sends
/// one, so only its content type is taken.
async fn form_text(
    state: &State,
    headers: &HeaderMap,
    address: IpAddr,
    body: Body,
    bytes_max: usize,
) -> Result<String> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    if !essence.is_some_and(|kind| kind.eq_ignore_ascii_case("application/x-www-form-urlencoded")) {
        return Err(Error::invalid("Content-Type: must be application/x-www-form-urlencoded"));
    }
    let share = state.bodies.share(BodySender::Service, address);
    let (bytes, _share) = read_within(headers, share, body, bytes_max, state).await?;
    String::from_utf8(bytes.into()).map_err(|_| Error::invalid("the form is not UTF-8"))
}

/// The fields of a form that nobody need be signed in for.
pub(in crate::routes) async fn form<T: DeserializeOwned>(
    state: &State,
    headers: &HeaderMap,
    address: IpAddr,
    body: Body,
) -> Result<T> {
    form_fields(&form_text(state, headers, address, body, FORM_BYTES_MAX).await?)
}
