//! Permits that go round: each name has a queue of its own, and the queues take turns (fair queuing,
//! Nagle, RFC 970). Whoever asks a hundred times waits a hundred rounds, and whoever asks once waits
//! one.

use std::{
    collections::{HashMap, VecDeque},
    iter::Sum,
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::oneshot, time::Instant};

/// Requests that may wait in one turn.
const WAITING_MAX: usize = 8 << 10;

/// Permits, and who waits for one.
#[derive(Debug)]
pub(super) struct Turns(Mutex<Queues>);

#[derive(Debug)]
struct Queues {
    /// Permits that nobody has. While there are some, nobody waits.
    free: usize,
    /// Who waits, oldest first, also those who have left since.
    waiting: HashMap<u64, VecDeque<Waiter>>,
    /// Each name of `waiting` once; the first one is next.
    order: VecDeque<u64>,
}

#[derive(Debug)]
struct Waiter {
    port: oneshot::Sender<Permit>,
    since: Instant,
}

/// A permit for one job, until it is dropped.
#[derive(Debug)]
pub struct Permit(Option<Arc<Turns>>);

/// Who waits for permits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// How many requests.
    pub count: usize,
    /// How long the oldest of them has.
    pub longest: Duration,
}

impl Sum for Waits {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, waits| Self {
            count: sum.count + waits.count,
            longest: sum.longest.max(waits.longest),
        })
    }
}

impl Turns {
    pub(super) fn new(permits: usize) -> Arc<Self> {
        let queues = Queues { free: permits, waiting: HashMap::new(), order: VecDeque::new() };
        Arc::new(Self(Mutex::new(queues)))
    }

    /// A permit, if there is a free one.
    pub(super) fn try_take(self: &Arc<Self>) -> Option<Permit> {
        self.take_free(&mut self.0.lock())
    }

    /// A permit when it is the turn of `name`; none when too many wait there already.
    pub(super) async fn take(self: &Arc<Self>, name: u64) -> Option<Permit> {
        let permit = {
            let mut queues = self.0.lock();
            match self.take_free(&mut queues) {
                Some(permit) => return Some(permit),
                None => queues.enqueue(name)?,
            }
        };
        permit.await.ok()
    }

    fn take_free(self: &Arc<Self>, queues: &mut Queues) -> Option<Permit> {
        queues.free = queues.free.checked_sub(1)?;
        Some(Permit(Some(self.clone())))
    }

    pub(super) fn waits(&self) -> Waits {
        let (now, queues) = (Instant::now(), self.0.lock());
        let mut waits = Waits::default();
        for waiter in queues.waiting.values().flatten().filter(|waiter| !waiter.port.is_closed()) {
            waits.count += 1;
            waits.longest = waits.longest.max(now.saturating_duration_since(waiter.since));
        }
        waits
    }
}

impl Queues {
    fn enqueue(&mut self, name: u64) -> Option<oneshot::Receiver<Permit>> {
        let queue = self.waiting.entry(name).or_insert_with(|| {
            self.order.push_back(name);
            VecDeque::new()
        });
        if queue.len() >= WAITING_MAX {
            queue.retain(|waiter| !waiter.port.is_closed());
        }
        if queue.len() >= WAITING_MAX {
            return None;
        }
        let (port, permit) = oneshot::channel();
        queue.push_back(Waiter { port, since: Instant::now() });
        Some(permit)
    }

    /// Who is next. Whoever has left since counts for no turn.
    fn next(&mut self) -> Option<oneshot::Sender<Permit>> {
        while let Some(name) = self.order.pop_front() {
            let mut queue = self.waiting.remove(&name).unwrap_or_default();
            while let Some(waiter) = queue.pop_front() {
                if waiter.port.is_closed() {
                    continue;
                }
                if !queue.is_empty() {
                    self.waiting.insert(name, queue);
                    self.order.push_back(name);
                }
                return Some(waiter.port);
            }
        }
        None
    }

    /// Who gets a permit that is given back; it is free when nobody waits.
    fn give_back(&mut self) -> Option<oneshot::Sender<Permit>> {
        let next = self.next();
        self.free += usize::from(next.is_none());
        next
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(turns) = self.0.take() else { return };
        loop {
            let Some(port) = turns.0.lock().give_back() else { return };
            match port.send(Self(Some(turns.clone()))) {
                Ok(()) => return,
                // It left just now. Not dropped here, which would give it back once more.
                Err(mut unwanted) => unwanted.0 = None,
            }
        }
    }
}
