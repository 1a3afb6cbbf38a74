//! What mails say: a subject, and the same words as text and as HTML (`templates/mail`).

use askama::Template;
use rookery_actors::directory::Human;
use rookery_domain::{Error, Result, human_name::may_become_link};

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

/// Gives the values of a letter its subject and both of its forms, whose templates find them as `letter`.
macro_rules! forms {
    ($values:ident, $text:literal, $html:literal, $subject:expr) => {
        impl $values<'_> {
            /// The letter that says this.
            ///
            /// # Errors
            /// `internal` if a template fails, which no value can make it do.
            pub fn write(&self) -> Result<Letter> {
                #[derive(Template)]
                #[template(path = $text)]
                struct Text<'a> {
                    letter: &'a $values<'a>,
                }
                #[derive(Template)]
                #[template(path = $html)]
                struct Html<'a> {
                    letter: &'a $values<'a>,
                }
                let subject: fn(&Self) -> String = $subject;
                let failed = |_| Error::internal();
                Ok(Letter {
                    subject: subject(self),
                    text: Text { letter: self }.render().map_err(failed)?,
                    html: Html { letter: self }.render().map_err(failed)?,
                })
            }
        }
    };
}

/// Brings a sign-in link.
#[derive(Clone, Copy)]
pub struct SignIn<'a> {
    /// The site's address.
    pub site: &'a str,
    /// The link.
    pub link: &'a str,
    /// Minutes for which it works.
    pub valid_minutes: i64,
}

forms!(SignIn, "mail/sign_in.txt", "mail/sign_in.html", |_| "Your sign-in link".to_owned());

/// Tells somebody without an account that it was added to an app.
#[derive(Clone, Copy)]
pub struct Invitation<'a> {
    /// The site's address.
    pub site: &'a str,
    /// Where to go on.
    pub link: &'a str,
    /// What the app is called.
    pub app: &'a str,
    /// Who added it, as [`sender`] has it.
    pub by: &'a str,
    /// The reader's address.
    pub email: &'a str,
}

forms!(Invitation, "mail/invitation.txt", "mail/invitation.html", |letter| {
    format!("You were added to the app {}", letter.app)
});

/// Tells somebody that an app is offered to it.
#[derive(Clone, Copy)]
pub struct Offered<'a> {
    /// The site's address.
    pub site: &'a str,
    /// Where to go on.
    pub link: &'a str,
    /// What the app is called.
    pub app: &'a str,
    /// Who offers it, as [`sender`] has it.
    pub by: &'a str,
    /// The reader's address.
    pub email: &'a str,
}

forms!(Offered, "mail/offered.txt", "mail/offered.html", |letter| {
    format!("The app {} is offered to you", letter.app)
});

/// Tells somebody what somebody else did.
#[derive(Clone, Copy)]
pub struct News<'a> {
    /// What it is about.
    pub about: About,
    /// The subject.
    pub subject: &'a str,
    /// The site's address.
    pub site: &'a str,
    /// Where more is.
    pub link: &'a str,
    /// What happened, a sentence or two.
    pub what: &'a str,
    /// The reader's address.
    pub email: &'a str,
}

forms!(News, "mail/news.txt", "mail/news.html", |letter| letter.subject.to_owned());

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
