//! Why an app's page is not shown: a status page says so to a browser that loads one, the error envelope
//! to a program.

use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use http::Uri;
use rookery_actors::{AppHandle, SlotState};
use rookery_domain::{
    Error, ErrorCode, app::AppStatus, manifest::Visibility, redirect::ReturnPath, secret::Secret,
};

use super::{PageRequest, below, retired};
use crate::{
    error::{ApiError, tell},
    http::{accept, auth::visitor::Arriving},
    pages::{
        shell::{Shell, render},
        status::{Insider, StatusPage},
    },
    state::AppState,
};

/// A visitor who has to wait longer for an app to wake gets a page that comes again by itself.
const WAKE_PATIENCE: Duration = Duration::from_secs(3);

/// What to do about a share link that lets nobody in.
const DEAD_SHARE_LINK_HINT: &str = "Ask whoever gave you the link for the one in force: the app's owner finds \
     it as share_url in GET /v1/apps/:id.";

/// Why a page is not shown.
#[derive(Debug)]
pub enum Refusal {
    /// The app has nothing at this path.
    NothingHere,
    /// No app has this address.
    NoApp,
    /// The app is in the trash.
    Deleted,
    /// The app was taken down.
    Closed,
    /// The app is being woken, or waits for its next start.
    Waking,
    /// The app is private, and this visitor is an outsider.
    Private(Outsider),
    /// The app opens by its share link, and this visitor came without the one in force.
    NeedsLink(Outsider),
    /// A sign-in that leads here no longer works.
    SpentGrant(Error),
    /// A sign-in that leads here from elsewhere is another account's than the visitor's.
    AnotherAccount,
    /// A sign-in that leads here from elsewhere did not begin in this browser.
    UnaskedSignIn,
    /// A link would make somebody else of a visitor who is this in the app already.
    AlreadyIn(Insider),
    /// A link that somebody was given does not let in.
    DeadLink(Error),
    /// A share link is not the one in force.
    DeadShareLink,
    /// Something failed.
    Failed(Error),
}

/// Whom the app is not open to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outsider {
    /// Somebody who may be let in by signing in.
    Stranger,
    /// A human who is signed in, so that signing in would lead back here.
    SignedIn,
}

impl Refusal {
    /// Whether nothing is served at this address, whoever asks.
    const fn is_for_everybody(&self) -> bool {
        matches!(self, Self::NothingHere | Self::NoApp | Self::Deleted | Self::Closed)
    }
}

impl Outsider {
    fn of(arriving: &Arriving) -> Self {
        match arriving.participant() {
            Some(one) if one.came_by.human().is_some() => Self::SignedIn,
            _ => Self::Stranger,
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error.code {
            ErrorCode::AppNotFound => Self::NoApp,
            ErrorCode::SoftDeleted => Self::Deleted,
            ErrorCode::AppClosed => Self::Closed,
            ErrorCode::GrantInvalid => Self::DeadLink(error),
            _ => Self::Failed(error),
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let unauthorized = |message| Self::new(ErrorCode::Unauthorized, message);
        match refusal {
            Refusal::NothingHere => {
                let hint = "Check the path against those of the assets that were deployed; the app's document is at /.";
                Self::new(ErrorCode::NotFound, "the app has nothing at this path").with_hint(hint)
            }
            Refusal::NoApp => Self::app_not_found(),
            Refusal::Deleted => Self::new(ErrorCode::SoftDeleted, "this app is in the trash"),
            Refusal::Closed => Self::new(ErrorCode::AppClosed, "this app is closed"),
            Refusal::Waking => Self::unavailable("the app is being woken"),
            Refusal::Private(_) => unauthorized("this app is private"),
            Refusal::NeedsLink(_) => {
                unauthorized("this app is open to whoever comes by its share link")
            }
            Refusal::AnotherAccount | Refusal::UnaskedSignIn => {
                Self::new(ErrorCode::Forbidden, "whoever signs in here is asked first, on a page")
            }
            Refusal::AlreadyIn(_) => {
                let message = "whoever is in the app already is asked first, on a page";
                Self::new(ErrorCode::Forbidden, message)
            }
            Refusal::DeadShareLink => unauthorized("this share link is not the one in force")
                .with_hint(DEAD_SHARE_LINK_HINT),
            Refusal::SpentGrant(error) | Refusal::DeadLink(error) | Refusal::Failed(error) => error,
        }
    }
}

/// Only a live app has pages.
pub(super) fn check_state(status: AppStatus) -> Result<(), Refusal> {
    Ok(status.check_live()?)
}

/// Whether the app is open to this visitor. A token that is no longer good is none: whoever looks
/// at a public page needs no other. Only the app itself knows its members, so this wakes it.
pub(super) async fn check_visit(
    arriving: &Arriving,
    visibility: Visibility,
) -> Result<(), Refusal> {
    if visibility == Visibility::Public {
        return Ok(());
    }
    let caller = arriving.participant().map(|participant| arriving.caller_of(participant));
    let caller = caller.unwrap_or_else(|| arriving.nobody());
    let standing = tokio::time::timeout(WAKE_PATIENCE, arriving.app.standing(&caller)).await;
    match standing {
        Err(_) => Err(Refusal::Waking),
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) if error.code == ErrorCode::Unavailable && is_coming(&arriving.app) => {
            Err(Refusal::Waking)
        }
        Ok(Err(error)) if error.code.status() != 401 => Err(error.into()),
        Ok(Err(_)) if visibility == Visibility::Link => {
            Err(Refusal::NeedsLink(Outsider::of(arriving)))
        }
        Ok(Err(_)) => Err(Refusal::Private(Outsider::of(arriving))),
    }
}

/// Whether the app starts by itself when it is asked for again soon.
fn is_coming(app: &AppHandle) -> bool {
    matches!(app.state(), SlotState::Waking | SlotState::BackingOff(_))
}

impl PageRequest {
    /// Refuses it: a browser that loads a page gets one, a program the envelope.
    pub fn refuse(&self, state: &AppState, refusal: Refusal) -> Response {
        if retired::is_asked_for(&self.headers) && refusal.is_for_everybody() {
            return retired::worker();
        }
        if accept::is_navigation(&self.headers) {
            return self.status_page(state, refusal);
        }
        ApiError::from(Error::from(refusal)).into_response()
    }

