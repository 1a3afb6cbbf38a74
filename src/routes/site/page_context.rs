//! A request of a signed-in human for a page: who it is, the API on its behalf, and the frame that
//! every page has. Whoever is not signed in is sent to sign in, and comes back.

use std::net::IpAddr;

use askama::Template;
use axum::{
    extract::FromRequestParts,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, request::Parts};
use rookery_actors::directory::SessionHolder;
use rookery_domain::{
    Error, ErrorCode, Result,
    id::{HumanId, SessionId},
    redirect::ReturnPath,
};
use serde::de::DeserializeOwned;
use url::Url;

use super::{
    api::Api,
    assets::addresses,
    form_account::FormAccount,
    form_token::FormToken,
    frame::{Frame, Section},
    html,
    notice::{self, ANCHOR, Done, Notice},
    see_other, sign_in, visitor, words,
};
use crate::{
    error::{self, ApiError, ApiResult},
    http::{client::RequestContext, csrf},
    pages::shell::Shell,
    state::AppState,
};

/// Says that a page's script asks, for a part of the page.
const HX_REQUEST: HeaderName = HeaderName::from_static("hx-request");
/// The address of the page whose script asks.
const HX_CURRENT_URL: HeaderName = HeaderName::from_static("hx-current-url");
/// Tells the script where the whole page goes, in place of an answer.
const HX_REDIRECT: HeaderName = HeaderName::from_static("hx-redirect");

/// The parameter of an address that says what the last action did.
pub(super) const DONE: &str = "done";

/// A page that could not be made, or an action that was refused where no page shows it better.
#[derive(Template)]
#[template(path = "site/problem.html")]
struct ProblemPage {
    frame: Frame,
    title: &'static str,
    message: String,
    /// What the message means here, and what to do.
    advice: Option<&'static str>,
    /// Where it goes on, and what that is called.
    way_on: Option<(String, &'static str)>,
    /// The form that was sent, to be sent again.
    kept: Vec<(String, String)>,
    /// Where that goes.
    path: String,
    request_id: String,
}

/// A secret that was made, where the page that was to show it could not be.
#[derive(Template)]
#[template(path = "site/made.html")]
struct MadePage {
    frame: Frame,
    secret: String,
}

/// A signed-in human at work.
#[derive(Clone)]
pub struct PageContext {
    /// What handlers share.
    pub state: AppState,
    /// The API on the human's behalf.
    pub api: Api,
    /// The human.
    pub human: HumanId,
    who: String,
    account: FormAccount,
    session: SessionId,
    uri: Uri,
    headers: HeaderMap,
    address: IpAddr,
    request_id: String,
    /// The form that is sent, as it stands in the body and without the account it was made for.
    pub(super) sent: String,
}

impl FromRequestParts<AppState> for PageContext {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Response> {
        match Self::open(parts, state).await {
            Ok(opened) => opened,
            Err(failed) => Err(failed.into_response()),
        }
    }
}

impl PageContext {
    /// The context, or the way to sign in.
    pub(super) async fn open(
        parts: &mut Parts,
        state: &AppState,
    ) -> ApiResult<Result<Self, Response>> {
        csrf::check(&parts.method, &parts.headers, &state.public_url)?;
        let Some(holder) = visitor(state, &parts.headers)? else {
            return Ok(Err(to_sign_in(&parts.uri, &parts.headers)?));
        };
        check_app(parts.uri.path())?;
        let human = state.rooms.directory.human(holder.human)?;
        let who = human.and_then(|human| human.email.clone()).unwrap_or_default();
        let api = Api::from_request_parts(parts, state).await?;
        let context = RequestContext::from_request_parts(parts, state).await?;
        Ok(Ok(Self {
            state: state.clone(),
            api,
            human: holder.human,
            who,
            account: FormAccount::of(state, holder)?,
            session: holder.session,
            uri: parts.uri.clone(),
            headers: parts.headers.clone(),
            address: context.address,
            request_id: context.request_id.to_str().unwrap_or_default().to_owned(),
            sent: String::new(),
        }))
    }

    /// The frame of a page, with what the last action did if the address says so.
    #[must_use]
    pub fn frame(&self, section: Section) -> Frame {
        let pairs = url::form_urlencoded::parse(self.asked().as_bytes());
        let done = pairs.filter(|(name, _)| name == DONE).last();
        // What a link of another site says was done was not.
        let done = done.filter(|_| !csrf::is_led_from_elsewhere(&self.headers));
        let notice = done.and_then(|(_, code)| Notice::of_code(&code));
        Frame {
            files: addresses(),
            who: self.who.clone(),
            account: self.human,
            session: self.session,
            section,
            notice,
            here: self.here(None),
            form: FormToken::draw(),
        }
    }

