//! What the people whom an app concerns are mailed when others act: its owner, and whoever offered it.
//! These are notices within `mail.notices_per_hour`; what they tell of is done, whether they leave or
//! not.

use rookery_domain::{Result, email::Email, id::HumanId};

use crate::{
    mail::{Letter, organization, sender},
    state::State,
};

/// What somebody did with an app.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Deed<'a> {
    /// Offered it to this address.
    Offered { to: &'a Email },
    /// Took it.
    Accepted,
    /// Turned the offer down.
    Declined,
    /// Moved it to the trash.
    Deleted,
    /// Brought it into the organization of this name.
    MovedTo { org: &'a str },
    /// Took it out of its organization.
    MovedOut,
}

/// Mails `human` what `by` did with the app called `slug`; nothing to whoever did it, or to an address
/// that nobody has proven.
pub(crate) fn tell(state: &State, human: HumanId, by: HumanId, slug: &str, deed: Deed<'_>) {
    if human == by {
        return;
    }
    if let Err(error) = mail(state, human, by, slug, deed) {
        tracing::warn!(%error, app.slug = slug, "what others did with an app was not mailed");
    }
}

fn mail(state: &State, human: HumanId, by: HumanId, slug: &str, deed: Deed<'_>) -> Result<()> {
    let directory = &state.rooms.directory;
    let Some(human) = directory.human(human)? else { return Ok(()) };
    let Some(email) = human.proven_email() else { return Ok(()) };
    let email = Email::parse(email)?;
    let by = sender(directory.human(by)?.as_deref());
    let (happened, what) = match deed {
        Deed::Offered { to } => (
            "is offered to somebody",
            format!(
                "{by} offers the app {slug} to {to}. It is yours until they accept; you can withdraw the offer on its page of sharing."
            ),
        ),
        Deed::Accepted => (
            "has another owner",
            format!("{by} has accepted the app {slug}, and is its owner now."),
        ),
        Deed::Declined => {
            ("was declined", format!("{by} has declined the app {slug}. It stays where it is."))
        }
        Deed::Deleted => (
            "was moved to the trash",
            format!(
                "{by} has moved the app {slug} to the trash. It can be brought back from there until its time is over."
            ),
        ),
        Deed::MovedTo { org } => (
            "is in another organization",
            format!(
                "{by} has moved the app {slug} to {}, whose admins act as its owner beside you.",
                organization(org)
            ),
        ),
        Deed::MovedOut => (
            "left its organization",
            format!("{by} has taken the app {slug} out of its organization."),
        ),
    };
    if !state.mailer.admits_notice(&email) {
        return Ok(());
    }
    let site = &state.public_url;
    let subject = format!("The app {slug} {happened}");
    state.mailer.send(&email, Letter::told(site, site, subject, &what, email.as_str())?)
}