    /// The status page of a refusal, for a browser.
    pub fn status_page(&self, state: &AppState, refusal: Refusal) -> Response {
        let page = self.page_of(state, &refusal);
        let html = match render(&page) {
            Ok(html) => html,
            Err(error) => return ApiError::from(error).into_response(),
        };
        let mut response = Response::new(html.into());
        *response.status_mut() = page.status;
        response.headers_mut().extend(page.headers());
        // Programs are told the same in other words, or nothing is at their path.
        accept::vary_by_navigation(response.headers_mut());
        if let Refusal::Failed(error) = refusal {
            tell(&error.into(), &mut response);
        }
        response
    }

    fn page_of(&self, state: &AppState, refusal: &Refusal) -> StatusPage {
        let Self { context, uri, .. } = self;
        let slug = context.app.as_deref().unwrap_or_default();
        let shell = Shell::new(&state.origins.site_origin(), None);
        let request_id = || context.request_id.to_str().ok().map(str::to_owned);
        let sign_in = || authorize_address(state, slug, &back_of(uri), None);
        let another_account = || account_address(state, slug, &back_of(uri));
        let go_on = || below(&state.origins.app_base_path(slug), uri, "");
        match refusal {
            Refusal::NothingHere => StatusPage::not_found(shell, state.origins.app_base_path(slug)),
            Refusal::NoApp => StatusPage::no_app(shell),
            Refusal::Deleted => StatusPage::deleted(shell),
            Refusal::Closed => StatusPage::closed(shell),
            Refusal::Waking => StatusPage::waking(shell),
            Refusal::Private(Outsider::Stranger) => StatusPage::private(shell, sign_in()),
            Refusal::NeedsLink(Outsider::Stranger) => StatusPage::needs_link(shell, sign_in()),
            Refusal::Private(Outsider::SignedIn) => {
                StatusPage::not_let_in(shell, another_account())
            }
            Refusal::NeedsLink(Outsider::SignedIn) => {
                StatusPage::not_let_in_without_link(shell, another_account())
            }
            Refusal::AnotherAccount => StatusPage::another_account(shell, go_on()),
            Refusal::UnaskedSignIn => StatusPage::unasked_sign_in(shell, go_on()),
            Refusal::AlreadyIn(who) => {
                StatusPage::already_in(shell, *who, state.origins.app_base_path(slug), go_on())
            }
            Refusal::SpentGrant(_) => StatusPage::spent_link(shell, sign_in()),
            Refusal::DeadLink(_) => StatusPage::dead_link(shell),
            Refusal::DeadShareLink => StatusPage::dead_share_link(shell, sign_in()),
            Refusal::Failed(error) if error.code == ErrorCode::Unavailable => {
                StatusPage::unavailable(shell, request_id())
            }
            Refusal::Failed(_) => StatusPage::failed(shell, request_id()),
        }
    }
}

/// Where signing in to the app leads back to: `uri`, as far as that is a return path.
fn back_of(uri: &Uri) -> ReturnPath {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    ReturnPath::of_app("return_to", path).unwrap_or_default()
}

/// The site's sign-in, which says who is signed in and takes another address, for an app.
fn account_address(state: &AppState, slug: &str, back: &ReturnPath) -> String {
    let site = state.origins.site_origin();
    format!("{site}{}", sign_in_path(slug, back))
}

/// The path of the site's sign-in that leads on into an app; to its start, where `back` is too long to be
/// carried within another address.
pub fn sign_in_path(app: &str, back: &ReturnPath) -> String {
    let authorize = |back: &ReturnPath| format!("/authorize?{}", authorize_query(app, back, None));
    let here = ReturnPath::of_site("redirect_to", &authorize(back));
    let here = here.map_or_else(|_| authorize(&ReturnPath::default()), |here| here.to_string());
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("redirect_to", &here)
        .finish();
    format!("/sign-in?{query}")
}

/// The site's `/authorize` for an app, leading back to a path of it, with the state of a sign-in that
/// began there.
pub fn authorize_address(
    state: &AppState,
    slug: &str,
    back: &ReturnPath,
    began: Option<&Secret>,
) -> String {
    format!("{}/authorize?{}", state.origins.site_origin(), authorize_query(slug, back, began))
}

fn authorize_query(app: &str, back: &ReturnPath, began: Option<&Secret>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("app", app);
    if let Some(began) = began {
        query.append_pair("state", began.expose());
    }
    query.append_pair("return_to", back.as_str()).finish()
}
