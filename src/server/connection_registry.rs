//! Room for newcomers: while few places are free, connections that idle give theirs up.
//!
//! What is not here: connections that have not said anything yet; `listener` does not wait for those.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::stream::Owed;

/// The connections of one listener that may be told to leave.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// By their numbers, so in the order in which they came.
    guests: Mutex<BTreeMap<u64, Guest>>,
    next: AtomicU64,
}

#[derive(Debug)]
struct Guest {
    owed: Owed,
    leave: CancellationToken,
    /// [`Owed::idles_at`] at the last look.
    idled_at: Option<usize>,
}

/// A connection's place in the crowd, until it is dropped.
#[derive(Debug)]
pub(super) struct Stay {
    crowd: Arc<Crowd>,
    number: u64,
}

impl Crowd {
    /// Takes in a connection that owes `owed`, and is told to go by `leave`.
    pub(super) fn enter(self: &Arc<Self>, owed: Owed, leave: CancellationToken) -> Stay {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.guests.lock().insert(number, Guest { owed, leave, idled_at: None });
        Stay { crowd: Arc::clone(self), number }
    }

    /// Looks at everybody, and tells those to leave who have idled since the last look: at most
    /// `places`, first who came first.
    pub(super) fn make_room(&self, places: usize) {
        let mut left = places;
        for guest in self.guests.lock().values_mut() {
            let idles_at = guest.owed.idles_at();
            let has_idled = idles_at.is_some() && idles_at == guest.idled_at;
            guest.idled_at = idles_at;
            if has_idled && left > 0 && !guest.leave.is_cancelled() {
                guest.leave.cancel();
                left -= 1;
            }
        }
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.crowd.guests.lock().remove(&self.number);
    }
}
