//! `/account`: who the human is, where it is signed in, what mail it wants; and leaving for good.

use askama::Template;
use axum::response::Response;
use http::{Method, StatusCode};
use rookery_domain::{
    Error,
    id::{OrgId, SessionId},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    fields::Fields,
    form_token::FormToken,
    frame::{Frame, Section},
    notice::{Done, Notice, done_or_gone, or_again},
    orgs::Org,
    page_context::PageContext,
    paging::{CursorTrail, ITEMS_MAX, Pager},
    posted::Posted,
    records::{App, List},
    see_other,
    words::At,
};
use crate::{error::ApiResult, http::cookie, routes::self_apps::record::OwnRole};

#[derive(Deserialize)]
struct Profile {
    id: String,
    email: Option<String>,
    email_verified: bool,
    name: Option<String>,
    display_name: String,
    marketing_consent: bool,
    signup_source: Option<String>,
    created_at: At,
}

#[derive(Deserialize)]
struct Session {
    id: SessionId,
    current: bool,
    created_at: At,
    last_used_at: At,
    expires_at: At,
}

/// What a form of the page asks for.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Action {
    Rename,
    Consent,
    Heard,
    EndSession,
    EndAll,
    Close,
}

/// Whether this form of the page ends the session of whoever sends it.
pub(super) fn ends_session(fields: &Fields) -> bool {
    match fields.action() {
        Ok(Action::EndAll | Action::Close) => true,
        Ok(Action::Rename | Action::Consent | Action::Heard | Action::EndSession) | Err(_) => false,
    }
}

/// Pages of apps that are looked through for those in organizations; an account has one, unless its
/// limits were raised or very much is shared with it.
const APP_PAGES_MAX: usize = 5;

#[derive(Template)]
#[template(path = "site/account.html")]
struct AccountPage {
    frame: Frame,
    profile: Profile,
    sessions: Vec<Session>,
    pager: Pager,
    /// What a form that was refused held.
    typed: Fields,
    /// The human's apps that are in organizations, which end with the account.
    shared_apps: Vec<App>,
    /// With which a browser asks to be told things.
    push_key: String,
}

/// The key of push messages.
#[derive(Deserialize)]
struct PushKey {
    public_key: String,
}

/// The page.
pub async fn page(context: PageContext) -> Response {
    context.answer(view(&context, StatusCode::OK, None, Fields::default()).await)
}

/// Does what a form of the page asks for.
pub async fn act(Posted(context, fields): Posted<Fields>) -> Response {
    let answered = perform(&context, &fields).await;
    let again = async |status, error: Error| {
        let notice = match last_admin_of(&error) {
            Some(org) => keeps_an_org(&context, org).await?,
            None => refusal(&error, &fields),
        };
        view(&context, status, Some(notice), fields).await
    };
    context.answer(or_again(answered, again).await)
}

/// Why a form of the page was refused.
fn refusal(error: &Error, fields: &Fields) -> Notice {
    let Ok(action) = fields.action() else { return Notice::refused(error) };
    let (place, asked): (_, &[_]) = match action {
        Action::Rename => ("", &["name"]),
        Action::Heard => ("", &["source"]),
        Action::EndSession => ("sessions", &[]),
        Action::Close => ("close", &["confirm_email"]),
        Action::Consent | Action::EndAll => ("", &[]),
    };
    Notice::of_form(error, fields.one("action"), place, asked)
}

/// The organization that would be left without an admin.
fn last_admin_of(error: &Error) -> Option<OrgId> {
    error.details.as_deref()?.get("org_id")?.as_str()?.parse().ok()
}

/// That the account has to stay for an organization's sake.
async fn keeps_an_org(context: &PageContext, org: OrgId) -> ApiResult<Notice> {
    let Org { id, name, .. } = context.api.get(&format!("/v1/orgs/{org}")).await?;
    let text = format!(
        "You are the last admin of “{name}”, which others are in: make one of them an admin first."
    );
    let link = Some((format!("/orgs/{id}"), format!("Go to {name}")));
    Ok(Notice { link, place: "close", ..Notice::of_refusal(text, None) })
}

async fn perform(context: &PageContext, fields: &Fields) -> ApiResult<Response> {
    let api = &context.api;
    match fields.action()? {
        Action::Rename => {
            let patch = json!({"name": fields.one("name")});
            api.send::<Value>(Method::PATCH, "/v1/self/profile", &patch).await?;
            Ok(context.go("/account", Done::Saved)?)
        }
        Action::Consent => {
            let consent = json!({"marketing_consent": fields.one("welcome") == "yes"});
            api.send::<Value>(Method::PUT, "/v1/self/marketing-consent", &consent).await?;
            Ok(context.go("/account", Done::Saved)?)
        }
        Action::Heard => {
            let source = json!({"source": fields.one("source")});
            api.make::<Value>("/v1/self/signup-source", &source, &FormToken::of(fields)).await?;
            Ok(context.go(&context.back(fields.some("back"), "/account"), Done::Heard)?)
        }
        Action::EndSession => {
            let session = fields.one("session").parse::<SessionId>();
            let session = session.map_err(|_| Error::invalid("the form names no session"))?;
            done_or_gone(api.act(Method::DELETE, &format!("/v1/self/sessions/{session}")).await)?;
            Ok(context.again(Done::SessionEnded)?)
        }
        Action::EndAll => {
            api.act(Method::DELETE, "/v1/self/sessions").await?;
            signed_out(context, "/signed-out?everywhere=true")
        }
        Action::Close => {
            let confirmation = json!({"confirm_email": fields.one("confirm_email")});
            api.send::<Value>(Method::DELETE, "/v1/self", &confirmation).await?;
            signed_out(context, "/account-deleted")
        }
    }
}

fn signed_out(context: &PageContext, to: &str) -> ApiResult<Response> {
    let mut response = see_other(to)?;
    cookie::session::clear(response.headers_mut(), &context.state);
    Ok(response)
}

/// The human's own apps that are in organizations, also in those that it has left.
async fn apps_in_orgs(context: &PageContext) -> ApiResult<Vec<App>> {
    let apps = context.api.list::<App>("/v1/self/apps", APP_PAGES_MAX).await?;
    let is_own = |app: &App| app.role == Some(OwnRole::Owner) && app.org_id.is_some();
    Ok(apps.into_iter().filter(is_own).collect())
}

async fn view(
    context: &PageContext,
    status: StatusCode,
    notice: Option<Notice>,
    typed: Fields,
) -> ApiResult<Response> {
    let trail = CursorTrail::of(context, "sessions");
    let sessions = trail.path("/v1/self/sessions", ITEMS_MAX);
    let (profile, mut sessions, push, shared_apps) = tokio::try_join!(
        context.api.get::<Profile>("/v1/self/profile"),
        context.api.get::<List<Session>>(&sessions),
        context.api.get::<PushKey>("/v1/self/push-subscription/vapid-public-key"),
        apps_in_orgs(context),
    )?;
    let frame = context.frame(Section::Account).with(notice);
    sessions.items.sort_by_key(|session| !session.current);
    let page = AccountPage {
        frame,
        profile,
        pager: trail.pager("sessions", "/account", sessions.next_cursor),
        sessions: sessions.items,
        typed,
        shared_apps,
        push_key: push.public_key,
    };
    Ok(context.page(status, &page)?)
}
