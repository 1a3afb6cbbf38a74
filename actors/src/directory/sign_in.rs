//! Signing in by a mailed link, sessions of the site, and the humans behind them.

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result,
    email::Email,
    id::{HumanId, SessionId},
    redirect::ReturnPath,
    secret::{Secret, SecretKind},
    time::DAY_S,
};
use rookery_storage::{
    humans::Human,
    links::{self, Link, NewLink, SpentIn},
    sessions::{self, OpenCodes},
};

use super::{Directory, core::Core, touches::TOUCH_EVERY_S};

/// Seconds that a session lasts without being used.
pub(super) const SESSION_TTL_S: i64 = 30 * DAY_S;
/// Seconds that a mailed link is good for.
const LINK_TTL_S: i64 = 900;
/// Seconds from a sign-in in which its browser may spend the link once more: the second click of a double
/// one, and an answer that was lost.
const LINK_AGAIN_S: i64 = 60;
/// What to do about a link that is not good: no key helps, which the table says of the code.
const DEAD_LINK_HINT: &str =
    "Ask for another link with POST /v1/auth/request-link, or on the page /sign-in.";
/// Seconds after which a browser is given its cookie again.
const COOKIE_EVERY_S: i64 = DAY_S;

/// Whom an open session belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionHolder {
    /// The session.
    pub session: SessionId,
    /// The human.
    pub human: HumanId,
}

/// A sign-in, and the only time the session's secret is seen.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// Who signed in; the address is verified.
    pub human: Arc<Human>,
    /// The cookie.
    pub secret: Secret,
    /// Where the sign-in leads.
    pub redirect_to: ReturnPath,
}

/// A mailed link, to whoever has it.
#[derive(Clone)]
pub struct MailedLink {
    /// The address whose human it signs in.
    pub address: String,
    /// Where the sign-in leads.
    pub redirect_to: ReturnPath,
    /// Whether it is good; else it was used, or its time is over.
    pub is_good: bool,
}

/// Where a sign-in that was begun leads: checked then, and again now, as it lay in storage meanwhile. By
/// now it is spent, so one that leads astray leads home.
pub(super) fn stored_path(stored: Option<&str>) -> ReturnPath {
    let path = stored.map(|path| ReturnPath::of_site("redirect_to", path));
    path.and_then(Result::ok).unwrap_or_default()
}

impl Directory {
    /// Seconds that a session, and its cookie, last without being used.
    pub const SESSION_TTL_S: i64 = SESSION_TTL_S;
    /// Seconds that a mailed link is good for.
    pub const LINK_TTL_S: i64 = LINK_TTL_S;

