//! Room for newcomers: while few permits are free, connections that let the server wait give theirs up: those
//! that idle, and those whose head does not come to its end.
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

use super::stream::{Outstanding, Waits};

/// The connections of one listener that may be told to leave.
#[derive(Debug, Default)]
pub(super) struct ConnectionRegistry {
    /// By their numbers, so in the order in which they came.
    registered: Mutex<BTreeMap<u64, Registered>>,
    next: AtomicU64,
}

#[derive(Debug)]
struct Registered {
    outstanding: Outstanding,
    leave: CancellationToken,
    /// [`Outstanding::waits`] at the last look.
    waited: Option<Waits>,
}

/// A connection's permit among them, until it is dropped.
#[derive(Debug)]
pub(super) struct Registration {
    registry: Arc<ConnectionRegistry>,
    number: u64,
}

impl ConnectionRegistry {
    /// Registers a connection with what it still owes, which is told to go by `leave`.
    pub(super) fn enter(
        self: &Arc<Self>,
        outstanding: Outstanding,
        leave: CancellationToken,
    ) -> Registration {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.registered.lock().insert(number, Registered { outstanding, leave, waited: None });
        Registration { registry: Arc::clone(self), number }
    }

    /// Looks at everybody, and tells those to leave who have let the server wait since the last look: at most
    /// `permits`, first who came first.
    pub(super) fn make_room(&self, permits: usize) {
        let mut left = permits;
        for one in self.registered.lock().values_mut() {
            let waits = one.outstanding.waits();
            let has_waited = waits.is_some() && waits == one.waited;
            one.waited = waits;
            if has_waited && left > 0 && !one.leave.is_cancelled() {
                one.leave.cancel();
                left -= 1;
            }
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.registry.registered.lock().remove(&self.number);
    }
}
