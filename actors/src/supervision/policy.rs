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
        let previous_wait = self.wait();
        if self.last.is_some_and(|last| now.saturating_sub(last) > HEALTHY_AFTER + previous_wait) {
            self.crashes = 0;
        }
        self.last = Some(now);
        self.crashes += 1;
        if self.crashes <= FREE_CRASHES {
            return Verdict::Restart;
        }
        if previous_wait >= BACKOFF_MAX {
            return Verdict::Quarantine;
        }
        Verdict::Backoff(self.wait().mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0))
    }

    /// Crashes in the present streak.
    #[must_use]
    pub const fn crashes(&self) -> u32 {
        self.crashes
    }

    /// The full wait that the latest crash earned.
    fn wait(&self) -> Duration {
        match self.crashes.checked_sub(FREE_CRASHES + 1) {
            None => Duration::ZERO,
            Some(doublings) => Duration::from_secs(1 << doublings.min(6)).min(BACKOFF_MAX),
        }
    }
}
