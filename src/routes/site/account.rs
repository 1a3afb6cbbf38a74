//! `/account`: who the human is, where it is signed in, what mail it wants; and leaving for good.

use askama::Template;
use axum::{body::Body, response::Response};
use http::{Method, StatusCode};
use rookery_domain::id::SessionId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    FORM_BYTES_MAX,
    desk::{Desk, Frame, Section},
    notice::{Notice, or_again},
    paging::{ITEMS_MAX, Pager, Trail},
    records::List,
    see_other,
    words::At,
};
use crate::{error::ApiResult, http::session_cookie};

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

#[derive(Template)]
#[template(path = "site/account.html")]
struct AccountPage {
    frame: Frame,
    profile: Profile,
    sessions: Vec<Session>,
    pager: Pager,
    /// With which a browser asks to be told things.
    push_key: String,
}

/// The key of push messages.
#[derive(Deserialize)]
struct PushKey {
    public_key: String,
}

/// What a form of the page asks for.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
enum Action {
    Rename { name: String },
    Consent { welcome: String },
    Heard { source: String, back: Option<String> },
    EndSession { session: SessionId },
    EndAll,
    Close { confirm_email: String },
}

/// The page.
pub async fn page(desk: Desk) -> Response {
    desk.answer(view(&desk, StatusCode::OK, None).await)
}

/// Does what a form of the page asks for.
pub async fn act(desk: Desk, body: Body) -> Response {
    let answered = perform(&desk, body).await;
    let again = |status, error| view(&desk, status, Some(Notice::refused(&error)));
    desk.answer(or_again(answered, again).await)
}

async fn perform(desk: &Desk, body: Body) -> ApiResult<Response> {
    let api = &desk.api;
    match desk.form(body, FORM_BYTES_MAX).await? {
        Action::Rename { name } => {
            let patch = json!({"name": name});
            api.send::<Value>(Method::PATCH, "/v1/self/profile", &patch).await?;
            Ok(desk.go("/account", "saved")?)
        }
        Action::Consent { welcome } => {
            let consent = json!({"marketing_consent": welcome == "yes"});
            api.send::<Value>(Method::PUT, "/v1/self/marketing-consent", &consent).await?;
            Ok(desk.go("/account", "saved")?)
        }
        Action::Heard { source, back } => {
            let source = json!({"source": source});
            api.send::<Value>(Method::POST, "/v1/self/signup-source", &source).await?;
            Ok(desk.go(&desk.back(back.as_deref(), "/account"), "heard")?)
        }
        Action::EndSession { session } => {
            api.act(Method::DELETE, &format!("/v1/self/sessions/{session}")).await?;
            Ok(desk.again("/account", "session-ended")?)
        }
        Action::EndAll => {
            api.act(Method::DELETE, "/v1/self/sessions").await?;
            signed_out(desk)
        }
        Action::Close { confirm_email } => {
            let confirmation = json!({"confirm_email": confirm_email});
            api.send::<Value>(Method::DELETE, "/v1/self", &confirmation).await?;
            signed_out(desk)
        }
    }
}

fn signed_out(desk: &Desk) -> ApiResult<Response> {
    let mut response = see_other("/signed-out")?;
    session_cookie::clear(response.headers_mut(), desk.state.is_https());
    Ok(response)
}

async fn view(desk: &Desk, status: StatusCode, notice: Option<Notice>) -> ApiResult<Response> {
    let trail = Trail::of(desk, "sessions");
    let sessions = trail.path("/v1/self/sessions", ITEMS_MAX);
    let (profile, sessions, push) = tokio::try_join!(
        desk.api.get::<Profile>("/v1/self/profile"),
        desk.api.get::<List<Session>>(&sessions),
        desk.api.get::<PushKey>("/v1/self/push-subscription/vapid-public-key"),
    )?;
    let frame = desk.frame(Section::Account).with(notice);
    let page = AccountPage {
        frame,
        profile,
        pager: trail.pager("sessions", "/account", sessions.next_cursor),
        sessions: sessions.items,
        push_key: push.public_key,
    };
    Ok(desk.page(status, &page)?)
}
