//! Mail over SMTP: a bounded queue, a few connections at a time, a few tries each, each for a bounded
//! time. What fails for good is logged without address and body; whoever waited for the mail asks for
//! another. Where the server is and how it is spoken to is in `relay`.

use std::{
    error::Error as _,
    io,
    sync::Arc,
    time::{Duration, SystemTime},
};

use lettre::{
    Message,
    message::{
        Mailbox, MultiPart,
        header::{HeaderName, HeaderValue},
    },
    transport::smtp,
};
use rookery_domain::{email::Email, time::Clock};
use tokio::{
    sync::{
        Semaphore,
        mpsc::{self, OwnedPermit},
    },
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use super::{Letter, outcomes::Outcomes, relay::Relay};
use crate::{boot::BootError, config::Mail, task::until_it_ends};

/// Mails that may wait.
const QUEUED_MAX: usize = 1_000;
/// Of these, permits for sign-in links alone: nobody's doings keep anybody from signing in.
pub(super) const KEPT_FOR_SIGN_IN: usize = 250;
/// Mails that are under way at a time, those that wait for another try included.
const UNDER_WAY_MAX: usize = 256;
/// Mails that are sent at a time. One that waits for another try takes no permit among them.
const SENDING_MAX: usize = 4;
/// Tries of one mail.
const TRIES_MAX: u32 = 4;
/// The pause before the second try; it triples with each further one.
const PAUSE: Duration = Duration::from_secs(2);
/// For a server's goodbye, once it has the mail.
const QUIT_TIMEOUT: Duration = Duration::from_secs(2);

/// The queue to the SMTP server.
#[derive(Clone)]
pub(super) struct Smtp {
    queue: mpsc::Sender<(Email, Letter)>,
    closing: CancellationToken,
    tasks: TaskTracker,
    pub(super) outcomes: Arc<Outcomes>,
}

#[derive(Debug)]
pub(super) struct QueueFull;

/// What sending needs.
struct Sender {
    relay: Relay,
    /// For one try, from the connection to the server's word that it has the mail.
    timeout: Duration,
    from: Mailbox,
    clock: Clock,
    /// Held for each try.
    sending: Semaphore,
    /// No mail is tried again once this is cancelled.
    closing: CancellationToken,
    outcomes: Arc<Outcomes>,
}

impl Smtp {
    /// Starts the sender for a site at `public_url`. It connects when there is something to send.
    pub(super) fn start(
        settings: &Mail,
        public_url: &str,
        clock: Clock,
    ) -> Result<Self, BootError> {
        let relay = Relay::of(settings, public_url).map_err(BootError::Setting)?;
        let timeout = Duration::from_secs(settings.timeout_s);
        let from =
            settings.from.parse().map_err(|_| BootError::Setting("mail.from: not an address"))?;
        let closing = CancellationToken::new();
        let sending = Semaphore::new(SENDING_MAX);
        let outcomes = Arc::<Outcomes>::default();
        let sender = Sender {
            relay,
            timeout,
            from,
            clock,
            sending,
            closing: closing.clone(),
            outcomes: Arc::clone(&outcomes),
        };
        let (queue, waiting) = mpsc::channel(QUEUED_MAX);
        let tasks = TaskTracker::new();
        tasks.spawn({
            let (sender, mut waiting, tasks) = (Arc::new(sender), waiting, tasks.clone());
            until_it_ends("mail", async move || sender.run(&mut waiting, &tasks).await)
        });
        Ok(Self { queue, closing, tasks, outcomes })
    }

    /// A permit for one mail that leaves `spared` permits free.
    pub(super) fn reserve(&self, spared: usize) -> Result<OwnedPermit<(Email, Letter)>, QueueFull> {
        if self.queue.capacity() <= spared {
            return Err(QueueFull);
        }
        self.queue.clone().try_reserve_owned().map_err(|_| QueueFull)
    }

    /// Takes no more mail, and gives what waits one try, until `deadline` at most.
    pub(super) async fn close(&self, deadline: Instant) {
        self.closing.cancel();
        self.tasks.close();
        if tokio::time::timeout_at(deadline, self.tasks.wait()).await.is_err() {
            tracing::error!("mail that waited was not sent before the end");
        }
    }
}

impl Sender {
    async fn run(
        self: &Arc<Self>,
        waiting: &mut mpsc::Receiver<(Email, Letter)>,
        tasks: &TaskTracker,
    ) {
        let under_way = Arc::new(Semaphore::new(UNDER_WAY_MAX));
        loop {
            let next = tokio::select! {
                biased;
                () = self.closing.cancelled(), if !waiting.is_closed() => {
                    waiting.close();
                    continue;
                }
                next = waiting.recv() => next,
            };
            let Some((to, letter)) = next else { return };
            let Ok(permit) = Arc::clone(&under_way).acquire_owned().await else { return };
            let Some(message) = self.compose(&to, letter) else {
                tracing::error!("a mail could not be composed");
                self.outcomes.failed();
                continue;
            };
            let this = Arc::clone(self);
            tasks.spawn(async move {
                this.deliver(&message).await;
                drop(permit);
            });
        }
    }

    /// A letter in its envelope. It says that nobody has written it (RFC 3834, section 5), so that
    /// nobody's absence answers it.
    fn compose(&self, to: &Email, letter: Letter) -> Option<Message> {
        let Letter { subject, text, html } = letter;
        let id = format!("<{}@{}>", Uuid::new_v4(), self.from.email.domain());
        let automatic = HeaderValue::new(
            HeaderName::new_from_ascii_str("Auto-Submitted"),
            "auto-generated".to_owned(),
        );
        Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to.as_str().parse().ok()?))
            .date(self.now())
            .message_id(Some(id))
            .raw_header(automatic)
            .subject(subject)
            .multipart(MultiPart::alternative_plain_html(text, html))
            .ok()
    }

    fn now(&self) -> SystemTime {
        let micros = u64::try_from(self.clock.now().0).unwrap_or_default();
        SystemTime::UNIX_EPOCH + Duration::from_micros(micros)
    }

    async fn deliver(&self, message: &Message) {
        let mut pause = PAUSE;
        for attempt in 1..=TRIES_MAX {
            let Ok(permit) = self.sending.acquire().await else { return };
            let sent = self.hand_over(message).await;
            drop(permit);
            match sent {
                Ok(()) => return self.outcomes.sent(),
                Err(failed)
                    if failed.is_permanent()
                        || attempt == TRIES_MAX
                        || self.closing.is_cancelled() =>
                {
                    let (code, why) = (failed.status(), failed.reason());
                    tracing::error!(attempt, smtp.status = code, why, "a mail was not sent");
                    return self.outcomes.failed();
                }
                Err(_) => {}
            }
            tokio::select! {
                () = self.closing.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
            }
            pause *= 3;
        }
    }

    /// One try. Each has a connection of its own: the next mail on one that was left in the middle
    /// would hear what was answered to this one.
    async fn hand_over(&self, message: &Message) -> Result<(), Failed> {
        let taken = async {
            let mut connection = self.relay.connect().await?;
            connection.send(message.envelope(), &message.formatted()).await?;
            Ok(connection)
        };
        let taken = timeout(self.timeout, taken).await.map_err(|_| Failed::Silent)?;
        let mut connection = taken.map_err(Failed::Told)?;
        // The server has it, however it parts.
        let _ = timeout(QUIT_TIMEOUT, connection.quit()).await;
        Ok(())
    }
}

