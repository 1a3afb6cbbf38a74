//! The cap on guessing the codes that humans type: a few wrong tries per network and minute.
//!
//! Time is what has passed in this process: a minute stays a minute when the clock is set.
//!
//! A try is counted when it begins and given back when it was right, so that a thousand at once
//! get no further than a thousand in turn. A code that was right a moment ago is no guess: it is
//! refused, but not counted.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use parking_lot::Mutex;
use rookery_domain::{Error, ErrorCode, Result, secret::SecretHash};

/// Wrong tries of one network within [`WINDOW`].
const WRONG_TRIES_MAX: usize = 5;
/// A wrong try counts for so long.
const WINDOW: Duration = Duration::from_secs(60);
/// Networks that are counted at a time. Above it, strangers have to wait.
const NETWORKS_MAX: usize = 65_536;
/// Spent codes that are remembered at a time.
const SPENT_MAX: usize = 16_384;

/// Wrong tries, and the codes spent lately.
#[derive(Default)]
pub(super) struct Guesses {
    /// Of each network, until when each of its tries counts, the oldest first; five at most.
    tries: Mutex<HashMap<u64, VecDeque<Duration>>>,
    spent: Mutex<HashMap<SecretHash, Duration>>,
}

/// A try that was let in. It counts as wrong unless it is given back.
pub(super) struct Attempt<'a> {
    guesses: &'a Guesses,
    network: u64,
    ends: Duration,
}

impl Guesses {
    /// Lets a try in, or tells to wait.
    pub(super) fn begin(&self, network: u64, now: Duration) -> Result<Attempt<'_>> {
        let mut tries = self.tries.lock();
        if tries.len() >= NETWORKS_MAX && !tries.contains_key(&network) {
            tries.retain(|_, tries| counts(tries, now));
            if tries.len() >= NETWORKS_MAX {
                return Err(refused(WINDOW));
            }
        }
        let mine = tries.entry(network).or_default();
        mine.retain(|ends| *ends > now);
        if let Some(oldest) = mine.front().filter(|_| mine.len() >= WRONG_TRIES_MAX) {
            return Err(refused(oldest.saturating_sub(now)));
        }
        let ends = now + WINDOW;
        mine.push_back(ends);
        Ok(Attempt { guesses: self, network, ends })
    }

    /// Remembers that a code was right, until it would have expired anyway.
    pub(super) fn remember_spent(&self, code: SecretHash, until: Duration) {
        let mut spent = self.spent.lock();
        if spent.len() < SPENT_MAX {
            spent.insert(code, until);
        }
    }

    /// Whether a code was right a moment ago.
    pub(super) fn was_spent(&self, code: SecretHash, now: Duration) -> bool {
        self.spent.lock().get(&code).is_some_and(|until| *until > now)
    }

    /// Forgets what no longer counts.
    pub(super) fn prune(&self, now: Duration) {
        self.tries.lock().retain(|_, tries| counts(tries, now));
        self.spent.lock().retain(|_, until| *until > now);
    }
}

impl Attempt<'_> {
    /// It was no wrong guess.
    pub(super) fn give_back(self) {
        if let Some(tries) = self.guesses.tries.lock().get_mut(&self.network)
            && let Some(at) = tries.iter().position(|ends| *ends == self.ends)
        {
            tries.remove(at);
        }
    }
}

/// Whether one of these tries counts now.
fn counts(tries: &VecDeque<Duration>, now: Duration) -> bool {
    tries.back().is_some_and(|ends| *ends > now)
}

fn refused(wait: Duration) -> Error {
    let retry_after_s = wait.as_secs() + 1;
    Error::new(ErrorCode::RateLimited, "too many wrong codes from this address in one minute")
        .with_details(serde_json::json!({ "retry_after_s": retry_after_s }))
}
