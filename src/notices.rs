//! What people are mailed when others act: an app's owner, and whoever offered it; who is put into
//! an organization or billed for it, and its admins when apps of it are closed. These are notices
//! within `mail.notices_per_hour` and `mail.notices_per_account`; what they tell of is done,
//! whether they leave or not.

use std::collections::BTreeMap;

use rookery_actors::directory::BillingPassed;
use rookery_domain::{
    Result,
    app::AppRecord,
    email::Email,
    id::{AppId, HumanId, OrgId},
    orgs::OrgRole,
};

use crate::{
    mail::{About, News, organization, sender},
    pages::quantities::At,
    state::State,
};

/// Apps that one mail names.
const APPS_NAMED_MAX: usize = 20;
/// Admins of one organization that are mailed about the same.
const ADMINS_TOLD_MAX: usize = 100;

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
    /// Destroyed it.
    Purged,
    /// Brought it into the organization of this name.
    MovedTo { org: &'a str },
    /// Took it out of its organization.
    MovedOut,
}

impl Deed<'_> {
    /// What happened to the app called `slug`, for a subject, and in a sentence that says that it was
    /// `by`'s doing.
    fn told(self, by: &str, slug: &str) -> (&'static str, String) {
        match self {
            Self::Offered { to } => (
                "is offered to somebody",
                format!(
                    "{by} offers the app {slug} to {to}. It is yours until they accept; you can withdraw the offer on its Sharing page."
                ),
            ),
            Self::Accepted => (
                "has another owner",
                format!("{by} has accepted the app {slug}, and is its owner now."),
            ),
            Self::Declined => {
                ("was declined", format!("{by} has declined the app {slug}. It stays where it is."))
            }
            Self::Deleted => (
                "was moved to the trash",
                format!(
                    "{by} has moved the app {slug} to the trash. It can be brought back from there until its time is over."
                ),
            ),
            Self::Purged => (
                "was destroyed",
                format!(
                    "{by} has destroyed the app {slug}, with all its data. Nothing brings it back."
                ),
            ),
            Self::MovedTo { org } => (
                "is in another organization",
                format!(
                    "{by} has moved the app {slug} to {}, whose admins act as its owner beside you.",
                    organization(org)
                ),
            ),
            Self::MovedOut => (
                "left its organization",
                format!("{by} has taken the app {slug} out of its organization."),
            ),
        }
    }
}

/// Mails the owner of `app` what `by` did with it, as [`tell`] does; nothing of what the service did.
pub(crate) fn tell_owner(state: &State, app: &AppRecord, by: Option<HumanId>, deed: Deed<'_>) {
    if let Some(by) = by {
        tell(state, app.owner, by, &app.slug, deed);
    }
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
    let Some(email) = address(state, human)? else { return Ok(()) };
    // An owner hears of what is done to its app, however much else whoever does it has done.
    if !state.mailer.admits_notice(&email, None) {
        return Ok(());
    }
    let by = sender(state.rooms.directory.human(by)?.as_deref());
    let (happened, what) = deed.told(&by, slug);
    let site = &state.public_url;
    let news = News {
        about: About::App,
        subject: &format!("The app {slug} {happened}"),
        site,
        link: site,
        what: &what,
        email: email.as_str(),
    };
    state.mailer.send(&email, news.write()?)
}

/// Where a human is mailed; `None` for an address that nobody has proven.
fn address(state: &State, human: HumanId) -> Result<Option<Email>> {
    let human = state.rooms.directory.human(human)?;
    human.as_ref().and_then(|human| human.proven_email()).map(Email::parse).transpose()
}

/// What happened to somebody in an organization.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OrgNews<'a> {
    /// This admin has added them, as this.
    Joined { by: HumanId, role: OrgRole },
    /// They are billed for it, since whoever was has left.
    Billed,
    /// These apps of it are closed, because their owner's account was deleted.
    Closed(&'a [AppRecord]),
}

impl OrgNews<'_> {
    /// Whose doing it is, where somebody could do much of it.
    const fn caused_by(self) -> Option<HumanId> {
        match self {
            Self::Joined { by, .. } => Some(by),
            Self::Billed | Self::Closed(_) => None,
        }
    }
}

