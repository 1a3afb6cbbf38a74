//! Mail: what is said (`letter`), and how it leaves: over SMTP (`smtp`, `relay`), or into the
//! development mailbox (`mailbox`) where no server is set. Sending never holds a request up, and a
//! request learns nothing from it about the address.

pub mod letter;
pub mod mailbox;
mod outcomes;
mod relay;
mod smtp;

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result, email::Email, id::HumanId, network::Network, time::Clock,
};
use secrecy::ExposeSecret as _;
use tokio::{sync::mpsc::OwnedPermit, time::Instant};

pub use letter::{About, Invitation, Letter, News, Offered, SignIn, organization, sender};
pub use mailbox::{Mailbox, StoredMail};
pub use outcomes::Mails;
pub use relay::problem;

use crate::{
    boot::BootError,
    config::{self, Config},
    error::ApiError,
    gcra::Rates,
    http::loopback::{is_loopback_host, is_loopback_url},
    notice_rates::{NoticeRates, per_hour},
};
use smtp::Smtp;

/// Sends mail, as cheap to clone as a pointer.
#[derive(Clone)]
pub struct Mailer {
    route: Route,
    /// Whether the development mailbox may be read: only from this machine.
    readable: bool,
    /// Sign-in links by address, where they are bounded.
    links_to_address: Option<Arc<Rates>>,
    /// Sign-in links by the network that asks for them, where they are bounded.
    links_from_network: Option<Arc<Rates>>,
    /// Letters about what somebody else did.
    notices: Arc<NoticeRates>,
}

/// What a start would refuse of the settings of mail.
///
/// # Errors
/// As [`Mailer::start`].
pub fn check(settings: &config::Mail, public_url: &str) -> std::result::Result<(), BootError> {
    if settings.smtp_url.expose_secret().is_empty() {
        // Nobody asks for it, but what is set is right.
        return relay::authority(settings).map(drop).map_err(BootError::Setting);
    }
    relay::Relay::of(settings, public_url).map(drop).map_err(BootError::Setting)
}

#[derive(Clone)]
enum Route {
    Smtp(Smtp),
    Mailbox(Arc<Mailbox>),
}

/// A permit for one letter among those that wait to be sent.
pub struct MailPermit(Reserved);

enum Reserved {
    Queue(OwnedPermit<(Email, Letter)>),
    Mailbox(Arc<Mailbox>),
}

impl MailPermit {
    /// Sends a letter, off the request.
    pub fn send(self, to: &Email, letter: Letter) {
        match self.0 {
            Reserved::Queue(permit) => drop(permit.send((to.clone(), letter))),
            Reserved::Mailbox(mailbox) => mailbox.put(to, letter),
        }
    }
}

fn too_many(message: String, seconds: u64) -> ApiError {
    ApiError::from(Error::new(ErrorCode::RateLimited, message)).retry_after(seconds)
}

/// Whether a sender's address is at this machine.
fn is_from_loopback(from: &str) -> bool {
    let sender = from.parse::<lettre::message::Mailbox>();
    sender.is_ok_and(|sender| is_loopback_host(&sender.email.domain().to_ascii_lowercase()))
}

impl Mailer {
    /// The way that the settings describe.
    ///
    /// # Errors
    /// [`BootError`], when the address of the SMTP server, or its authorities, cannot be used.
    pub fn start(config: &Config, public_url: &str, clock: Clock) -> Result<Self, BootError> {
        let url = config.mail.smtp_url.expose_secret();
        if url.is_empty() {
            check(&config.mail, public_url)?;
            let readable = config.server.listen.ip().is_loopback() && is_loopback_url(public_url);
            if !readable {
                tracing::warn!(
                    "mail.smtp_url is empty: no mail leaves, so nobody can sign in by one"
                );
            }
            let route = Route::Mailbox(Arc::new(Mailbox::new(clock)));
            return Ok(Self {
                route,
                readable,
                links_to_address: None,
                links_from_network: None,
                notices: Arc::default(),
            });
        }
        if !is_loopback_url(public_url) && is_from_loopback(&config.mail.from) {
            tracing::warn!(
                mail.from = config.mail.from,
                "mail.from is an address at localhost: mail servers elsewhere refuse such mail, or take \
                 it for spam"
            );
        }
        let smtp = Smtp::start(&config.mail, public_url, clock)?;
        Ok(Self {
            route: Route::Smtp(smtp),
            readable: false,
            links_to_address: per_hour(config.mail.sign_in_links_per_hour).map(Arc::new),
            links_from_network: per_hour(config.mail.sign_in_links_per_network).map(Arc::new),
            notices: Arc::new(NoticeRates::of(&config.mail)),
        })
    }

