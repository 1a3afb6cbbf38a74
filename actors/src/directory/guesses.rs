//! The cap on guessing the codes that humans type: a few wrong tries per network and minute.
//!
//! A try is counted when it begins and given back when it was right, so that a thousand at once
//! get no further than a thousand in turn. A code that was right a moment ago is no guess: it is
//! refused, but not counted.

use std::collections::HashMap;

use parking_lot::Mutex;
use rookery_domain::{Error, ErrorCode, Result, Timestamp, secret::SecretHash};

/// Wrong tries of one network within [`WINDOW_S`].
const WRONG_TRIES_MAX: u32 = 5;
/// Seconds that wrong tries count for.
const WINDOW_S: i64 = 60;
/// Networks that are counted at a time. Above it, strangers have to wait.
const NETWORKS_MAX: usize = 65_536;
/// Spent codes that are remembered at a time.
const SPENT_MAX: usize = 16_384;

/// Wrong tries, and the codes spent lately.
#[derive(Default)]
pub(super) struct Guesses {
    tries: Mutex<HashMap<u64, Tries>>,
    spent: Mutex<HashMap<SecretHash, Timestamp>>,
}

struct Tries {
    count: u32,
    ends: Timestamp,
}

/// A try that was let in. It counts as wrong unless it is given back.
pub(super) struct Attempt<'a> {
    guesses: &'a Guesses,
    network: u64,
}

impl Guesses {
    /// Lets a try in, or tells to wait.
    pub(super) fn begin(&self, network: u64, now: Timestamp) -> Result<Attempt<'_>> {
        let mut tries = self.tries.lock();
        if tries.len() >= NETWORKS_MAX && !tries.contains_key(&network) {
            tries.retain(|_, tries| tries.ends > now);
            if tries.len() >= NETWORKS_MAX {
                return Err(refused(WINDOW_S));
            }
        }
        let fresh = || Tries { count: 0, ends: now.plus_seconds(WINDOW_S) };
        let mine = tries.entry(network).or_insert_with(fresh);
        if mine.ends <= now {
            *mine = fresh();
        }
        if mine.count >= WRONG_TRIES_MAX {
            return Err(refused(mine.ends.seconds_since(now) + 1));
        }
        mine.count += 1;
        Ok(Attempt { guesses: self, network })
    }

    /// Remembers that a code was right, until it would have expired anyway.
    pub(super) fn remember_spent(&self, code: SecretHash, until: Timestamp) {
        let mut spent = self.spent.lock();
        if spent.len() < SPENT_MAX {
            spent.insert(code, until);
        }
    }

    /// Whether a code was right a moment ago.
    pub(super) fn was_spent(&self, code: SecretHash, now: Timestamp) -> bool {
        self.spent.lock().get(&code).is_some_and(|until| *until > now)
    }

    /// Forgets what no longer counts.
    pub(super) fn prune(&self, now: Timestamp) {
        self.tries.lock().retain(|_, tries| tries.ends > now);
        self.spent.lock().retain(|_, until| *until > now);
    }
}

impl Attempt<'_> {
    /// It was no wrong guess.
    pub(super) fn give_back(self) {
        if let Some(tries) = self.guesses.tries.lock().get_mut(&self.network) {
            tries.count = tries.count.saturating_sub(1);
        }
    }
}

fn refused(retry_after_s: i64) -> Error {
    Error::new(ErrorCode::RateLimited, "too many wrong codes from this address: wait a minute")
        .with_details(serde_json::json!({ "retry_after_s": retry_after_s }))
}
