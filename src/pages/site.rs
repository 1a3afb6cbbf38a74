//! The site's own pages as typed templates: welcome, sign-in, confirm, device approval, and the
//! development mailbox. They work without script.
//!
//! What is not here: sessions, the CSRF check of the posts (their `Origin`, contract part 7), and
//! what the forms do. `/sign-in` posts `email` and `redirect_to`; `/device` posts `user_code` and
//! `decision` (`approve` or `deny`).

use askama::Template;

use super::shell::Shell;

/// Links of one mail that are offered as buttons, at most.
const MAIL_LINKS_MAX: usize = 5;

/// `/`: what this is, and the way to a first app.
#[derive(Debug, Clone, Template)]
#[template(path = "welcome.html")]
pub struct WelcomePage {
    /// The frame.
    pub shell: Shell,
    /// Whether `/dev/mailbox` exists.
    pub dev_mailbox: bool,
    /// Whether agents may register themselves, as the first one does for a new account.
    pub takes_agents: bool,
    /// Whether a link would reach nobody.
    pub is_lost: bool,
    /// Where signing in with the identity provider starts, if one is configured.
    pub idp_href: Option<String>,
}

/// `/sign-in`: asks for an e-mail address.
#[derive(Debug, Clone, Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage {
    /// The frame.
    pub shell: Shell,
    /// What the human typed before, if that was refused.
    pub email: String,
    /// The path on this site to go to afterwards; already checked.
    pub redirect_to: String,
    /// The app that sent the human here.
    pub app_name: Option<String>,
    /// Why the last try was refused.
    pub error: Option<String>,
    /// Where signing in with the identity provider starts, if one is configured.
    pub idp_href: Option<String>,
    /// Whether a link would reach nobody.
    pub is_lost: bool,
}

/// After the form of `/sign-in`: the same for a known and an unknown address.
#[derive(Debug, Clone, Template)]
#[template(path = "sign_in_sent.html")]
pub struct SignInSentPage {
    /// The frame.
    pub shell: Shell,
    /// Where another address is given, with the same way back.
    pub again: String,
    /// The address as typed.
    pub email: String,
    /// How long the link works.
    pub valid_minutes: u32,
    /// Whether the mail went into the development mailbox.
    pub dev_mailbox: bool,
    /// Whether this server has no way to send it, nor to show it.
    pub is_lost: bool,
}

/// `/sign-in/confirm?token=`: one button, so that opening the link spends nothing.
#[derive(Clone, Template)]
#[template(path = "confirm.html")]
pub struct ConfirmPage {
    /// The frame; `signed_in_as` is who is signed in already.
    pub shell: Shell,
    /// The token of the link.
    pub token: String,
    /// Whom it signs in.
    pub address: String,
}

impl ConfirmPage {
    /// Who is signed in already, where that is somebody else.
    fn another(&self) -> Option<&str> {
        self.shell.signed_in_as.as_deref().filter(|who| *who != self.address)
    }
}

/// Leads a browser on to an address outside the site.
#[derive(Clone, Template)]
#[template(path = "continue.html")]
pub struct ContinuePage {
    /// The frame.
    pub shell: Shell,
    /// The address.
    pub address: String,
}

/// `/device`: a human lets an agent act for its account.
#[derive(Debug, Clone, Template)]
#[template(path = "device.html")]
pub struct DevicePage {
    /// The frame; `signed_in_as` is set from [`DeviceStep::Review`] on.
    pub shell: Shell,
    /// How far it is.
    pub step: DeviceStep,
}

/// The steps of [`DevicePage`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceStep {
    /// No code yet, or one that does not work.
    Enter {
        /// What was typed.
        user_code: String,
        /// Why it does not work.
        error: Option<String>,
    },
    /// Approve or deny.
    Review {
        /// The code, to compare with what the agent shows.
        user_code: String,
        /// What the agent calls itself.
        agent_name: String,
        /// When it asked, in words.
        started_at: String,
    },
    /// Approved, and the agent has not come for its key yet.
    Approved {
        /// What the agent calls itself.
        agent_name: String,
    },
    /// The agent has its key.
    Connected {
        /// What the agent calls itself.
        agent_name: String,
    },
    /// Denied.
    Denied {
        /// What the agent calls itself.
        agent_name: String,
    },
    /// Decided so long ago that nobody knows the code any more.
    Over,
}

/// `/dev/mailbox`: the mail of a server without SMTP.
#[derive(Debug, Clone, Template)]
#[template(path = "mailbox.html")]
pub struct MailboxPage {
    /// The frame.
    pub shell: Shell,
    /// The address that was asked for; empty for all.
    pub to: String,
    /// Newest first.
    pub items: Vec<MailView>,
}

/// One mail of [`MailboxPage`]. Its HTML part is not shown: this page runs nothing of a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailView {
    /// Recipient.
    pub to: String,
    /// Subject.
    pub subject: String,
    /// The text part.
    pub text: String,
    /// When, in words.
    pub sent_at: String,
}

impl MailView {
    /// The `http` and `https` addresses in the text, in their order, without repetition. One
    /// without a path only names a site.
    #[must_use]
    pub fn links(&self) -> Vec<&str> {
        let mut links = Vec::new();
        for word in self.text.split_whitespace() {
            let word = word.trim_matches(|c: char| "<>()[]\"'.,;:".contains(c));
            let rest = word.strip_prefix("http://").or_else(|| word.strip_prefix("https://"));
            let is_link = rest.is_some_and(|rest| rest.contains('/'));
            if is_link && !links.contains(&word) && links.len() < MAIL_LINKS_MAX {
                links.push(word);
            }
        }
        links
    }
}
