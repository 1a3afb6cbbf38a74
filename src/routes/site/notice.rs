//! What a page says about the last action: that it is done, or why it was refused.

use rookery_domain::Error;

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
    ("app-deleted", "The app is in the trash. You can bring it back from there."),
    ("app-restored", "The app is back, with all its data."),
    ("app-purged", "The app and all its data are destroyed."),
    ("app-woken", "The app is awake."),
    ("saved", "Saved."),
    ("row-created", "The row is there."),
    ("row-deleted", "The row is in the trash."),
    ("row-restored", "The row is back."),
    ("row-purged", "The row's content is destroyed."),
    ("rolled-back", "The earlier content is deployed as a new version."),
    ("session-ended", "That session has ended."),
    ("member-added", "They are a member now."),
    ("member-removed", "They are no member any more, and their sessions in the app have ended."),
    ("link-revoked", "The link is revoked."),
    ("preview-revoked", "The preview is revoked, if there was one of that id."),
    ("link-rotated", "The share link is new; the old one does not work any more."),
    ("credential-paused", "The credential is paused."),
    ("credential-resumed", "The credential works again."),
    ("credential-revoked", "The credential is revoked, for ever."),
    ("offered", "The app is offered. It stays yours until the offer is accepted."),
    ("withdrawn", "The offer is withdrawn."),
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
        Self { refused: true, text: sentence(&error.message), hint: Some(error.code.hint()) }
    }
}

/// A message as a sentence: the API's begin small and end without a stop.
fn sentence(message: &str) -> String {
    let mut characters = message.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    let mut text = first.unwrap_or_default() + characters.as_str();
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}
