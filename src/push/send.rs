//! The queue to push services: a few messages to each human at a time, a few connections at a time, a
//! few tries each. A push service that takes its time holds up its own human, and nobody else. A
//! subscription that its service does not know any more is deleted.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures::future::join_all;
use reqwest::{Response, StatusCode, header};
use rookery_actors::Directory;
use rookery_domain::{Result, id::HumanId, sealed::ServerKey, time::Clock};
use rookery_storage::push;
use tokio::{
    sync::{Semaphore, mpsc},
    task::{self, JoinSet},
};
use tokio_util::sync::CancellationToken;

use super::{PushMessage, Subscription, vapid::Vapid};
use crate::outbound::egress::Egress;

/// Messages that are on their way at a time, those that wait for another try included.
const UNDER_WAY_MAX: usize = 512;
/// Messages of them that are to one human.
const UNDER_WAY_TO_ONE_MAX: usize = 4;
/// Messages that wait behind those.
const BEHIND_MAX: usize = 16;
/// Messages that are being posted at a time.
const POSTING_MAX: usize = 16;
/// Messages of them that are to one human.
const POSTING_TO_ONE_MAX: usize = 2;
/// Tries of one message.
const TRIES_MAX: u32 = 4;
/// The pause before the second try; it grows fourfold with each further one.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest pause that a push service may ask for.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// For one message, to all browsers of its human and with all tries: those of others wait for its place.
const MESSAGE_MAX: Duration = Duration::from_secs(300);
/// Seconds that a push service keeps a message for a browser that is not there.
const TTL_S: u32 = 86_400;

/// What sending needs.
pub(super) struct Sender {
    pub(super) directory: Directory,
    pub(super) key: ServerKey,
    pub(super) clock: Clock,
    pub(super) site: String,
    pub(super) egress: Egress,
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
        self: &Arc<Self>,
        queue: &mut mpsc::Receiver<(HumanId, PushMessage)>,
        drain: &CancellationToken,
    ) {
        let mut under_way = UnderWay {
            sender: Arc::clone(self),
            posting: Arc::new(Semaphore::new(POSTING_MAX)),
            tasks: JoinSet::new(),
            to: HashMap::new(),
            lines: HashMap::new(),
        };
        loop {
            tokio::select! {
                biased;
                () = drain.cancelled() => return,
                Some(ended) = under_way.tasks.join_next_with_id() => {
                    under_way.end(ended.map_or_else(|error| error.id(), |(id, ())| id));
                }
                next = queue.recv(), if under_way.tasks.len() < UNDER_WAY_MAX => {
                    let Some((who, message)) = next else { return };
                    under_way.begin(who, message);
                }
            }
        }
    }

    async fn tell(&self, who: HumanId, message: &PushMessage, posting: &Posting) {
        let found = match self.directory.push_subscriptions(who).await {
            Ok(found) => found,
            Err(error) => return tracing::warn!(%error, "a push was not sent"),
        };
        let message = message.to_json(&self.site);
        let told = join_all(found.iter().map(|it| self.deliver(it, &message, posting)));
        if tokio::time::timeout(MESSAGE_MAX, told).await.is_err() {
            tracing::warn!("a push was given up: push services do not answer in time");
        }
    }

    /// Sends a message to one browser, in a few tries.
    async fn deliver(&self, kept: &push::Subscription, message: &[u8], posting: &Posting) {
        let Some(browser) = Subscription::open(kept.hash, &kept.sealed, &self.key) else {
            return self.forget(kept).await;
        };
        let host = browser.endpoint().host_str().unwrap_or_default();
        let mut pause = PAUSE;
        for attempt in 1..=TRIES_MAX {
            // The own permit comes first: who waits for it holds none of everybody's.
            let Ok(own) = posting.own.acquire().await else { return };
            let Ok(permit) = posting.all.acquire().await else { return };
            let outcome = self.post(&browser, message.to_vec()).await;
            drop((own, permit));
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
        let Ok(client) = self.egress.client("endpoint", endpoint) else {
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
        if let Err(error) = self.directory.drop_dead_push_subscription(dead).await {
            tracing::warn!(%error, "a dead push subscription was not deleted");
        }
    }
}

/// Permits for messages that are being posted.
#[derive(Clone)]
struct Posting {
    /// To everybody.
    all: Arc<Semaphore>,
    /// To one human.
    own: Arc<Semaphore>,
}

/// The messages that are on their way, and those that wait behind them.
struct UnderWay {
    sender: Arc<Sender>,
    posting: Arc<Semaphore>,
    tasks: JoinSet<()>,
    to: HashMap<task::Id, HumanId>,
    lines: HashMap<HumanId, Line>,
}

/// What one human is being told.
struct Line {
    under_way: usize,
    behind: VecDeque<PushMessage>,
    posting: Posting,
}

impl UnderWay {
    /// Sends a message, at once or after others to the same human.
    fn begin(&mut self, who: HumanId, message: PushMessage) {
        let line = self.lines.entry(who).or_insert_with(|| Line {
            under_way: 0,
            behind: VecDeque::new(),
            posting: Posting {
                all: Arc::clone(&self.posting),
                own: Arc::new(Semaphore::new(POSTING_TO_ONE_MAX)),
            },
        });
        if line.behind.len() < BEHIND_MAX {
            line.behind.push_back(message);
            self.go_on(who);
        } else {
            tracing::warn!("a push was dropped: too many wait to be told to the same human");
        }
    }

    /// One is sent, or given up.
    fn end(&mut self, id: task::Id) {
        let Some(who) = self.to.remove(&id) else { return };
        if let Some(line) = self.lines.get_mut(&who) {
            line.under_way -= 1;
        }
        self.go_on(who);
    }

    /// Sends the next message to `who`, if there is one and it has its turn.
    fn go_on(&mut self, who: HumanId) {
        let Some(line) = self.lines.get_mut(&who) else { return };
        if line.under_way == UNDER_WAY_TO_ONE_MAX {
            return;
        }
        let Some(message) = line.behind.pop_front() else {
            if line.under_way == 0 {
                self.lines.remove(&who);
            }
            return;
        };
        line.under_way += 1;
        let (sender, posting) = (Arc::clone(&self.sender), line.posting.clone());
        let task = async move { sender.tell(who, &message, &posting).await };
        self.to.insert(self.tasks.spawn(task).id(), who);
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
