//! What a rule costs, in CPU time of the thread that runs it: a busy machine changes nothing about it.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Runs `work`, which may take so much of a CPU.
///
/// # Panics
/// When it took more.
pub(crate) fn within<T>(bound: Duration, work: impl FnOnce() -> T) -> T {
    let before = spent();
    let made = work();
    let took = spent().saturating_sub(before);
    assert!(took < bound, "{took:?} of CPU time");
    made
}

fn spent() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock of this thread").into()
}
