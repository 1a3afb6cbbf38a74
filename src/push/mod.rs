//! Web push (RFC 8030): telling a human's browsers something, also while no page of the site is
//! open. `subscription` is what a browser asked for, `vapid` who we are to its push service,
//! `message` what is said, `send` the queue.
//!
//! A push is a hint: nobody waits for it, it may come late or not at all, and what it tells of is
//! on the site too.

pub mod message;
mod send;
pub mod subscription;
mod vapid;

use std::sync::Arc;

use rookery_domain::{id::HumanId, time::Clock};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use message::PushMessage;
pub use subscription::Subscription;

use crate::{
    boot::{BootError, Rooms},
    config::Config,
    notice_rates::NoticeRates,
    outbound::egress::{Egress, system_lookup, trusted_origin},
    task::until_it_ends,
};
use send::Sender;
use vapid::Vapid;

/// Messages that may wait.
const QUEUED_MAX: usize = 1_000;

/// Tells browsers, as cheap to clone as a few pointers.
#[derive(Clone)]
pub struct Push {
    queue: mpsc::Sender<(HumanId, PushMessage)>,
    egress: Egress,
    public_key: String,
    rates: Arc<NoticeRates>,
}

impl Push {
    /// Starts the sender, which ends when `drain` is cancelled.
    ///
    /// # Errors
    /// [`BootError`], when the key cannot be read or made, or no request could be made at all.
    pub async fn start(
        config: &Config,
        public_url: &str,
        rooms: &Rooms,
        clock: &Clock,
        drain: CancellationToken,
    ) -> Result<Self, BootError> {
        let trusted = &config.push.trusted_origins;
        let trusted = trusted.iter().filter_map(|origin| trusted_origin(origin)).collect();
        let egress = Egress::new(trusted, system_lookup())
            .map_err(|_| BootError::Setting("push: no request can be made on this system"))?;
        let vapid = Vapid::open(&rooms.db, &rooms.key, contact(config, public_url)).await?;
        let public_key = vapid.public_key().to_owned();
        let (queue, waiting) = mpsc::channel(QUEUED_MAX);
        let sender = Sender {
            directory: rooms.directory.clone(),
            key: rooms.key.clone(),
            clock: clock.clone(),
            site: public_url.to_owned(),
            egress: egress.clone(),
            vapid,
        };
        let (sender, mut waiting) = (Arc::new(sender), waiting);
        tokio::spawn(until_it_ends("push", async move || sender.run(&mut waiting, &drain).await));
        let rates = Arc::new(NoticeRates::of(&config.mail));
        Ok(Self { queue, egress, public_key, rates })
    }

    /// The VAPID public key, as browsers take it: base64url of the uncompressed point.
    #[must_use]
    pub fn public_key(&self) -> &str {
        &self.public_key
    }

    /// Which endpoints may be spoken to.
    #[must_use]
    pub const fn egress(&self) -> &Egress {
        &self.egress
    }

    /// Tells somebody what `by` did, off the request. When too much waits already, or as many were told
    /// lately as are mailed, it is not told.
    pub fn tell(&self, who: HumanId, by: HumanId, message: PushMessage) {
        if let Err(why) = self.rates.count(who, Some(by)) {
            tracing::warn!(why, "a push was not sent");
            return;
        }
        if self.queue.try_send((who, message)).is_err() {
            tracing::warn!("a push was dropped: too many wait, or the server is stopping");
        }
    }
}

/// Whom a push service may turn to (RFC 8292, section 2.1): the setting, else the site, else the
/// sender of mails.
fn contact(config: &Config, public_url: &str) -> String {
    let set = &config.push.contact;
    if !set.is_empty() {
        return set.clone();
    }
    if public_url.starts_with("https:") {
        return public_url.to_owned();
    }
    let from = config.mail.from.parse::<lettre::message::Mailbox>();
    from.map_or_else(|_| public_url.to_owned(), |from| format!("mailto:{}", from.email))
}
