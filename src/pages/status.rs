//! Pages for what cannot be shown: an app that wakes, is gone, closed or private, and errors. The
//! same on app origins and on the site; without script, and they name nothing that the visitor
//! may not know.
//!
//! What is not here: which of them a request gets.

use askama::Template;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::shell::{Shell, page_headers};

/// Seconds after which a waking page asks again.
const WAKING_REFRESH_S: u32 = 1;

/// One status page. Made by the functions below, one for each state.
#[derive(Debug, Clone, Template)]
#[template(path = "status.html")]
pub struct StatusPage {
    /// The frame.
    pub shell: Shell,
    /// The status the page is sent with.
    pub status: StatusCode,
    /// Heading.
    pub title: &'static str,
    /// What it means and what to do.
    pub text: &'static str,
    /// The one thing to do, if there is one.
    pub action: Option<Action>,
    /// What else can be done here, by a form.
    pub post: Option<Action>,
    /// Seconds until the page loads again by itself.
    pub refresh_s: Option<u32>,
    /// What to quote when asking for help.
    pub request_id: Option<String>,
}

/// A link, or a form's address, shown as a button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// What it says.
    pub label: &'static str,
    /// Where it leads.
    pub href: String,
}

/// Who somebody is in an app already, whom a link would make less there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insider {
    /// Its owner.
    Owner,
    /// A member.
    Member,
    /// Who came by a grant link, and has its role.
    Holder,
}

impl StatusPage {
    const fn new(
        shell: Shell,
        status: StatusCode,
        title: &'static str,
        text: &'static str,
    ) -> Self {
        let (action, post, refresh_s, request_id) = (None, None, None, None);
        Self { shell, status, title, text, action, post, refresh_s, request_id }
    }

    /// The app is being woken; the page comes again by itself.
    #[must_use]
    pub fn waking(shell: Shell) -> Self {
        let text = "It was resting. This page goes on by itself in a moment.";
        let mut page = Self::new(shell, StatusCode::SERVICE_UNAVAILABLE, "Waking the app", text);
        page.refresh_s = Some(WAKING_REFRESH_S);
        page
    }

    /// No page at this path of the app or the site. `home` is the address to go back to.
    #[must_use]
    pub fn not_found(shell: Shell, home: String) -> Self {
        let text = "The address may have a typing mistake, or what was here has moved.";
        let page = Self::new(shell, StatusCode::NOT_FOUND, "Nothing is here", text);
        page.with_action("Go to the start", home)
    }

    /// What was asked for is not set up here.
    #[must_use]
    pub fn not_offered(shell: Shell, home: String) -> Self {
        let text = "This service does not offer that.";
        let page = Self::new(shell, StatusCode::NOT_IMPLEMENTED, "Not offered here", text);
        page.with_action("Go to the start", home)
    }

    /// No app has this address.
    #[must_use]
    pub fn no_app(shell: Shell) -> Self {
        let text = "No app lives at this address. It may have a typing mistake.";
        Self::new(shell, StatusCode::NOT_FOUND, "No such app", text)
    }

    /// The app is in the trash.
    #[must_use]
    pub fn deleted(shell: Shell) -> Self {
        let text = "Its owner deleted it. For a while its owner can still bring it back.";
        Self::new(shell, StatusCode::GONE, "This app was deleted", text)
    }

    /// The app was taken down.
    #[must_use]
    pub fn closed(shell: Shell) -> Self {
        let text = "It is no longer open to visitors.";
        Self::new(shell, StatusCode::GONE, "This app is closed", text)
    }

    /// The app is private: `sign_in` leads to the site's `/authorize` and back.
    #[must_use]
    pub fn private(shell: Shell, sign_in: String) -> Self {
        let text = "Only people its owner has let in can open it. If you are one of them, sign in.";
        let page = Self::new(shell, StatusCode::UNAUTHORIZED, "This app is private", text);
        page.with_action("Sign in", sign_in)
    }

    /// The app opens by its share link, and this visitor came without it.
    #[must_use]
    pub fn needs_link(shell: Shell, sign_in: String) -> Self {
        let text = "Open it by the whole link that you were given, or sign in if it is yours. The browser \
                    has to keep cookies of this page, too: it is let in by one.";
        let page = Self::new(shell, StatusCode::UNAUTHORIZED, "This app is shared by a link", text);
        page.with_action("Sign in", sign_in)
    }

    /// The app opens by its share link, and this visitor came by one that is not in force.
    #[must_use]
    pub fn dead_share_link(shell: Shell, sign_in: String) -> Self {
        let text = "It was replaced, or a part of it is missing. Ask whoever gave it to you, or sign in if \
                    the app is yours.";
        let page = Self::new(shell, StatusCode::UNAUTHORIZED, "This link does not work", text);
        page.with_action("Sign in", sign_in)
    }

    /// The app is private, and the account that is signed in may not open it: `another` leads to
    /// the site's sign-in and back. Whose account it is, the site alone says: an app's own script
    /// could read it here.
    #[must_use]
    pub fn not_let_in(shell: Shell, another: String) -> Self {
        let text = "You are signed in, but your account has not been let in. Ask the app's owner, or \
                    use another account.";
        let page = Self::new(shell, StatusCode::UNAUTHORIZED, "This app is private", text);
        page.with_action("Use another account", another)
    }

