//! What a page says about the last action: that it is done, or why it was refused; where on the page
//! it says so, and which field it is about.

use axum::response::Response;
use http::StatusCode;
use rookery_domain::{Error, ErrorCode};

use super::{
    marks::{INVALID, Marks, Refused},
    words::{self, refusal},
};
use crate::error::{self, ApiError, ApiResult};

/// The element that holds it. What follows an action leads there, so that the reader, and the
/// keyboard, are where the action was.
pub const ANCHOR: &str = "notice";
/// The place of what is not about a part of a page.
const TOP: &str = "";

/// The notice as its template writes it where it has the focus, and where it has not. What anybody typed
/// is escaped and holds neither.
const FOCUSED: &str = "<div id=\"notice\" tabindex=\"-1\" autofocus>";
const UNFOCUSED: &str = "<div id=\"notice\" tabindex=\"-1\">";

/// A sentence about an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Whether something was refused.
    pub refused: bool,
    /// The sentence.
    pub text: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
    /// Where to do that: a page of the site, and what it is called.
    pub link: Option<(String, String)>,
    /// The part of the page that says it; empty for its top.
    pub place: &'static str,
    /// The field that was refused.
    pub field: Option<Refused>,
}

/// A form that made a secret, sent again.
const MADE_BEFORE: &str = "This was done already, and nothing was made a second time. A secret is \
                           shown only once: if you missed it, make a new one.";

/// What an action did: the word for it in an address, so that a redirect carries no text of its own;
/// the part of the page that says it; the sentence.
macro_rules! done {
    ($($name:ident, $code:literal, $place:expr, $text:literal;)*) => {
        /// What an action did.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Done {
            $(#[doc = $text] $name,)*
        }

        impl Done {
            const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The word for it in an address.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// The part of the page that says it, and the sentence.
            const fn said(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$name => ($place, $text),)*
                }
            }
        }
    };
}

done! {
    AgentPaused, "paused", "agents", "The agent is paused: its keys are refused from now on.";
    AgentResumed, "resumed", "agents", "The agent goes on.";
    KeysRevoked, "revoked", "agents", "Every key of the agent is revoked, for ever.";
    AgentRenamed, "renamed", "agents", "The name is changed.";
    AppDeleted, "app-deleted", TOP, "The app is in the trash. You can bring it back from here.";
    AppRestored, "app-restored", TOP, "The app is back, with all its data.";
    AppPurged, "app-purged", TOP, "The app and all its data are destroyed.";
    AppGone, "app-gone", TOP, "That app is not in your trash any more.";
    AppWoken, "app-woken", TOP, "The app is awake.";
    Saved, "saved", TOP, "Saved.";
    LinkOver, "link-over", TOP, "That sign-in link no longer works, and you are signed in without it.";
    LinkOfAnother, "link-of-another", TOP, "That sign-in link was for another account, and no longer works. You are signed in as before.";
    RowCreated, "row-created", TOP, "The row is created.";
    RowDeleted, "row-deleted", TOP, "The row is in the trash.";
    RowRestored, "row-restored", TOP, "The row is back.";
    RowPurged, "row-purged", TOP, "The row's content is destroyed.";
    RolledBack, "rolled-back", TOP, "Rolled back: the earlier content is deployed as a new version.";
    RoleSet, "role-set", "members", "The role is changed.";
    RetentionSet, "retention-set", "kept", "How long rows are kept is changed.";
    FirstAgentThere, "first-agent-there", TOP, "Your first agent is there already. Its key was shown once: if you missed it, replace it under Agents.";
    FirstAgentBegun, "first-agent-begun", TOP, "This was begun already. If no agent appears here, send the form again.";
    OrgRenamed, "org-renamed", TOP, "The name is changed.";
    SessionEnded, "session-ended", "sessions", "That session has ended.";
    DomainAdded, "domain-added", TOP, "The domain is noted. Set its records, then look again.";
    DomainRemoved, "domain-removed", TOP, "The domain is removed.";
    Heard, "heard", TOP, "Thank you for telling.";
    OrgCreated, "org-created", TOP, "The organization is there, and you are its admin.";
    OrgLeft, "org-left", TOP, "You have left the organization.";
    OrgMemberAdded, "org-member-added", "members", "They are in the organization now.";
    OrgMemberRemoved, "org-member-removed", "members", "They are no longer in the organization.";
    MemberAdded, "member-added", "members", "They are a member now.";
    MemberRemoved, "member-removed", "members", "They are no longer a member, and their sessions in the app have ended.";
    GrantRevoked, "link-revoked", "grants", "The link is revoked.";
    PreviewRevoked, "preview-revoked", TOP, "The preview is revoked, if there was one of that id.";
    ShareLinkRotated, "link-rotated", "link", "The share link is new; the old one has stopped working.";
    CredentialPaused, "credential-paused", "credentials", "The credential is paused.";
    CredentialResumed, "credential-resumed", "credentials", "The credential works again.";
    CredentialRevoked, "credential-revoked", "credentials", "The credential is revoked, for ever.";
    Offered, "offered", "offer", "The app is offered. It changes hands when the offer is accepted.";
    Withdrawn, "withdrawn", "offer", "The offer is withdrawn.";
    Accepted, "accepted", TOP, "The app is yours now. You find it under Apps.";
    Declined, "declined", TOP, "The offer is declined.";
    OfferGone, "offer-gone", TOP, "That app is not offered to you any more.";
}