/// Why a server did not take a mail.
enum Failed {
    /// It did not say anything in time.
    Silent,
    /// It said so, or the connection did.
    Told(smtp::Error),
}

impl Failed {
    fn is_permanent(&self) -> bool {
        matches!(self, Self::Told(error) if error.is_permanent())
    }

    /// The status that it answered with (RFC 5321, section 4.2).
    fn status(&self) -> Option<String> {
        match self {
            Self::Silent => None,
            Self::Told(error) => error.status().map(|status| status.to_string()),
        }
    }

    /// In words. What the server said itself may quote the address, and is left out.
    fn reason(&self) -> String {
        let Self::Told(error) = self else { return "it did not answer in time".to_owned() };
        let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        match cause {
            _ if error.is_timeout() => "it did not answer in time".to_owned(),
            _ if error.is_permanent() => "it refused".to_owned(),
            _ if error.is_transient() => "it refused for now".to_owned(),
            _ if error.is_tls() => "the connection could not be encrypted".to_owned(),
            Some(cause) => format!("the connection failed: {cause}"),
            None if error.is_response() => "its answer was none of a mail server".to_owned(),
            // What it does not offer, and what was asked for: in words of the library.
            None if error.is_client() => match error.source() {
                Some(cause) => format!("it does not do what the settings ask for: {cause}"),
                None => "it does not do what the settings ask for".to_owned(),
            },
            None => "the connection failed".to_owned(),
        }
    }
}