    /// Counts a sign-in link, which anybody may have sent to any address.
    ///
    /// # Errors
    /// `rate_limited`, when `network` has asked for too many in the last hour, or the address was sent
    /// too many. It is said of an address that nobody has, too.
    pub fn count_sign_in_link(&self, network: Network, to: &Email) -> Result<(), ApiError> {
        let of_network = self.links_from_network.as_ref().map(|rates| rates.count(network));
        if let Some(seconds) = of_network.and_then(|allowance| allowance.retry_after_s) {
            let why = "this network has asked for enough sign-in links lately";
            return Err(too_many(format!("{why}: try again in {seconds} s"), seconds));
        }
        let of_address = self.links_to_address.as_ref().map(|rates| rates.count(to));
        if let Some(seconds) = of_address.and_then(|allowance| allowance.retry_after_s) {
            let why = "`email` was sent enough sign-in links lately";
            let message = format!("{why}: use the newest, or try again in {seconds} s");
            return Err(too_many(message, seconds));
        }
        Ok(())
    }

    /// Whether a letter to `to` may leave; it is counted. Whoever it goes to cannot help what others
    /// do. Where the account `by` chose the address, it counts for that account too, so that nobody
    /// mails strangers. The deed is done either way, and only the log hears of a letter that stays.
    #[must_use]
    pub fn admits_notice(&self, to: &Email, by: Option<HumanId>) -> bool {
        let counted = self.notices.count(to, by);
        if let Err(why) = counted {
            tracing::warn!(why, "a notice was not mailed");
        }
        counted.is_ok()
    }

    /// Sends a sign-in link, off the request.
    ///
    /// # Errors
    /// `unavailable`, when too much mail waits already, whoever this one is for.
    pub fn send_sign_in_link(&self, to: &Email, letter: Letter) -> Result<()> {
        self.permit(0)?.send(to, letter);
        Ok(())
    }

    /// Sends a letter about what somebody did, off the request.
    ///
    /// # Errors
    /// As [`Self::reserve`].
    pub fn send(&self, to: &Email, letter: Letter) -> Result<()> {
        self.reserve()?.send(to, letter);
        Ok(())
    }

    /// A permit for one letter about what somebody did, for those who must know that it will leave before
    /// they write it.
    ///
    /// # Errors
    /// `unavailable`, when so much mail waits already that the rest of the permits is kept for sign-in
    /// links.
    pub fn reserve(&self) -> Result<MailPermit> {
        self.permit(smtp::KEPT_FOR_SIGN_IN)
    }

    /// A permit for one letter, which leaves `spared` of them free.
    fn permit(&self, spared: usize) -> Result<MailPermit> {
        let full = |_| Error::unavailable("too much mail waits to be sent");
        Ok(MailPermit(match &self.route {
            Route::Smtp(smtp) => Reserved::Queue(smtp.reserve(spared).map_err(full)?),
            Route::Mailbox(mailbox) => Reserved::Mailbox(Arc::clone(mailbox)),
        }))
    }

    /// Takes no more mail, and gives what waits one try, until `deadline` at most.
    pub async fn close(&self, deadline: Instant) {
        if let Route::Smtp(smtp) = &self.route {
            smtp.close(deadline).await;
        }
    }

    /// The development mailbox, where it may be read.
    #[must_use]
    pub fn readable_mailbox(&self) -> Option<&Mailbox> {
        match &self.route {
            Route::Mailbox(mailbox) if self.readable => Some(mailbox),
            _ => None,
        }
    }

    /// How many mails left over SMTP, and how many did not.
    #[must_use]
    pub fn outcomes(&self) -> Mails {
        match &self.route {
            Route::Smtp(smtp) => smtp.outcomes.read(),
            Route::Mailbox(_) => Mails::default(),
        }
    }

    /// Whether a mailed link can reach anybody.
    #[must_use]
    pub const fn reaches_anybody(&self) -> bool {
        self.readable || matches!(self.route, Route::Smtp(_))
    }
}
