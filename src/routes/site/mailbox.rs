//! `/dev/mailbox`: the mail of a server without SMTP, for whoever develops on this machine.
//!
//! It exists only while the server listens on, and is known by, loopback addresses. A request that
//! came through a proxy, or that was sent to another name (a page that has its own name resolve to
//! this machine), is refused: mail holds sign-in links.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode, Version, header};
use rookery_domain::{Error, ErrorCode, Result, email::Email};
use serde::{Deserialize, Serialize};

use super::{frame, show, words::At};
use crate::{
    error::{ApiError, ApiResult},
    http::{accept, loopback::is_loopback_authority, params::StrictQuery, reply::NO_STORE},
    mail::StoredMail,
    pages::site::{MailView, MailboxPage},
    state::AppState,
};

/// Headers by which a proxy says for whom it asks.
const FORWARDING: &[&str] = &[
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-forwarded-server",
    "x-real-ip",
    "x-client-ip",
    "true-client-ip",
    "cf-connecting-ip",
    "via",
];

/// Whose mail.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MailTo {
    to: Option<String>,
}

/// The mails, newest first.
#[derive(Serialize)]
struct Mails {
    items: Vec<StoredMail>,
}

/// The page, or the same as JSON.
///
/// # Errors
/// `not_found`, where there is no such mailbox; `forbidden`; `invalid_request`.
pub async fn page(
    State(state): State<AppState>,
    version: Version,
    headers: HeaderMap,
    StrictQuery(query): StrictQuery<MailTo>,
) -> ApiResult<Response> {
    let mailbox = state.mailer.readable_mailbox().ok_or_else(ApiError::unknown_path)?;
    require_direct(version, &headers)?;
    let to = query.to.filter(|to| !to.trim().is_empty());
    let to = to.as_deref().map(Email::parse).transpose()?;
    let items = mailbox.list(to.as_ref());
    if !accept::prefers(&headers, accept::HTML) {
        let mut response = Json(Mails { items }).into_response();
        response.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
        accept::vary(response.headers_mut());
        return Ok(response);
    }
    let view = |mail: StoredMail| MailView {
        to: mail.to.to_string(),
        subject: mail.subject,
        text: mail.text,
        sent_at: At::from(mail.sent_at).to_string(),
    };
    let page = MailboxPage {
        shell: frame(&state, None)?,
        to: to.map(|to| to.to_string()).unwrap_or_default(),
        items: items.into_iter().map(view).collect(),
    };
    let mut response = show(&state, StatusCode::OK, &page)?;
    accept::vary(response.headers_mut());
    Ok(response)
}

/// Refuses what somebody's proxy sends on. An nginx that is told nothing speaks HTTP/1.0, which nobody
/// else does any more.
fn require_direct(version: Version, headers: &HeaderMap) -> Result<()> {
    let forwarded =
        version == Version::HTTP_10 || FORWARDING.iter().any(|name| headers.contains_key(*name));
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    if forwarded || !host.is_some_and(is_loopback_authority) {
        let message = "the development mailbox answers this machine only";
        return Err(Error::new(ErrorCode::Forbidden, message));
    }
    Ok(())
}