    /// The address of this page; `done` is what the last action did.
    fn here(&self, done: Option<Done>) -> String {
        let pairs = url::form_urlencoded::parse(self.asked().as_bytes());
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(pairs.filter(|(name, _)| name != DONE))
            .extend_pairs(done.map(|done| (DONE, done.code())))
            .finish();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{mark}{query}", self.uri.path())
    }

    /// The parameters that a page takes. An address is typed and kept by people: a parameter that
    /// a page does not know is left alone.
    ///
    /// # Errors
    /// `invalid_request`, for one that is no such value.
    pub fn query<T: DeserializeOwned>(&self) -> Result<T> {
        crate::http::params::query(self.asked())
    }

    /// The page's query, as it was asked for.
    #[must_use]
    pub fn asked(&self) -> &str {
        self.uri.query().unwrap_or_default()
    }

    /// Whether a page's script asks, for a part of the page.
    #[must_use]
    pub fn is_for_script(&self) -> bool {
        self.headers.contains_key(HX_REQUEST)
    }

    /// Whose context it is, as a form names it.
    #[must_use]
    pub const fn account(&self) -> &FormAccount {
        &self.account
    }

    /// Who sits there, by which session.
    #[must_use]
    pub const fn holder(&self) -> SessionHolder {
        SessionHolder { session: self.session, human: self.human }
    }

    /// Where the request comes from.
    #[must_use]
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// The frame of a page without scripts.
    #[must_use]
    pub fn shell(&self) -> Shell {
        Shell::new(&self.state.public_url, Some(self.account.who.clone()))
    }

    /// A page.
    ///
    /// # Errors
    /// `internal`.
    pub fn page(&self, status: StatusCode, page: &impl Template) -> Result<Response> {
        html(&self.account, &self.state, status, page)
    }

    /// The page that follows an action: seen anew, so that reloading it does nothing again; and at
    /// what it says about the action.
    ///
    /// # Errors
    /// `internal`, for a path that is no header's value.
    pub fn go(&self, path: &str, done: Done) -> Result<Response> {
        go(path, done)
    }

    /// The same for the page that the form is on, whose lists stay where they were turned to.
    ///
    /// # Errors
    /// `internal`, for a path that is no header's value.
    pub fn again(&self, done: Done) -> Result<Response> {
        see_other(&format!("{}#{ANCHOR}", self.here(Some(done))))
    }

    /// Where a form wants to go afterwards: a path of this site, else `otherwise`.
    #[must_use]
    pub fn back(&self, wanted: Option<&str>, otherwise: &str) -> String {
        let path = wanted.and_then(|path| ReturnPath::of_site("back", path).ok());
        path.map_or_else(|| otherwise.to_owned(), |path| path.to_string())
    }

    /// The page that shows a secret which was made, once: where that failed, one with the secret alone,
    /// which has the failure's status.
    ///
    /// # Errors
    /// Why there is no page, where there is no secret.
    pub fn showing(
        &self,
        page: ApiResult<Response>,
        secret: Option<String>,
    ) -> ApiResult<Response> {
        match (page, secret) {
            (Err(failed), Some(secret)) => {
                let page = MadePage { frame: self.frame(Section::Apps), secret };
                Ok(self.telling(&failed, &page)?)
            }
            (page, _) => page,
        }
    }

    /// A page that stands where something failed: with its status, and with what every such answer says.
    ///
    /// # Errors
    /// `internal`.
    pub fn telling(&self, failed: &ApiError, page: &impl Template) -> Result<Response> {
        let mut response = self.page(error::status(failed.error.code), page)?;
        error::tell(failed, &mut response);
        Ok(response)
    }

    /// What was answered, or the page that says why not.
    #[must_use]
    pub fn answer(&self, answered: ApiResult<Response>) -> Response {
        let failed = match answered {
            Ok(response) => return response,
            Err(failed) => failed,
        };
        if failed.error.code == ErrorCode::Unauthorized {
            // The session ended while the page was being made.
            return to_sign_in(&self.uri, &self.headers)
                .unwrap_or_else(|error| ApiError::from(error).into_response());
        }
        self.problem(&failed).unwrap_or_else(|error| ApiError::from(error).into_response())
    }

