//! When an app was last asked for, and whether its decisions took long lately. What is done about
//! either is the workers' and the requests'.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::app::aside::SLOW_FOR;

/// The use of one app. All times are since the process started.
#[derive(Default)]
pub(crate) struct UseClock {
    /// When somebody last asked for the app, in milliseconds.
    used_ms: AtomicU64,
    /// Until when its decisions are made aside, in milliseconds.
    slow_until_ms: AtomicU64,
}

impl UseClock {
    /// Notes that somebody asks for the app now.
    pub(crate) fn touch(&self, now: Duration) {
        self.used_ms.store(now.as_millis() as u64, Ordering::Relaxed);
    }

    /// How long ago somebody last asked for the app.
    pub(crate) fn idle_for(&self, now: Duration) -> Duration {
        now.saturating_sub(Duration::from_millis(self.used_ms.load(Ordering::Relaxed)))
    }

    /// Notes that a decision was slow.
    pub(crate) fn was_slow(&self, now: Duration) {
        self.slow_until_ms.store((now + SLOW_FOR).as_millis() as u64, Ordering::Relaxed);
    }

    /// Whether one was slow within [`SLOW_FOR`].
    pub(crate) fn is_slow(&self, now: Duration) -> bool {
        self.slow_until_ms.load(Ordering::Relaxed) > now.as_millis() as u64
    }
}
