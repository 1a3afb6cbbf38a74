//! What mails say: a subject, and the same words as text and as HTML.

use askama::Template;
use rookery_actors::directory::Human;
use rookery_domain::human_name::may_become_link;

/// A mail without its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The subject.
    pub subject: String,
    /// The body as text.
    pub text: String,
    /// The body as HTML.
    pub html: String,
}

#[derive(Template)]
#[template(path = "mail/sign_in.txt")]
struct SignInText<'a> {
    site: &'a str,
    link: &'a str,
    valid_minutes: i64,
}

#[derive(Template)]
#[template(path = "mail/sign_in.html")]
struct SignInHtml<'a> {
    site: &'a str,
    link: &'a str,
    valid_minutes: i64,
}

#[derive(Template)]
#[template(path = "mail/invitation.txt")]
struct InvitationText<'a> {
    site: &'a str,
    link: &'a str,
    app: &'a str,
    by: &'a str,
    email: &'a str,
}

#[derive(Template)]
#[template(path = "mail/invitation.html")]
struct InvitationHtml<'a> {
    site: &'a str,
    link: &'a str,
    app: &'a str,
    by: &'a str,
    email: &'a str,
}

#[derive(Template)]
#[template(path = "mail/transfer.txt")]
struct TransferText<'a> {
    site: &'a str,
    link: &'a str,
    app: &'a str,
    by: &'a str,
    email: &'a str,
}

#[derive(Template)]
#[template(path = "mail/transfer.html")]
struct TransferHtml<'a> {
    site: &'a str,
    link: &'a str,
    app: &'a str,
    by: &'a str,
    email: &'a str,
}

/// What a letter calls whoever it is about: the name, and the address where it is proven. One that
/// nobody has proven is not named: the letter would vouch for it. Nor is a name of which a mail program
/// could make a link: that would be a stranger's link in a letter of this service.
#[must_use]
pub fn sender(human: Option<&Human>) -> String {
    let name = human.and_then(|human| human.name.as_deref());
    let name = name.filter(|name| !may_become_link(name));
    match (name, human.and_then(Human::proven_email)) {
        (Some(name), Some(email)) => format!("{name} ({email})"),
        (None, Some(email)) => email.to_owned(),
        (Some(name), None) => format!("{name} (without a verified address)"),
        (None, None) => "Somebody without a verified address".to_owned(),
    }
}

/// What a letter or a push calls an organization. Its admins name it as they like, so a name of which
/// a link could be made is left out, as it is for [`sender`].
#[must_use]
pub fn organization(name: &str) -> String {
    match may_become_link(name) {
        true => "an organization".to_owned(),
        false => format!("the organization {name}"),
    }
}

/// What a letter about the doings of others is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// An app that its reader owns or offered.
    App,
    /// An organization that its reader is in.
    Organization,
}

impl About {
    const fn title(self) -> &'static str {
        match self {
            Self::App => "About one of your apps",
            Self::Organization => "About one of your organizations",
        }
    }

    const fn place(self) -> &'static str {
        match self {
            Self::App => "Your apps",
            Self::Organization => "The organization",
        }
    }

    const fn reader(self) -> &'static str {
        match self {
            Self::App => {
                "the address of the account that the app concerns. There is nothing that you have to do"
            }
            Self::Organization => "the address of an account that is in the organization",
        }
    }
}

#[derive(Template)]
#[template(path = "mail/told.txt")]
struct ToldText<'a> {
    about: About,
    site: &'a str,
    link: &'a str,
    what: &'a str,
    email: &'a str,
}

#[derive(Template)]
#[template(path = "mail/told.html")]
struct ToldHtml<'a> {
    about: About,
    site: &'a str,
    link: &'a str,
    what: &'a str,
    email: &'a str,
}

impl Letter {
    /// Tells the holder of `email` what somebody else did: `what`, a sentence or two; more is at `link`.
    ///
    /// # Errors
    /// `internal` if a template fails, which no value can make it do.
    pub fn told(
        about: About,
        site: &str,
        link: &str,
        subject: String,
        what: &str,
        email: &str,
    ) -> rookery_domain::Result<Self> {
        let failed = |_| rookery_domain::Error::internal();
        Ok(Self {
            subject,
            text: ToldText { about, site, link, what, email }.render().map_err(failed)?,
            html: ToldHtml { about, site, link, what, email }.render().map_err(failed)?,
        })
    }

    /// Tells the holder of `email` that `by` has added it to the app called `app`.
    ///
    /// # Errors
    /// `internal` if a template fails, which no value can make it do.
    pub fn invitation(
        site: &str,
        link: &str,
        app: &str,
        by: &str,
        email: &str,
    ) -> rookery_domain::Result<Self> {
        let failed = |_| rookery_domain::Error::internal();
        Ok(Self {
            subject: format!("You were added to the app {app}"),
            text: InvitationText { site, link, app, by, email }.render().map_err(failed)?,
            html: InvitationHtml { site, link, app, by, email }.render().map_err(failed)?,
        })
    }

    /// Brings a sign-in link.
    ///
    /// # Errors
    /// `internal` if a template fails, which no value can make it do.
    pub fn sign_in(site: &str, link: &str, valid_minutes: i64) -> rookery_domain::Result<Self> {
        let failed = |_| rookery_domain::Error::internal();
        Ok(Self {
            subject: "Your sign-in link".to_owned(),
            text: SignInText { site, link, valid_minutes }.render().map_err(failed)?,
            html: SignInHtml { site, link, valid_minutes }.render().map_err(failed)?,
        })
    }

    /// Tells the holder of `email` that `by` offers the app called `app`.
    ///
    /// # Errors
    /// `internal` if a template fails, which no value can make it do.
    pub fn transfer(
        site: &str,
        link: &str,
        app: &str,
        by: &str,
        email: &str,
    ) -> rookery_domain::Result<Self> {
        let failed = |_| rookery_domain::Error::internal();
        Ok(Self {
            subject: format!("The app {app} is offered to you"),
            text: TransferText { site, link, app, by, email }.render().map_err(failed)?,
            html: TransferHtml { site, link, app, by, email }.render().map_err(failed)?,
        })
    }
}
