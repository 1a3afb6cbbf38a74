//! Who waits for an app's next event: long-polls and event streams.
//!
//! A waiter registers first and looks at the published state after that, so no event slips
//! between the two. Waking is paced: a crowd is woken a moment later and in slices, so that the
//! request which caused the event is answered before the crowd takes all cores.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Waiters woken at once; a larger crowd is woken in slices of this size.
const WAKE_SLICE: usize = 64;

/// How long a larger crowd waits, so that the cause's own answer reaches its client first.
const HEAD_START: Duration = Duration::from_millis(1);

/// The waiters of one app.
#[derive(Default)]
pub(crate) struct Hub {
    waiting: Mutex<Vec<oneshot::Sender<()>>>,
    present: AtomicUsize,
}

/// A request that follows the feed. While one is present the app does not hibernate.
pub(crate) struct Presence(Arc<Hub>);

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.present.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Hub {
    /// Counts a follower for as long as the returned guard lives.
    pub(crate) fn enter(self: &Arc<Self>) -> Presence {
        self.present.fetch_add(1, Ordering::AcqRel);
        Presence(self.clone())
    }

    /// Followers right now.
    pub(crate) fn present(&self) -> usize {
        self.present.load(Ordering::Acquire)
    }

    /// Registers for the next publication. Completes (or fails, which means the same) when
    /// something was published after this call, or a commit came to nothing.
    pub(crate) fn next(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        // Waiters whose client left stay until the next wake, no more of them than followers and a
        // slice.
        if waiting.len() > 2 * self.present() + WAKE_SLICE {
            waiting.retain(|waiter| !waiter.is_closed());
        }
        waiting.push(sender);
        receiver
    }

    /// Wakes everybody who registered before this call.
    pub(crate) fn wake(&self) {
        let mut crowd = std::mem::take(&mut *self.waiting.lock());
        if crowd.len() <= WAKE_SLICE {
            wake_slice(crowd.drain(..));
            return;
        }
        tokio::spawn(async move {
            tokio::time::sleep(HEAD_START).await;
            while !crowd.is_empty() {
                let rest = crowd.split_off(crowd.len().min(WAKE_SLICE));
                wake_slice(crowd.drain(..));
                crowd = rest;
                tokio::task::yield_now().await;
            }
        });
    }
}

fn wake_slice(slice: impl Iterator<Item = oneshot::Sender<()>>) {
    for waiter in slice {
        // A waiter that left has nothing to hear.
        let _ = waiter.send(());
    }
}