    /// The same for an app that opens by its share link.
    #[must_use]
    pub fn not_let_in_without_link(shell: Shell, another: String) -> Self {
        let text = "You are signed in, but your account has not been let in. Open it by the whole link \
                    that you were given, or use another account.";
        let page = Self::new(shell, StatusCode::UNAUTHORIZED, "This app is shared by a link", text);
        page.with_action("Use another account", another)
    }

    /// A link that somebody was given (to a role, to a preview) does not let in.
    #[must_use]
    pub fn dead_link(shell: Shell) -> Self {
        let text = "It was used up, revoked, or has expired; or a part of it is missing. Ask whoever \
                    gave it to you.";
        Self::new(shell, StatusCode::UNAUTHORIZED, "This link does not work", text)
    }

    /// A link would make a guest of somebody who is in the app already: `home` is where it stays who it
    /// is, and a form at `link` uses the link. What the visitor is called, the site alone says, as for
    /// [`Self::not_let_in`].
    #[must_use]
    pub fn already_in(shell: Shell, who: Insider, home: String, link: String) -> Self {
        let text = match who {
            Insider::Owner => {
                "You are in this app as its owner. The link would make this browser a guest here, who may \
                 do less, until you sign in again. If you stay, it is not used up."
            }
            Insider::Member => {
                "You are in this app as a member. The link would make this browser a guest here, who has \
                 other rights, until you sign in again. If you stay, it is not used up."
            }
            Insider::Holder => {
                "You are in this app with the role of a link. This one would make this browser a guest \
                 here, who may only look around."
            }
        };
        let mut page = Self::new(shell, StatusCode::OK, "You are in this app already", text);
        page.post = Some(Action { label: "Use the link as a guest", href: link });
        page.with_action("Stay", home)
    }

    /// Another page led a visitor here to be signed in as somebody else: `go_on` does it.
    #[must_use]
    pub fn another_account(shell: Shell, go_on: String) -> Self {
        let text = "You are signed in to this app, and a link led you here to use it with another account. \
                    Go on only if you have just signed in with that account yourself.";
        let page = Self::new(shell, StatusCode::OK, "Change to another account?", text);
        page.with_action("Change accounts", go_on)
    }

    /// Another page led a visitor here to be signed in, which it has not asked for: `go_on` does it.
    #[must_use]
    pub fn unasked_sign_in(shell: Shell, go_on: String) -> Self {
        let text = "A link led you here to use this app with somebody's account. \
                    Go on only if you have just signed in yourself.";
        let page = Self::new(shell, StatusCode::OK, "Sign in to this app?", text);
        page.with_action("Sign in", go_on)
    }

    /// A one-time link of a sign-in does not work any more.
    #[must_use]
    pub fn spent_link(shell: Shell, sign_in: String) -> Self {
        let text = "Such a link works once and for a short time. Ask for a new one.";
        let page = Self::new(shell, StatusCode::UNAUTHORIZED, "This link does not work", text);
        page.with_action("Sign in again", sign_in)
    }

    /// The address asks for something that cannot be. `home` is the address to go back to.
    #[must_use]
    pub fn misled(shell: Shell, home: String) -> Self {
        let text = "Something is missing in it, or is not what belongs there. Try the link once more, \
                    or ask for it anew.";
        let page = Self::new(shell, StatusCode::BAD_REQUEST, "This address does not work", text);
        page.with_action("Go to the start", home)
    }

    /// The request was refused because of who sent it, or from where.
    #[must_use]
    pub fn forbidden(shell: Shell) -> Self {
        let text = "You are not allowed to do this, or the form came from another site.";
        Self::new(shell, StatusCode::FORBIDDEN, "Not allowed", text)
    }

    /// Too many requests of one network.
    #[must_use]
    pub fn rate_limited(shell: Shell) -> Self {
        let text = "There were too many requests from your network. Wait a minute and try again.";
        Self::new(shell, StatusCode::TOO_MANY_REQUESTS, "Slow down a little", text)
    }

    /// The service failed, and nothing of why is shown.
    #[must_use]
    pub fn failed(shell: Shell, request_id: Option<String>) -> Self {
        let text = "The service failed. It has been noted; trying again may help.";
        let mut page =
            Self::new(shell, StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong", text);
        page.request_id = request_id;
        page
    }

    /// The service or the app is too busy now, or in quarantine.
    #[must_use]
    pub fn unavailable(shell: Shell, request_id: Option<String>) -> Self {
        let text = "It cannot answer now. Try again in a minute.";
        let mut page = Self::new(shell, StatusCode::SERVICE_UNAVAILABLE, "Not available", text);
        page.request_id = request_id;
        page
    }

    fn with_action(mut self, label: &'static str, href: String) -> Self {
        self.action = Some(Action { label, href });
        self
    }

    /// The headers to send it with; [`Self::status`] is the status.
    #[must_use]
    pub fn headers(&self) -> HeaderMap {
        let mut headers = page_headers(&[]);
        if let Some(seconds) = self.refresh_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        headers
    }
}