    /// Makes a sign-in link for an address, known or not; what is returned is to be mailed there
    /// and shown to nobody else.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn request_link(
        &self,
        email: &Email,
        redirect_to: Option<&ReturnPath>,
    ) -> Result<Secret> {
        let core = &self.core;
        let secret = Secret::generate(SecretKind::Link, &mut rand::rng());
        let now = core.now();
        let link = NewLink {
            hash: secret.hash(),
            email: email.as_str().to_owned(),
            redirect_to: redirect_to.map(|path| path.as_str().to_owned()),
            expires_at: now.plus_seconds(LINK_TTL_S),
        };
        links::create(&core.db, link, now).await?;
        Ok(secret)
    }

    /// What a link is, to whoever has it; `None` for one that never was, or ended longer ago than
    /// links are stored. Spends nothing.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn mailed_link(&self, token: &str) -> Result<Option<MailedLink>> {
        let Some(link) = Secret::parse(SecretKind::Link, token) else { return Ok(None) };
        let found = links::find(&self.core.db, link.hash(), self.core.now()).await?;
        let Some(Link { email, redirect_to, is_good }) = found else { return Ok(None) };
        let redirect_to = stored_path(redirect_to.as_deref());
        Ok(Some(MailedLink { address: email, redirect_to, is_good }))
    }

    /// Spends a link: its address is verified, its human (new, where the address is) is signed in.
    /// Of any number of calls at once, one gets the session. `browser` is the cookie, of kind
    /// [`SecretKind::SignIn`], of the browser that it is spent in: that one may do so again within
    /// a minute, and its new session takes the place of the first.
    ///
    /// # Errors
    /// `unauthorized` for an unknown, spent and expired link alike; `unavailable`, `internal`.
    pub async fn verify_link(&self, token: &str, browser: Option<&str>) -> Result<SignedIn> {
        let refused = || {
            let message = "this sign-in link was used, has expired, or never was: ask for another";
            Error::new(ErrorCode::Unauthorized, message).with_hint(DEAD_LINK_HINT)
        };
        let link = Secret::parse(SecretKind::Link, token).ok_or_else(refused)?;
        let browser = browser.and_then(|cookie| Secret::parse(SecretKind::SignIn, cookie));
        self.mutate(async move |core: Arc<Core>| {
            let now = core.now();
            let secret = Secret::generate(SecretKind::Session, &mut rand::rng());
            let session = sessions::NewSession {
                id: SessionId::new(),
                hash: secret.hash(),
                expires_at: now.plus_seconds(SESSION_TTL_S),
            };
            let spent_in = browser.map(|browser| SpentIn {
                browser: browser.hash(),
                again_after: now.plus_seconds(-LINK_AGAIN_S),
            });
            let (db, link, candidate) = (&core.db, link.hash(), HumanId::new());
            let spent = links::sign_in(db, link, spent_in, candidate, session, now).await?;
            let spent = spent.ok_or_else(refused)?;
            let human = Arc::new(spent.human.clone());
            core.write(|memory| {
                memory.put_human(spent.human);
                if let Some(replaced) = spent.replaced {
                    memory.remove_session(replaced);
                }
                memory.put_session(&spent.session);
            });
            let redirect_to = stored_path(spent.redirect_to.as_deref());
            Ok(SignedIn { human, secret, redirect_to })
        })
        .await
    }

    /// Whom this session cookie belongs to, now. Notes the use, which keeps the session alive.
    ///
    /// # Errors
    /// `unavailable`.
    pub fn session(&self, cookie: &str) -> Result<Option<SessionHolder>> {
        let Some(secret) = Secret::parse(SecretKind::Session, cookie) else { return Ok(None) };
        let hash = secret.hash();
        self.core.read(|memory| {
            let now = self.core.now();
            let entry = memory.session(hash).filter(|entry| entry.is_open(now))?;
            if entry.touch(now, TOUCH_EVERY_S) {
                self.core.touches.session(entry.id, entry.seen_at());
            }
            Some(SessionHolder { session: entry.id, human: entry.human })
        })
    }

    /// Whether the browser should be given this session's cookie again: once a day, so that it
    /// keeps it as long as the session lasts.
    #[must_use]
    pub fn renews_cookie(&self, cookie: &str) -> bool {
        let Some(secret) = Secret::parse(SecretKind::Session, cookie) else { return false };
        let now = self.core.now();
        let renews = self.core.read(|memory| {
            let entry = memory.session(secret.hash()).filter(|entry| entry.is_open(now));
            entry.is_some_and(|entry| entry.renew_cookie(now, COOKIE_EVERY_S))
        });
        renews.unwrap_or(false)
    }

    /// Ends the session of this cookie, and the human's sessions in apps. Without effect when it
    /// has ended. Claim codes and approvals stay: whoever signs out has begun them.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn sign_out(&self, cookie: &str) -> Result<()> {
        let Some(secret) = Secret::parse(SecretKind::Session, cookie) else { return Ok(()) };
        let hash = secret.hash();
        self.mutate(async move |core: Arc<Core>| {
            let found = core
                .read(|memory| memory.session(hash).map(|session| (session.id, session.human)))?;
            let Some((session, human)) = found else { return Ok(()) };
            sessions::end(&core.db, human, session, OpenCodes::Stay).await?;
            core.write(|memory| memory.remove_session(hash));
            core.participants.forget_visits_of(human);
            Ok(())
        })
        .await
    }

    /// Ends the session of a cookie that the one of `by`, who has just signed in, takes the place of in the
    /// only browser that had it: somebody else's as signing out would, and one of its own alone. Where that
    /// fails the session ends by itself some day, and whoever signed in is signed in.
    pub async fn replace_session(&self, cookie: &str, by: HumanId) {
        let Some(secret) = Secret::parse(SecretKind::Session, cookie) else { return };
        let before =
            self.core.read(|memory| memory.session(secret.hash()).map(|one| (one.id, one.human)));
        let ended = match before {
            Ok(Some((_, human))) if human != by => self.sign_out(cookie).await,
            Ok(Some((session, _))) => {
                let hash = secret.hash();
                self.mutate(async move |core: Arc<Core>| {
                    sessions::forget(&core.db, session).await?;
                    core.write(|memory| memory.remove_session(hash));
                    Ok(())
                })
                .await
            }
            Ok(None) => return,
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::warn!(%error, "a session that was replaced has not ended");
        }
    }

    /// The human with this id.
    ///
    /// # Errors
    /// `unavailable`.
    pub fn human(&self, id: HumanId) -> Result<Option<Arc<Human>>> {
        self.core.read(|memory| memory.human(id).cloned())
    }
}
