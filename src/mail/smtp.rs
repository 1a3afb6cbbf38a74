//! Mail over SMTP: a bounded queue, a few connections at a time, a few tries each. What fails for
//! good is logged without address and body; whoever waited for the mail asks for another.

use std::{sync::Arc, time::Duration};

use lettre::{
    AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor,
    message::{Mailbox, MultiPart},
};
use rookery_domain::email::Email;
use tokio::sync::{Semaphore, mpsc};

use super::Letter;
use crate::boot::BootError;

/// Mails that may wait.
const QUEUED_MAX: usize = 1_000;
/// Mails that are sent at a time.
const SENDING_MAX: usize = 4;
/// Tries of one mail.
const TRIES_MAX: u32 = 4;
/// The pause before the second try; it triples with each further one.
const PAUSE: Duration = Duration::from_secs(2);
/// For one command of the SMTP dialogue.
const TIMEOUT: Duration = Duration::from_secs(20);

type Transport = AsyncSmtpTransport<Tokio1Executor>;

/// The queue to the SMTP server.
#[derive(Clone)]
pub(super) struct Smtp(mpsc::Sender<(Email, Letter)>);

/// The queue is full.
#[derive(Debug)]
pub(super) struct QueueFull;

impl Smtp {
    /// Starts the sender. It connects when there is something to send.
    pub(super) fn start(url: &str, from: &str) -> Result<Self, BootError> {
        // The cause may quote the address, and the address may hold a password.
        let wrong = || BootError::Setting("mail.smtp_url: not the address of an SMTP server");
        let transport = Transport::from_url(url).map_err(|_| wrong())?;
        let transport = transport.timeout(Some(TIMEOUT)).build();
        let from: Mailbox =
            from.parse().map_err(|_| BootError::Setting("mail.from: not an address"))?;
        let (sender, queue) = mpsc::channel(QUEUED_MAX);
        tokio::spawn(send_all(queue, transport, from));
        Ok(Self(sender))
    }

    pub(super) fn send(&self, to: Email, letter: Letter) -> Result<(), QueueFull> {
        self.0.try_send((to, letter)).map_err(|_| QueueFull)
    }
}

async fn send_all(mut queue: mpsc::Receiver<(Email, Letter)>, transport: Transport, from: Mailbox) {
    let slots = Arc::new(Semaphore::new(SENDING_MAX));
    while let Some((to, letter)) = queue.recv().await {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let Some(message) = compose(&from, &to, letter) else {
            tracing::error!("a mail could not be composed");
            continue;
        };
        let transport = transport.clone();
        tokio::spawn(async move {
            send_one(&transport, &message).await;
            drop(slot);
        });
    }
}

fn compose(from: &Mailbox, to: &Email, letter: Letter) -> Option<Message> {
    let Letter { subject, text, html } = letter;
    Message::builder()
        .from(from.clone())
        .to(Mailbox::new(None, to.as_str().parse().ok()?))
        .subject(subject)
        .multipart(MultiPart::alternative_plain_html(text, html))
        .ok()
}

async fn send_one(transport: &Transport, message: &Message) {
    let mut pause = PAUSE;
    for attempt in 1..=TRIES_MAX {
        match transport.send(message.clone()).await {
            Ok(_) => return,
            Err(error) if error.is_permanent() || attempt == TRIES_MAX => {
                let code = error.status().map(|status| status.to_string());
                tracing::error!(attempt, smtp.status = code, "a mail was not sent");
                return;
            }
            Err(_) => tokio::time::sleep(pause).await,
        }
        pause *= 3;
    }
}
