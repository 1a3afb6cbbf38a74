//! What is wrong, in the order of how much it matters: the first thing an operator reads. Judged
//! from the overview alone, by bounds that have names.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    overview::Overview,
    view::{bytes, number, time},
};

/// 99th percentile of the mailbox wait above which apps are slow, in seconds.
const WAIT_P99_MAX: f64 = 0.25;
/// How long a long job waits for its turn where there are too many of them, in seconds.
const LONG_JOB_WAIT_MAX: f64 = 1.0;
/// How long a group waits for its commit where the writer has too much to do, in seconds.
const COMMIT_WAIT_MAX: f64 = 1.0;
/// Mails in a row from which on it is the mail server that does not take them, not an address that is
/// none.
const LOST_MAILS_MIN: u64 = 3;
/// 99th percentile of COMMIT above which the disk is slow, in seconds.
const COMMIT_P99_MAX: f64 = 0.1;
/// Lag of the event loop above which the CPUs are too few, in seconds.
const LAG_MAX: f64 = 0.25;
/// Share of the memory budget above which apps rest because of it.
const MEMORY_SHARE_MAX: f64 = 0.98;

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// What.
    pub what: String,
    /// The figure that says so, or what follows from it.
    pub why: String,
    /// The page that tells more.
    pub page: String,
}

/// What is wrong in this second, worst first.
#[must_use]
pub fn problems(seen: &Overview) -> Vec<Problem> {
    let (apps, messages, writer) = (&seen.apps, &seen.messages, &seen.writer);
    let above = |value: Option<f64>, bound: f64| value.filter(|value| *value > bound);
    let mut found = Vec::new();
    let mut add = |is_so: bool, what: &str, why: String, page: &str| {
        if is_so {
            found.push(Problem { what: what.to_owned(), why, page: page.to_owned() });
        }
    };
    let why = "nothing can be made durable; /ready says more".to_owned();
    add(!writer.ok && !seen.draining, "the writer does not commit", why, "/ops/tree");
    let why = "nobody who needs a key or a session is answered meanwhile".to_owned();
    add(seen.accounts_loading, "accounts are being loaded", why, "/ops/tree");
    if let (Some(why), true) = (&seen.not_ready, writer.ok && !seen.accounts_loading) {
        add(!seen.draining, "not ready", why.clone(), "/ops/tree");
    }
    add(seen.draining, "draining", "no new work is taken".to_owned(), "/ops");
    let why = format!("{} down until somebody lifts it", number(apps.quarantined as f64));
    add(apps.quarantined > 0, "apps are quarantined", why, "/ops/restarts");
    let why = format!("{} waiting to start again", number(apps.restarting as f64));
    add(apps.restarting > 0, "apps crash", why, "/ops/restarts");
    let failed = seen.http.failed_per_second;
    add(failed > 0.0, "answers fail", format!("{} 5xx/s", number(failed)), "/ops/hot?by=errors");
    let failed = messages.failed_per_second;
    let why = format!("{}/s are not taken or fail", number(failed));
    add(failed > 0.0, "messages fail", why, "/ops/hot?by=errors");
    if let Some(wait) = above(messages.wait_p99_seconds, WAIT_P99_MAX) {
        add(true, "messages wait long", format!("p99 {}", time(wait)), "/ops/hot?by=wait");
    }
    let (waiting, oldest) = (seen.long_jobs_waiting as f64, seen.long_job_wait_seconds);
    let why = format!("{} wait, the oldest for {}", number(waiting), time(oldest));
    add(oldest > LONG_JOB_WAIT_MAX, "long jobs wait for their turn", why, "/ops/hot");
    let lost = seen.mails_failed_in_a_row;
    let why = format!("{} in a row were given up; the log says why", number(lost as f64));
    add(lost >= LOST_MAILS_MIN, "mail is not sent", why, "/ops");
    let why = format!("{} wait, the oldest for {}", writer.queued, time(writer.wait_seconds));
    add(writer.wait_seconds > COMMIT_WAIT_MAX, "commits wait for the writer", why, "/ops/hot");
    if let Some(commit) = above(writer.commit_p99_seconds, COMMIT_P99_MAX) {
        add(true, "the disk is slow", format!("COMMIT p99 {}", time(commit)), "/ops");
    }
    let lag = seen.event_loop_lag_seconds;
    add(lag > LAG_MAX, "the CPUs are too few", format!("event loop {} late", time(lag)), "/ops");
    let why = format!("{}: a reader holds it open", bytes(writer.wal_bytes as f64));
    add(writer.wal_alarm, "the log grows", why, "/ops");
    let memory = &seen.memory;
    let full = memory.resident_bytes as f64 > memory.budget_bytes as f64 * MEMORY_SHARE_MAX;
    let why = format!("{}: apps rest early", bytes(memory.resident_bytes as f64));
    add(full, "memory is at its budget", why, "/ops/hot");
    found
}