/// Mails `human` what happened in the organization `org`, which is called `name`; nothing to an address
/// that nobody has proven.
pub(crate) fn tell_of_org(
    state: &State,
    human: HumanId,
    org: OrgId,
    name: &str,
    news: OrgNews<'_>,
) {
    if let Err(error) = mail_of_org(state, human, org, name, news) {
        tracing::warn!(%error, org.id = %org, "what happened in an organization was not mailed");
    }
}

/// Mails the accounts that are billed for organizations from now on.
pub(crate) fn tell_of_billing(state: &State, passed: impl IntoIterator<Item = BillingPassed>) {
    for BillingPassed { org, name, to } in passed {
        tell_of_org(state, to, org, &name, OrgNews::Billed);
    }
}

/// Mails the admins of organizations which of their apps were closed: one mail for those of one
/// organization.
pub(crate) async fn tell_of_closing(state: &State, closed: &[AppId]) {
    let mut by_org: BTreeMap<OrgId, Vec<AppRecord>> = BTreeMap::new();
    for app in closed {
        let Ok(app) = state.rooms.apps().by_id(*app).await else { continue };
        let record = app.record();
        if let Some(org) = record.org {
            by_org.entry(org).or_default().push(AppRecord::clone(&record));
        }
    }
    let directory = &state.rooms.directory;
    for (org, apps) in &by_org {
        let Ok(Some(name)) = directory.org_name(*org) else { continue };
        for admin in directory.org_admins(*org, ADMINS_TOLD_MAX).unwrap_or_default() {
            tell_of_org(state, admin, *org, &name, OrgNews::Closed(apps));
        }
    }
}

fn mail_of_org(
    state: &State,
    human: HumanId,
    org: OrgId,
    name: &str,
    news: OrgNews<'_>,
) -> Result<()> {
    let Some(email) = address(state, human)? else { return Ok(()) };
    if !state.mailer.admits_notice(&email, news.caused_by()) {
        return Ok(());
    }
    let name = organization(name);
    let (subject, what) = match news {
        OrgNews::Joined { by, role } => {
            let by = sender(state.rooms.directory.human(by)?.as_deref());
            let may = match role {
                OrgRole::Admin => {
                    "As an admin of it you act as the owner of its apps, and decide who belongs to it."
                }
                OrgRole::Member => "You are a member of it. Its apps are its admins' to share.",
            };
            (format!("You were added to {name}"), format!("{by} has added you to {name}. {may}"))
        }
        OrgNews::Billed => (
            format!("You are billed for {name}"),
            format!(
                "The account that was billed for {name} has left it. Of its admins you have been one for the longest, so your account is billed for it from now on."
            ),
        ),
        OrgNews::Closed(apps) => (format!("Apps of {name} are closed"), closed(&name, apps)),
    };
    let site = &state.public_url;
    let news = News {
        about: About::Organization,
        subject: &subject,
        site,
        link: &format!("{site}/orgs/{org}"),
        what: &what,
        email: email.as_str(),
    };
    state.mailer.send(&email, news.write()?)
}

/// That these apps of the organization called `org` are closed, and until when they can be read.
fn closed(org: &str, apps: &[AppRecord]) -> String {
    let mut slugs: Vec<_> = apps.iter().map(|app| app.slug.to_string()).collect();
    let more = slugs.len().saturating_sub(APPS_NAMED_MAX);
    slugs.truncate(APPS_NAMED_MAX);
    let mut named = slugs.join(", ");
    if more > 0 {
        named.push_str(&format!(" and {more} more"));
    }
    let end = apps.iter().filter_map(|app| app.purge_at).min();
    let end = end.map(|end| {
        format!(
            " On {}, or soon after, the service destroys them with all their data: save what you need before.",
            At::from(end)
        )
    });
    format!(
        "An account was deleted that owned apps of {org}. They are closed: {named}. Nobody can open or change them any more, and you can still read their data.{}",
        end.unwrap_or_default()
    )
}
