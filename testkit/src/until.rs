//! Waiting for what happens by itself: turn by turn, whatever the clock of the test says, and not
//! for ever.

use std::time::{Duration, Instant};

/// Longest wait. What takes so long never comes, on a busy machine too.
const WAIT_MAX: Duration = Duration::from_secs(120);
/// Turns one right after the other. What takes more of them waits for another thread or process,
/// which needs the core.
const BUSY_TURNS: usize = 300;
/// How long each later turn leaves the core to others.
const REST: Duration = Duration::from_millis(1);

/// Waits until `done`, and lets other tasks run meanwhile.
///
/// # Panics
/// With the name of what is awaited when it has not come after two minutes of real time, whatever
/// the clock of the test says.
pub async fn until(awaited: &str, mut done: impl FnMut() -> bool) {
    until_async(awaited, async || done()).await;
}

/// [`until`] for what has to be asked for.
///
/// # Panics
/// As [`until`].
pub async fn until_async(awaited: &str, mut done: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    let mut turns = 0;
    while !done().await {
        assert!(begun.elapsed() < WAIT_MAX, "waited for nothing: {awaited}");
        turns += 1;
        if turns > BUSY_TURNS {
            // The thread itself: a timer of the runtime would move a clock that stands still.
            std::thread::sleep(REST);
        }
        tokio::task::yield_now().await;
    }
}
