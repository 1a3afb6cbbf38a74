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

use std::{num::NonZeroU32, sync::Arc};

use governor::{Quota, clock::MonotonicClock};
use rookery_domain::{email::Email, id::HumanId, time::Clock};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use message::PushMessage;
pub use subscription::Subscription;

use crate::{
    boot::{BootError, Rooms},
    config::Config,
    gcra::{Allowance, Rates},
    outbound::egress::{Egress, system_lookup, trusted_origin},
    task::until_it_ends,
};
use send::Sender;
use vapid::Vapid;

/// Messages that may wait.
const QUEUED_MAX: usize = 1_000;
/// Counters of whom something was told, and of who caused it.
const COUNTERS: usize = 1 << 14;

/// Tells browsers, as cheap to clone as a few pointers.
#[derive(Clone)]
pub struct Push {
    queue: mpsc::Sender<(Addressee, PushMessage)>,
    egress: Egress,
    public_key: String,
    /// How often somebody is told, where that is bounded.
    told: Option<Arc<Rates>>,
    /// How often one account has others told, where that is bounded.
    caused: Option<Arc<Rates>>,
}

/// Who is to be told.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Addressee {
    /// This human.
    Human(HumanId),
    /// Whoever has proven this address, if anybody has.
    Holder(Email),
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
            .map_err(|_| BootError::Setting("push: this system has no trust anchors"))?;
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
        let per_hour = |most| {
            let quota = Quota::per_hour(NonZeroU32::new(most)?);
            Some(Arc::new(Rates::new(quota, COUNTERS, MonotonicClock)))
        };
        let told = per_hour(config.mail.notices_per_hour);
        let caused = per_hour(config.mail.notices_per_account);
        Ok(Self { queue, egress, public_key, told, caused })
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
    pub fn tell(&self, who: Addressee, by: HumanId, message: PushMessage) {
        let is_over = |rates: &Option<Arc<Rates>>, count: &dyn Fn(&Rates) -> Allowance| {
            rates.as_ref().is_some_and(|rates| count(rates).retry_after_s.is_some())
        };
        if is_over(&self.caused, &|rates| rates.count(by))
            || is_over(&self.told, &|rates| rates.count(&who))
        {
            tracing::warn!("a push was not sent: enough were lately");
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
