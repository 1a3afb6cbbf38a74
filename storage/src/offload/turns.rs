//! Permits that go round: each name has a queue of its own, and the queues take turns (fair queuing,
//! Nagle, RFC 970). Whoever asks a hundred times waits a hundred rounds, and whoever asks once waits
//! one. So it is within a name, whose askers take turns. Whoever has fewer permits comes first: a name
//! whose job has just ended after others that have none. No name has all permits: the last one is for
//! others, who need not wait until a job ends.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    iter::{self, Sum},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::oneshot, time::Instant};

/// Requests that may wait in the turn of one name.
const WAITING_MAX: usize = 8 << 10;

/// Permits, and who waits for one.
#[derive(Debug)]
pub(super) struct Turns(Mutex<Queues>);

#[derive(Debug)]
struct Queues {
    /// Permits that one name may have at once.
    of_name_max: usize,
    /// Permits that nobody has. While there are some, only those wait who have as many as they may.
    free: usize,
    /// How many a name has, if any.
    held: HashMap<u64, usize>,
    /// Who waits.
    waiting: HashMap<u64, Line>,
    /// Each name of `waiting` once; the first one is next.
    order: VecDeque<u64>,
}

/// Who waits in the turn of one name, also those who have left since.
#[derive(Debug, Default)]
struct Line {
    /// Of each asker, oldest first.
    of_asker: HashMap<u64, VecDeque<Waiter>>,
    /// Each asker once; the first one is next.
    order: VecDeque<u64>,
    count: usize,
}

#[derive(Debug)]
struct Waiter {
    port: oneshot::Sender<Permit>,
    since: Instant,
}

/// A permit for one job, until it is dropped.
#[derive(Debug)]
pub struct Permit {
    turns: Arc<Turns>,
    name: u64,
}

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
        let queues = Queues {
            of_name_max: permits.saturating_sub(1).max(1),
            free: permits,
            held: HashMap::new(),
            waiting: HashMap::new(),
            order: VecDeque::new(),
        };
        Arc::new(Self(Mutex::new(queues)))
    }

    /// A permit for `name`, if there is one now.
    pub(super) fn try_take(self: &Arc<Self>, name: u64) -> Option<Permit> {
        self.0.lock().take(name).then(|| self.permit(name))
    }

    /// A permit when it is the turn of `name`, and of `asker` in it; none when too many wait there already.
    pub(super) async fn take(self: &Arc<Self>, name: u64, asker: u64) -> Option<Permit> {
        let permit = {
            let mut queues = self.0.lock();
            if queues.take(name) {
                return Some(self.permit(name));
            }
            queues.enqueue(name, asker)?
        };
        permit.await.ok()
    }

    fn permit(self: &Arc<Self>, name: u64) -> Permit {
        Permit { turns: Arc::clone(self), name }
    }

    pub(super) fn waits(&self) -> Waits {
        let (now, queues) = (Instant::now(), self.0.lock());
        let mut waits = Waits::default();
        for waiter in queues.waiting.values().flat_map(Line::waiters) {
            waits.count += 1;
            waits.longest = waits.longest.max(now.saturating_duration_since(waiter.since));
        }
        waits
    }
}

impl Queues {
    fn may_have_more(&self, name: u64) -> bool {
        self.held.get(&name).is_none_or(|held| *held < self.of_name_max)
    }

    /// Counts a free permit as one of `name`, if there is one that it may have.
    fn take(&mut self, name: u64) -> bool {
        let takes = self.free > 0 && self.may_have_more(name);
        if takes {
            self.free -= 1;
            *self.held.entry(name).or_default() += 1;
        }
        takes
    }

    /// Counts a permit of `name` as free.
    fn give_back(&mut self, name: u64) {
        self.free += 1;
        if let Entry::Occupied(mut held) = self.held.entry(name) {
            *held.get_mut() -= 1;
            if *held.get() == 0 {
                held.remove();
            }
        }
    }

    fn enqueue(&mut self, name: u64, asker: u64) -> Option<oneshot::Receiver<Permit>> {
        let line = self.waiting.entry(name).or_insert_with(|| {
            self.order.push_back(name);
            Line::default()
        });
        if line.count >= WAITING_MAX {
            line.forget_gone();
        }
        if line.count >= WAITING_MAX {
            return None;
        }
        let (port, permit) = oneshot::channel();
        line.push(asker, Waiter { port, since: Instant::now() });
        Some(permit)
    }

    /// The name whose turn it is: of those with the fewest permits the first. One that `gave` a permit back
    /// just now counts as having it.
    fn next_name(&mut self, gave: u64) -> Option<u64> {
        let mut next: Option<(usize, usize)> = None;
        for (at, &name) in self.order.iter().enumerate() {
            let held = self.held.get(&name).copied().unwrap_or(0);
            let counted = held + usize::from(name == gave);
            if held < self.of_name_max && next.is_none_or(|(_, fewest)| counted < fewest) {
                next = Some((at, counted));
            }
            if counted == 0 {
                break;
            }
        }
        self.order.remove(next?.0)
    }

    /// Who is next, with a free permit. Whoever has left since counts for no turn.
    fn next(&mut self, gave: u64) -> Option<(u64, oneshot::Sender<Permit>)> {
        while let Some(name) = self.next_name(gave) {
            let mut line = self.waiting.remove(&name).unwrap_or_default();
            let next = line.next();
            if line.count > 0 {
                self.waiting.insert(name, line);
                self.order.push_back(name);
            }
            if let Some(waiter) = next
                && self.take(name)
            {
                return Some((name, waiter.port));
            }
        }
        None
    }
}

impl Line {
    /// Who has not left.
    fn waiters(&self) -> impl Iterator<Item = &Waiter> {
        self.of_asker.values().flatten().filter(|waiter| !waiter.port.is_closed())
    }

    fn push(&mut self, asker: u64, waiter: Waiter) {
        let queue = self.of_asker.entry(asker).or_insert_with(|| {
            self.order.push_back(asker);
            VecDeque::new()
        });
        queue.push_back(waiter);
        self.count += 1;
    }

    /// The first one of the asker whose turn it is. Whoever has left since counts for no turn.
    fn next(&mut self) -> Option<Waiter> {
        while let Some(asker) = self.order.pop_front() {
            let mut queue = self.of_asker.remove(&asker).unwrap_or_default();
            let waiting = queue.len();
            let next = iter::from_fn(|| queue.pop_front()).find(|it| !it.port.is_closed());
            self.count -= waiting - queue.len();
            if !queue.is_empty() {
                self.of_asker.insert(asker, queue);
                self.order.push_back(asker);
            }
            if next.is_some() {
                return next;
            }
        }
        None
    }

    /// Forgets those who have left.
    fn forget_gone(&mut self) {
        self.of_asker.retain(|_, queue| {
            queue.retain(|waiter| !waiter.port.is_closed());
            !queue.is_empty()
        });
        self.order.retain(|asker| self.of_asker.contains_key(asker));
        self.count = self.of_asker.values().map(VecDeque::len).sum();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let next = {
            let mut queues = self.turns.0.lock();
            queues.give_back(self.name);
            queues.next(self.name)
        };
        if let Some((name, port)) = next {
            // Whoever left just now drops it, which hands it on.
            drop(port.send(self.turns.permit(name)));
        }
    }
}
