//! What a bounded round did, and where the next one goes on. So apps that come first, and apps that
//! fail, keep no others waiting.

use std::time::Duration;

use rookery_domain::id::AppId;
use rookery_storage::{apps::purge::DueApp, expiry::BlobPlace, trash::DuePlace};
use tokio::time::Instant;

/// Pause after a round that a bound cut short. Work that nothing else bounds must keep up with its
/// source; the pause is for the other writers.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// Pause after a round in which something failed that is not to wait for the usual time. It doubles with
/// each such round up to the usual one: what fails for good is not looked at all the time.
pub(super) const RETRY_PAUSE: Duration = Duration::from_secs(5);

/// What a round did.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Round {
    /// Things that it dealt with.
    pub(super) done: u64,
    /// A bound has ended it: there may be more.
    pub(super) more: bool,
    /// Something that nobody should wait for could not be done: it is tried again soon.
    pub(super) failed: bool,
}

impl Round {
    /// One in which nothing failed.
    pub(super) const fn of(done: u64, more: bool) -> Self {
        Self { done, more, failed: false }
    }
}

impl std::ops::AddAssign for Round {
    fn add_assign(&mut self, part: Self) {
        self.done += part.done;
        self.more |= part.more;
        self.failed |= part.failed;
    }
}

/// Where the next round goes on when the last one ended before it had looked at everything.
#[derive(Default)]
pub(super) struct Positions {
    /// The dormant app that row retention looked at last.
    pub(super) retention: Option<AppId>,
    /// The row of the trash that the sweeper looked at last.
    pub(super) trash: Option<DuePlace>,
    /// The content of an asset that the sweeper looked at last.
    pub(super) blobs: Option<BlobPlace>,
    /// Apps whose destruction was cut short.
    pub(super) marked: Tour<DueApp>,
    /// Apps whose time in the trash is over.
    pub(super) due: Tour<DueApp>,
    /// Apps with too much in their trash.
    pub(super) overfull: Tour,
    /// Apps with too much in their feed.
    pub(super) feeds: Tour,
}

/// A way through all apps in a fixed order, that of their ids if nothing else is said, a page in each
/// round.
pub(super) struct Tour<P = AppId> {
    /// The app that was looked at last.
    pub(super) after: Option<P>,
    /// An app on the way had more than one visit deals with.
    pub(super) again: bool,
    /// Until when nobody has to go round.
    resting_until: Option<Instant>,
}

impl<P> Default for Tour<P> {
    fn default() -> Self {
        Self { after: None, again: false, resting_until: None }
    }
}

impl<P> Tour<P> {
    /// Lets some time pass before the next tour.
    pub(super) fn rest(&mut self, time: Duration) {
        self.resting_until = Some(Instant::now() + time);
    }

    /// Has the next round begin a tour, whenever the last one ended.
    pub(super) const fn wake(&mut self) {
        self.resting_until = None;
    }

    /// Whether the last tour ended only a short time ago.
    pub(super) fn is_resting(&self) -> bool {
        self.resting_until.is_some_and(|until| until > Instant::now())
    }

    /// Ends a page of so many apps; returns whether to go on soon. Apps that failed are no reason
    /// to go round again: they are met on the next tour, whenever that is.
    pub(super) fn end_page(&mut self, apps: usize, limit: u32) -> bool {
        if apps >= limit as usize {
            return true;
        }
        self.after = None;
        std::mem::take(&mut self.again)
    }
}
