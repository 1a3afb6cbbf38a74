//! Decisions that may take long leave the event loop: they have permits, no more than the machine
//! has processors, and a bound of time.
//!
//! Most decisions take microseconds, and the actors of all apps share the threads that they are made on.
//! A large row against a schema of many branches takes up to 0.4 s, a batch or a deployment has many
//! rows, and two of them would hold up every app.

use std::time::Duration;

use rookery_domain::{
    Error, Result,
    schema::{CompiledSchema, Misfit},
};
use serde_json::Value;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::block_in_place,
    time::Instant,
};

use super::message::{AppOp, Op};

/// A request of this many bytes or more may take long to decide.
const BYTES_MIN: usize = 4 << 10;
/// A value that takes so many steps to hold against its schema, of a few nanoseconds each, may take long
/// to decide.
const STEPS_MIN: u64 = 256 << 10;
/// A batch of this many entries or more may take long to decide.
const ENTRIES_MIN: usize = 32;
/// A decision that took longer was slow, or the machine was busy: only [`SLOW_STREAK`] of them in a row
/// make the app a slow one.
const SLOW: Duration = Duration::from_millis(2);
/// Decisions above [`SLOW`] in a row that make an app a slow one.
pub(crate) const SLOW_STREAK: u32 = 3;
/// A single decision that took longer makes the app a slow one, however busy the machine.
const VERY_SLOW: Duration = Duration::from_millis(100);
/// How long a slow app has all of its decisions made aside.
pub(crate) const SLOW_FOR: Duration = Duration::from_secs(60);

/// How long a batch may be decided before the rest of it is refused. What one row may take is bounded
/// by its schema (decision 18).
const BATCH_MAX: Duration = Duration::from_secs(2);
/// How long the rows of an app may be checked for one deployment.
const DEPLOY_MAX: Duration = Duration::from_secs(5);
/// How long the rows of a collection may be read for one page of a list.
const SCAN_MAX: Duration = Duration::from_secs(2);

/// Whether deciding `op`, whose request weighs `bytes`, may take long.
pub(crate) fn may_take_long(op: &Op, bytes: usize) -> bool {
    match op {
        Op::BatchWrite { items, .. } => items.len() >= ENTRIES_MIN || bytes >= BYTES_MIN,
        Op::BatchDelete { items, .. } => items.len() >= ENTRIES_MIN,
        Op::App(AppOp::Deploy(_) | AppOp::Prune | AppOp::PurgeTrash(_) | AppOp::TrimTrash(_)) => {
            true
        }
        _ => bytes >= BYTES_MIN,
    }
}

/// The streak of slow decisions after `before` of them and one that took `took`.
pub(crate) fn streak(before: u32, took: Duration) -> u32 {
    if took >= VERY_SLOW {
        SLOW_STREAK
    } else if took >= SLOW {
        (before + 1).min(SLOW_STREAK)
    } else {
        0
    }
}

/// Runs `decide` so that the other tasks of this thread go on elsewhere.
pub(crate) fn blocking<T>(decide: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        // It has no other thread to go on with.
        Ok(RuntimeFlavor::CurrentThread) | Err(_) => decide(),
        Ok(_) => block_in_place(decide),
    }
}

/// Holds `value` against `schema`, beside the event loop where that takes long: a small request may
/// change a large row, and a short list may meet a schema of many branches. It needs no permit, as the
/// decision is under way; an app where that happens again is a slow one, whose decisions do.
///
/// # Errors
/// [`Misfit`].
pub(crate) fn validate(schema: &CompiledSchema, value: &Value) -> std::result::Result<(), Misfit> {
    let steps = schema.steps(value);
    let validate = || schema.validate_of(value, steps);
    if steps < STEPS_MIN { validate() } else { blocking(validate) }
}

/// When the time ends in which one request's rows may be looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    ends: Instant,
    /// What is said once it is over.
    too_long: fn() -> String,
    /// And what can be done about it.
    hint: &'static str,
}

/// What to do about rows whose schema takes long.
const SEND_FEWER: &str = "Send fewer rows at a time, or declare a simpler schema. The same again helps where the service is busy.";
/// What to do about a list that takes long.
const ASK_FOR_LESS: &str = "Ask for fewer tests in its filter, or sort by created_at, which is the order that the rows are kept in. \
     The same again helps where the service is busy.";

impl Limit {
    /// That of a batch which begins now.
    pub(crate) fn of_batch() -> Self {
        Self::from_now(BATCH_MAX, SEND_FEWER, || {
            let seconds = BATCH_MAX.as_secs();
            format!("deciding the rows of this batch takes more than {seconds} seconds")
        })
    }

    /// That of a deployment which begins now.
    pub(crate) fn of_deploy() -> Self {
        Self::from_now(DEPLOY_MAX, SEND_FEWER, || {
            let seconds = DEPLOY_MAX.as_secs();
            format!("checking these rows against their schema takes more than {seconds} seconds")
        })
    }

    /// That of a page of a list, which begins now.
    pub(crate) fn of_scan() -> Self {
        Self::from_now(SCAN_MAX, ASK_FOR_LESS, || {
            let seconds = SCAN_MAX.as_secs();
            format!("reading this collection for the list takes more than {seconds} seconds")
        })
    }

    fn from_now(allowed: Duration, hint: &'static str, too_long: fn() -> String) -> Self {
        Self { ends: Instant::now() + allowed, too_long, hint }
    }

    /// To be asked before each row.
    ///
    /// # Errors
    /// `unavailable` once it is over.
    pub(crate) fn check(self) -> Result<()> {
        if Instant::now() < self.ends {
            return Ok(());
        }
        Err(Error::unavailable((self.too_long)()).with_hint(self.hint))
    }
}
