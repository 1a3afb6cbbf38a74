//! What writes much at once lets commits through behind each step: most of the time is theirs.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How many times as long as a step of its own took it lets writers go first.
const YIELD_TIMES: u32 = 4;
/// The longest that it waits, however long the step took.
const YIELD_MAX: Duration = Duration::from_secs(10);

/// Lets commits through that waited for a step that `began` then.
pub(crate) async fn yield_to_writers(began: Instant) {
    sleep((began.elapsed() * YIELD_TIMES).min(YIELD_MAX)).await;
}