    /// Where one goes on from a problem: to the trash, or to the app that it is about.
    fn way_on(&self, code: ErrorCode) -> Option<(String, &'static str)> {
        match code {
            ErrorCode::SoftDeleted => Some(("/trash".to_owned(), "Open the trash")),
            ErrorCode::AppNotFound => None,
            _ => app_of(self.uri.path()).map(|app| (app, "Back to the app")),
        }
    }

    /// The fields of the form that was sent.
    fn kept(&self) -> Vec<(String, String)> {
        url::form_urlencoded::parse(self.sent.as_bytes()).into_owned().collect()
    }

    fn problem(&self, failed: &ApiError) -> Result<Response> {
        let code = failed.error.code;
        let page = ProblemPage {
            frame: self.frame(Section::Apps),
            title: title(code),
            message: notice::sentence(&words::refusal(&failed.error)),
            advice: notice::advice(code),
            way_on: self.way_on(code),
            kept: if may_pass(code) { self.kept() } else { Vec::new() },
            path: self.uri.to_string(),
            request_id: self.request_id.clone(),
        };
        self.telling(failed, &page)
    }
}

/// See [`PageContext::go`].
pub(super) fn go(path: &str, done: Done) -> Result<Response> {
    let mark = if path.contains('?') { '&' } else { '?' };
    see_other(&format!("{path}{mark}{DONE}={}#{ANCHOR}", done.code()))
}

/// Whether what failed may be done when it is tried again: in a while, or with the app back from the trash.
fn may_pass(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::SoftDeleted | ErrorCode::RateLimited) || code.status() >= 500
}

/// The page of the app that a path of the site is about, if it is one below it.
fn app_of(path: &str) -> Option<String> {
    let (app, _) = path.strip_prefix("/apps/")?.split_once('/')?;
    Some(format!("/apps/{app}"))
}

/// The heading of a problem.
fn title(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::AppNotFound => "There is no such app here",
        ErrorCode::SoftDeleted => "This app is in the trash",
        ErrorCode::AppClosed => "This app was taken down",
        ErrorCode::Forbidden => "This is not yours to do",
        _ => match code.status() {
            404 => "Nothing is here",
            400..=499 => "That did not work",
            _ => "The service could not do that",
        },
    }
}

/// Refuses the page of an app whose name no app has. Pages build paths of the API with it, and decoded
/// it could end there: `A%23/sharing` is about the sharing of `A#`, and `/v1/apps/A#/transfer` about
/// `A`. So every page of an app may use the name as it is.
///
/// # Errors
/// `app_not_found`.
fn check_app(path: &str) -> Result<()> {
    let name = path.strip_prefix("/apps/").and_then(|rest| rest.split('/').next());
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    match name {
        Some(name) if !name.bytes().all(is_plain) => Err(Error::app_not_found()),
        _ => Ok(()),
    }
}

/// Signs in and comes back. Where a page's script asked for a part of it, the whole page goes.
fn to_sign_in(uri: &Uri, headers: &HeaderMap) -> Result<Response> {
    let to = sign_in::address(&way_back(uri, headers));
    if !headers.contains_key(HX_REQUEST) {
        return see_other(&to);
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let to = HeaderValue::from_str(&to).map_err(|_| Error::internal())?;
    response.headers_mut().insert(HX_REDIRECT, to);
    Ok(response)
}

/// What one comes back to: the page that was asked for, or that has the form which was sent to its
/// path, or whose script asked for a part of it.
pub(super) fn way_back(uri: &Uri, headers: &HeaderMap) -> ReturnPath {
    let asked = || uri.path_and_query().map(ToString::to_string);
    let page = headers.get(HX_CURRENT_URL).filter(|_| headers.contains_key(HX_REQUEST));
    let here = match page.and_then(path_of) {
        // Of the same page something else was asked for, such as its rows by another filter.
        Some(page) if page.split('?').next() != Some(uri.path()) => Some(page),
        Some(_) => asked(),
        None if headers.contains_key(HX_REQUEST) => None,
        None => asked(),
    };
    here.and_then(|here| ReturnPath::of_site("redirect_to", &here).ok()).unwrap_or_default()
}

/// The path of an address, with its query.
fn path_of(address: &HeaderValue) -> Option<String> {
    let address = Url::parse(address.to_str().ok()?).ok()?;
    Some(address[url::Position::BeforePath..url::Position::AfterQuery].to_owned())
}
