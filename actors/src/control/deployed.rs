//! How many bytes an account deploys in ten minutes. What versions are made of is in no quota, and what no
//! version has any more is on the disk until the sweeper comes: whoever deploys in a loop would fill it.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use rookery_domain::{Error, ErrorCode, Result, id::HumanId};
use serde_json::json;
use tokio::time::Instant;

/// What was deployed counts for so long from the first of it: what it replaces is gone by then, or soon.
const WINDOW: Duration = Duration::from_secs(600);

/// Accounts that are counted before those whose window is over are forgotten.
const ACCOUNTS_MAX: usize = 4_096;

/// What accounts deployed lately.
#[derive(Debug, Default)]
pub(crate) struct DeployedBytes(Mutex<HashMap<HumanId, Deployed>>);

#[derive(Debug)]
struct Deployed {
    since: Instant,
    bytes: u64,
}

impl Deployed {
    fn rest(&self, now: Instant) -> Option<Duration> {
        WINDOW.checked_sub(now.duration_since(self.since)).filter(|rest| !rest.is_zero())
    }
}

impl DeployedBytes {
    /// Whether `account` may deploy more now, of `max` bytes, any number where that is 0. The deploy that
    /// goes beyond them is made, the next one is not.
    ///
    /// # Errors
    /// `rate_limited`, with the seconds until it may.
    pub(crate) fn check(&self, account: HumanId, max: u64) -> Result<()> {
        let accounts = self.0.lock();
        let Some(deployed) = accounts.get(&account).filter(|it| max > 0 && it.bytes >= max) else {
            return Ok(());
        };
        let Some(rest) = deployed.rest(Instant::now()) else { return Ok(()) };
        let message = format!("this account deploys at most {max} bytes in ten minutes");
        Err(Error::new(ErrorCode::RateLimited, message)
            .with_details(json!({"retry_after_s": rest.as_secs() + 1})))
    }

    /// Counts what `account` has deployed.
    pub(crate) fn add(&self, account: HumanId, bytes: usize) {
        let now = Instant::now();
        let mut accounts = self.0.lock();
        if accounts.len() >= ACCOUNTS_MAX {
            accounts.retain(|_, deployed| deployed.rest(now).is_some());
        }
        let deployed = accounts.entry(account).or_insert(Deployed { since: now, bytes: 0 });
        if deployed.rest(now).is_none() {
            *deployed = Deployed { since: now, bytes: 0 };
        }
        deployed.bytes += bytes as u64;
    }
}
