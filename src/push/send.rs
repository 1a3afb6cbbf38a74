//! The queue to push services: a few notices at a time, a few connections at a time, a few tries
//! each. A subscription that its service does not know any more is deleted.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::future::join_all;
use reqwest::{Response, StatusCode, header};
use rookery_domain::{Error, Result, id::HumanId, sealed::ServerKey, time::Clock};
use rookery_storage::{Db, humans, push};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::{Addressee, Notice, Subscription, vapid::Vapid};
use crate::outbound::gate::Gate;

/// Notices that are on their way at a time, those that wait for another try included.
const UNDER_WAY_MAX: usize = 64;
/// Messages that are being posted at a time.
const POSTING_MAX: usize = 8;
/// Tries of one message.
const TRIES_MAX: u32 = 4;
/// The pause before the second try; it grows fourfold with each further one.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest pause that a push service may ask for.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Seconds that a push service keeps a message for a browser that is not there.
const TTL_S: u32 = 86_400;

/// What sending needs.
pub(super) struct Sender {
    pub(super) db: Db,
    pub(super) key: ServerKey,
    pub(super) clock: Clock,
    pub(super) site: String,
    pub(super) gate: Gate,
    pub(super) vapid: Vapid,
}

/// What became of one try.
enum Outcome {
    Delivered,
    /// The push service does not know the subscription any more.
    Gone,
    /// Another try may help, not before this.
    Later(Option<Duration>),
    /// No try will help.
    Refused(Option<StatusCode>),
}

impl Sender {
    /// Works until `drain` is cancelled; what is under way then is not sent.
    pub(super) async fn run(
        self,
        mut queue: mpsc::Receiver<(Addressee, Notice)>,
        drain: CancellationToken,
    ) {
        let this = Arc::new(self);
        let posting = Arc::new(Semaphore::new(POSTING_MAX));
        let mut under_way = JoinSet::new();
        loop {
            let next = tokio::select! {
                biased;
                () = drain.cancelled() => return,
                Some(_) = under_way.join_next(), if !under_way.is_empty() => continue,
                next = queue.recv(), if under_way.len() < UNDER_WAY_MAX => next,
            };
            let Some((who, notice)) = next else { return };
            let (this, posting) = (Arc::clone(&this), Arc::clone(&posting));
            under_way.spawn(async move { this.tell(&who, &notice, &posting).await });
        }
    }

    async fn tell(&self, who: &Addressee, notice: &Notice, posting: &Semaphore) {
        let found = match self.subscriptions(who).await {
            Ok(found) => found,
            Err(error) => return tracing::warn!(%error, "a push was not sent"),
        };
        let message = notice.message(&self.site);
        join_all(found.iter().map(|it| self.deliver(it, &message, posting))).await;
    }

    async fn subscriptions(&self, who: &Addressee) -> Result<Vec<push::Subscription>> {
        let human = match who {
            Addressee::Human(human) => Some(*human),
            Addressee::Holder(email) => self.holder(email.as_str()).await?,
        };
        let Some(human) = human else { return Ok(Vec::new()) };
        push::of_human(&self.db, human, self.clock.now()).await.map_err(Error::from)
    }

    async fn holder(&self, email: &str) -> Result<Option<HumanId>> {
        let human = humans::by_verified_email(&self.db, email).await.map_err(Error::from)?;
        Ok(human.map(|human| human.id))
    }

    /// Sends a message to one browser, in a few tries.
    async fn deliver(&self, kept: &push::Subscription, message: &[u8], posting: &Semaphore) {
        let Some(browser) = Subscription::open(&kept.hash, &kept.sealed, &self.key) else {
            return self.forget(kept).await;
        };
        let host = browser.endpoint().host_str().unwrap_or_default();
        let mut pause = PAUSE;
        for attempt in 1..=TRIES_MAX {
            let Ok(slot) = posting.acquire().await else { return };
            let outcome = self.post(&browser, message.to_vec()).await;
            drop(slot);
            let asked = match outcome {
                Ok(Outcome::Delivered) => return,
                Ok(Outcome::Gone) => return self.forget(kept).await,
                Ok(Outcome::Refused(status)) => {
                    let status = status.map(|status| status.as_u16());
                    return tracing::warn!(
                        push.host = host,
                        push.status = status,
                        "a push was refused"
                    );
                }
                Ok(Outcome::Later(asked)) => asked,
                Err(error) => {
                    return tracing::warn!(push.host = host, %error, "a push was not sent");
                }
            };
            if attempt < TRIES_MAX {
                tokio::time::sleep(asked.map_or(pause, |asked| asked.clamp(pause, PAUSE_MAX)))
                    .await;
                pause *= 4;
            }
        }
        tracing::warn!(push.host = host, "a push service does not answer");
    }

    async fn post(&self, browser: &Subscription, message: Vec<u8>) -> Result<Outcome> {
        let endpoint = browser.endpoint();
        let Ok(client) = self.gate.client("endpoint", endpoint) else {
            // The settings have changed since it was let in.
            return Ok(Outcome::Refused(None));
        };
        let authorization = self.vapid.authorization(endpoint, self.clock.now())?;
        let posted = client
            .post(endpoint.clone())
            .header(header::AUTHORIZATION, authorization)
            .header(header::CONTENT_TYPE, "application/octet-stream")
            .header(header::CONTENT_ENCODING, "aes128gcm")
            .header("TTL", TTL_S)
            .header("Urgency", "normal")
            .body(Bytes::from(browser.encrypt(message)?))
            .send()
            .await;
        Ok(match posted {
            Ok(answer) => judge(&answer),
            Err(_) => Outcome::Later(None),
        })
    }

    /// Deletes what cannot be delivered to any more.
    async fn forget(&self, dead: &push::Subscription) {
        if let Err(error) = push::drop_dead(&self.db, dead).await {
            tracing::warn!(%error, "a dead push subscription was not deleted");
        }
    }
}

/// What an answer means (RFC 8030, sections 5 and 7.3).
fn judge(answer: &Response) -> Outcome {
    match answer.status() {
        status if status.is_success() => Outcome::Delivered,
        StatusCode::NOT_FOUND | StatusCode::GONE => Outcome::Gone,
        status
            if status == StatusCode::TOO_MANY_REQUESTS
                || status == StatusCode::REQUEST_TIMEOUT
                || status.is_server_error() =>
        {
            let asked = answer.headers().get(header::RETRY_AFTER);
            let asked = asked.and_then(|value| value.to_str().ok()?.parse().ok());
            Outcome::Later(asked.map(Duration::from_secs))
        }
        status => Outcome::Refused(Some(status)),
    }
}
