//! The development mailbox: the mail of a server without SMTP. Kept in memory within a bound, and
//! printed to the terminal when there is one (a log would keep the links it holds).

use std::{
    collections::VecDeque,
    io::{self, IsTerminal as _, Write as _},
    mem,
};

use parking_lot::Mutex;
use rookery_domain::{Timestamp, email::Email, time::Clock};
use serde::Serialize;
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder};

use super::Letter;

/// Mails that are kept; the oldest goes first.
const MAILS_MAX: usize = 1_000;
/// Mails that wait for a terminal; further ones are not printed.
const PRINTED_MAX: usize = 100;

/// Mails, and the clock that dates them.
pub struct Mailbox {
    clock: Clock,
    mails: Mutex<VecDeque<StoredMail>>,
    terminal: Option<NonBlocking>,
}

/// A mail in the mailbox.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct StoredMail {
    /// The recipient.
    pub to: Email,
    /// The subject.
    pub subject: String,
    /// The body as text.
    pub text: String,
    /// The body as HTML.
    pub html: String,
    /// When it was sent.
    pub sent_at: Timestamp,
}

impl Mailbox {
    /// An empty one.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, mails: Mutex::default(), terminal: terminal() }
    }

    pub(super) fn put(&self, to: &Email, letter: Letter) {
        self.print(to, &letter);
        let Letter { subject, text, html } = letter;
        let mail = StoredMail { to: to.clone(), subject, text, html, sent_at: self.clock.now() };
        let mut mails = self.mails.lock();
        mails.truncate(MAILS_MAX - 1);
        mails.push_front(mail);
    }

    fn print(&self, to: &Email, letter: &Letter) {
        if let Some(terminal) = &self.terminal {
            let mail = format!("\nMail to {to}: {}\n\n{}\n", letter.subject, letter.text);
            // A terminal that went away is no reason to lose the mail.
            let _ = terminal.clone().write_all(mail.as_bytes());
        }
    }

    /// Mails to `to`, or all of them, newest first.
    #[must_use]
    pub fn list(&self, to: Option<&Email>) -> Vec<StoredMail> {
        let mails = self.mails.lock();
        mails.iter().filter(|mail| to.is_none_or(|to| mail.to == *to)).cloned().collect()
    }
}

/// Standard output, where it is a terminal, through a queue and a thread of its own: a terminal may be
/// stopped, and nobody waits for it.
fn terminal() -> Option<NonBlocking> {
    let out = io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let queue = NonBlockingBuilder::default().buffered_lines_limit(PRINTED_MAX);
    let (terminal, guard) = queue.thread_name("mailbox").finish(out);
    // Whoever drops it waits for the terminal. What is not printed when the process ends is not missed.
    mem::forget(guard);
    Some(terminal)
}