impl Notice {
    /// What the code in an address stands for; a code that nobody wrote says nothing.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        let (place, text) = Done::ALL.iter().find(|done| done.code() == code)?.said();
        Some(Self::done(place, text))
    }

    /// That a secret was made by the same form before, and is not shown again.
    #[must_use]
    pub fn made_before() -> Self {
        Self::done(TOP, MADE_BEFORE)
    }

    /// Why an action was refused.
    #[must_use]
    pub fn refused(error: &Error) -> Self {
        Self::of_refusal(sentence(&refusal(error)), advice(error.code))
    }

    /// That an action was refused, in words of the page's own.
    #[must_use]
    pub const fn of_refusal(text: String, hint: Option<&'static str>) -> Self {
        Self { refused: true, text, hint, link: None, place: TOP, field: None }
    }

    /// Why the form of `action` was refused, said at a part of the page. It is about the one of its
    /// fields that the message names; about the first, where the form asks for one thing only and
    /// the message names none.
    #[must_use]
    pub fn of_form(
        error: &Error,
        action: &str,
        place: &'static str,
        fields: &[&'static str],
    ) -> Self {
        let only = match fields {
            [only] if matches!(error.code.status(), 400 | 409 | 422) => Some(only),
            _ => None,
        };
        let field = fields.iter().find(|field| words::names(error, field)).or(only);
        let field = field.map(|field| Refused { form: action.to_owned(), field });
        Self { place, field, ..Self::refused(error) }
    }

    fn done(place: &'static str, text: &str) -> Self {
        Self { refused: false, text: text.to_owned(), hint: None, link: None, place, field: None }
    }

    /// What marks a field of the form of `action`, which `help` describes in any case.
    #[must_use]
    pub fn marks<'a>(&'a self, action: &str, field: &str, help: &'a str) -> Marks<'a> {
        let about = self.field.as_ref().is_some_and(|it| it.form == action && it.field == field);
        Marks { why: about.then_some(&*self.text), help }
    }
}

/// A page whose refusal leaves the focus to the field that it is about. A refusal of a field that the page
/// no longer has keeps it: what was offered has an owner now, a role is gone.
#[must_use]
pub fn with_focus(page: String) -> String {
    if page.contains(INVALID) { page.replacen(FOCUSED, UNFOCUSED, 1) } else { page }
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

/// That something ended: by this request, or before it, for what ended is not found. A form that is sent
/// twice ends it once, and has nothing to complain of.
///
/// # Errors
/// Any other failure.
pub fn done_or_gone(ended: ApiResult<()>) -> ApiResult<()> {
    match ended {
        Err(ApiError { error, .. }) if error.code.status() == 404 => Ok(()),
        ended => ended,
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
        E::AppClosed => {
            "Its pages and everything that writes are refused. Its owner can still read its data."
        }
        E::CsrfOriginMismatch => {
            "The form came from another site. Open the page here and try again."
        }
        E::RateLimited => "That was a lot at once. Wait a moment, then try again.",
        E::Unavailable => "Nothing was changed. Try again in a moment.",
        E::Internal => "Whether something was changed is not known. Look before you try again.",
        _ => return None,
    })
}

/// A message as a sentence: the API's begin small, end without a stop, and name things in back-ticks.
pub(super) fn sentence(message: &str) -> String {
    let mut characters = message.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    let mut text = words::quoted(&(first.unwrap_or_default() + characters.as_str()));
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}
