//! The pause between two steps of a long write, which leaves most of the time to other commits.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The pause is this many times as long as the step before it.
const YIELD_TIMES: u32 = 4;
/// The longest pause, however long the step took.
const YIELD_MAX: Duration = Duration::from_secs(10);

/// Pauses after a step that `began` then, so that the commits which waited for it go through.
pub(crate) async fn yield_to_writers(began: Instant) {
    sleep((began.elapsed() * YIELD_TIMES).min(YIELD_MAX)).await;
}
