//! When a crashed app may start again: per app, so that neighbours never notice.
//!
//! Only a crash counts (a panic: a bug), never a failed commit or a full disk. The first crashes
//! of a streak restart at once; from the third within a minute each one backs off, 1 s doubling
//! to 60 s, with jitter; after that the app is quarantined until somebody lifts it. A minute
//! without a crash ends the streak. Time comes in as an argument.

use std::time::Duration;

/// Crashes that restart at once.
const FREE_CRASHES: u32 = 2;
/// Longest wait before a restart; one more crash behind it means quarantine.
const BACKOFF_MAX: Duration = Duration::from_secs(60);
/// A life of this length without a crash ends the streak.
const HEALTHY_AFTER: Duration = Duration::from_secs(60);

/// What is to happen after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Start again now.
    Restart,
    /// Start again when this time has passed and somebody asks for the app.
    Backoff(Duration),
    /// Do not start again.
    Quarantine,
}

/// The crashes of one app, as far as they still matter.
#[derive(Debug, Clone, Default)]
pub struct CrashStreak {
    crashes: u32,
    last: Option<Duration>,
}

impl CrashStreak {
    /// Counts a crash at `now` (time since process start). `jitter` in 0..1 spreads restarts of
    /// apps that crashed together over the second half of the wait.
    pub fn crashed(&mut self, now: Duration, jitter: f64) -> Verdict {
        self.crashes = self.crashes(now) + 1;
        self.last = Some(now);
        if self.crashes <= FREE_CRASHES {
            return Verdict::Restart;
        }
        if self.is_quarantined() {
            return Verdict::Quarantine;
        }
        Verdict::Backoff(wait(self.crashes).mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0))
    }

    /// Crashes in the streak at `now`: none once it has ended by itself. A quarantine does not.
    #[must_use]
    pub fn crashes(&self, now: Duration) -> u32 {
        let healthy_after = HEALTHY_AFTER + wait(self.crashes);
        let was_healthy = self.last.is_some_and(|last| now.saturating_sub(last) > healthy_after);
        if was_healthy && !self.is_quarantined() { 0 } else { self.crashes }
    }

    /// Whether the crash before the latest one earned the longest wait already.
    fn is_quarantined(&self) -> bool {
        wait(self.crashes.saturating_sub(1)) >= BACKOFF_MAX
    }
}

/// The full wait that so many crashes earn.
fn wait(crashes: u32) -> Duration {
    match crashes.checked_sub(FREE_CRASHES + 1) {
        None => Duration::ZERO,
        Some(doublings) => Duration::from_secs(1 << doublings.min(6)).min(BACKOFF_MAX),
    }
}
