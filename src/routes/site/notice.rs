//! What a page says about the last action: that it is done, or why it was refused.

use axum::response::Response;
use http::StatusCode;
use rookery_domain::{Error, ErrorCode};

use super::words::refusal;
use crate::error::{self, ApiError, ApiResult};

/// A sentence at the top of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Whether something was refused.
    pub refused: bool,
    /// The sentence.
    pub text: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
}

/// What addresses say was done, so that a redirect carries no text of its own.
const DONE: &[(&str, &str)] = &[
    ("paused", "The agent is paused: its keys are refused from now on."),
    ("resumed", "The agent goes on."),
    ("revoked", "Every key of the agent is revoked, for ever."),
    ("renamed", "The name is changed."),
    ("app-deleted", "The app is in the trash. You can bring it back from here."),
    ("app-restored", "The app is back, with all its data."),
    ("app-purged", "The app and all its data are destroyed."),
    ("app-woken", "The app is awake."),
    ("saved", "Saved."),
    ("row-created", "The row is created."),
    ("row-deleted", "The row is in the trash."),
    ("row-restored", "The row is back."),
    ("row-purged", "The row's content is destroyed."),
    ("rolled-back", "Rolled back: the earlier content is deployed as a new version."),
    ("session-ended", "That session has ended."),
    ("domain-added", "The domain is noted. Set its records, then look again."),
    ("domain-removed", "The domain is removed."),
    ("heard", "Thank you for telling."),
    ("org-created", "The organization is there, and you are its admin."),
    ("org-left", "You have left the organization."),
    ("org-member-added", "They are in the organization now."),
    ("org-member-removed", "They are no longer in the organization."),
    ("member-added", "They are a member now."),
    ("member-removed", "They are no longer a member, and their sessions in the app have ended."),
    ("link-revoked", "The link is revoked."),
    ("preview-revoked", "The preview is revoked, if there was one of that id."),
    ("link-rotated", "The share link is new; the old one has stopped working."),
    ("credential-paused", "The credential is paused."),
    ("credential-resumed", "The credential works again."),
    ("credential-revoked", "The credential is revoked, for ever."),
    ("offered", "The app is offered. It stays yours until the offer is accepted."),
    ("withdrawn", "The offer is withdrawn."),
    ("accepted", "The app is yours now. You find it under Apps."),
    ("declined", "The offer is declined."),
];

impl Notice {
    /// What the code in an address stands for; a code that nobody wrote says nothing.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        let (_, text) = DONE.iter().find(|(known, _)| *known == code)?;
        Some(Self { refused: false, text: (*text).to_owned(), hint: None })
    }

    /// Why an action was refused.
    #[must_use]
    pub fn refused(error: &Error) -> Self {
        let hint = advice(error.code);
        Self { refused: true, text: sentence(&refusal(error)), hint }
    }
}

/// What a form's action answered; where it was refused, the form's page `again`, with the refusal's
/// status and why. A failure of the service has a page of its own.
///
/// # Errors
/// Any other failure; what `again` answers.
pub async fn or_again<F: Future<Output = ApiResult<Response>>>(
    answered: ApiResult<Response>,
    again: impl FnOnce(StatusCode, Error) -> F,
) -> ApiResult<Response> {
    // A service without custom domains has a page for them, which says so.
    let is_refusal =
        |code: ErrorCode| code.status() < 500 || code == ErrorCode::CustomDomainsNotEnabled;
    match answered {
        Err(ApiError { error, .. }) if is_refusal(error.code) => {
            again(error::status(error.code), error).await
        }
        answered => answered,
    }
}

/// What an error means to somebody who looks at a page; `None` where its own message says it. The
/// error table's hints are for programs.
#[must_use]
pub const fn advice(code: ErrorCode) -> Option<&'static str> {
    use ErrorCode as E;
    Some(match code {
        E::AppNotFound => {
            "It may have another name by now, be destroyed, or belong to an account that does not \
             share it with you."
        }
        E::SoftDeleted => "Bring it back from the trash, and it is here again.",
        E::AppClosed => "Its pages and everything that writes are refused for now.",
        E::CsrfOriginMismatch => {
            "The form came from another site. Open the page here and try again."
        }
        E::RateLimited => "That was a lot at once. Wait a moment, then try again.",
        E::Unavailable => "Nothing was changed. Try again in a moment.",
        E::Internal => "Whether something was changed is not known. Look before you try again.",
        _ => return None,
    })
}

/// A message as a sentence: the API's begin small and end without a stop.
pub(super) fn sentence(message: &str) -> String {
    let mut characters = message.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    let mut text = first.unwrap_or_default() + characters.as_str();
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}
