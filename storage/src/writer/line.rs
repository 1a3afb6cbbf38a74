//! Who waits for a lane, and which of them share its next transaction.
//!
//! A group of one row takes a lane for less than a millisecond beside others; one of a large batch takes it
//! for a tenth of a second, and one that purges reads all that its app's feed keeps. In the order in which
//! they came, an account that writes batches to many of its apps would have everybody else's rows wait for
//! all of them. So small groups go together and first, and large ones one at a time, never two in a row while
//! a small one waits, nor two of one account while another's waits. The groups of one app stay in their
//! order.

use std::{
    collections::{HashSet, VecDeque},
    time::{Duration, Instant},
};

use rookery_domain::id::{AppId, HumanId};
use tokio::sync::oneshot;

use super::batch::Entry;
use crate::commit::Group;

/// Most groups in one transaction.
const BATCH_GROUPS_MAX: usize = 1_024;

/// A group of so many bytes or more is a large one, as is one that purges.
const LARGE_BYTES: usize = 128 << 10;

/// A transaction takes no further small group once they have this many bytes together.
const SMALL_BYTES_MAX: usize = 1 << 20;

#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are groups, and a box would cost each of them an allocation"
)]
enum Job {
    Group(Waiting),
    Barrier(AppId, oneshot::Sender<()>),
}

struct Waiting {
    group: Group,
    bytes: usize,
    submitted: Instant,
}

impl Waiting {
    fn is_large(&self) -> bool {
        self.bytes >= LARGE_BYTES || !self.group.writes.scrubs.is_empty()
    }
}

impl From<Waiting> for Entry {
    fn from(Waiting { group, submitted, .. }: Waiting) -> Self {
        Self { group, submitted, outcome: None }
    }
}

/// Who waits, the oldest first.
#[derive(Default)]
pub(super) struct Line {
    jobs: VecDeque<Job>,
    groups: usize,
    /// The last transaction had a large group.
    had_large: bool,
    /// Whose the last large group was.
    served: Option<HumanId>,
}

/// Who left the line together.
#[derive(Default)]
pub(super) struct Taken {
    /// The groups of the next transaction, no two of them of one app.
    pub(super) entries: Vec<Entry>,
    /// Groups that have waited for too long.
    pub(super) stale: Vec<Group>,
    /// Whoever waits for these groups, or for earlier ones.
    pub(super) barriers: Vec<oneshot::Sender<()>>,
}

impl Line {
    /// Puts a group at its end.
    pub(super) fn push(&mut self, group: Group, bytes: usize) {
        self.groups += 1;
        self.jobs.push_back(Job::Group(Waiting { group, bytes, submitted: Instant::now() }));
    }

    /// Puts somebody at its end who waits for the groups of `app` before it.
    pub(super) fn push_barrier(&mut self, app: AppId, barrier: oneshot::Sender<()>) {
        self.jobs.push_back(Job::Barrier(app, barrier));
    }

    /// Whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// How many groups wait.
    pub(super) const fn groups(&self) -> usize {
        self.groups
    }

    /// Since when the oldest of them has.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.jobs.iter().find_map(|job| match job {
            Job::Group(waiting) => Some(waiting.submitted),
            Job::Barrier(..) => None,
        })
    }

    /// Whether a group of `app` is among them.
    pub(super) fn has(&self, app: AppId) -> bool {
        self.jobs.iter().any(|job| matches!(job, Job::Group(waiting) if waiting.group.app == app))
    }

    /// All that wait.
    pub(super) fn into_all(self) -> Taken {
        let mut all = Taken::default();
        for job in self.jobs {
            match job {
                Job::Group(waiting) => all.entries.push(waiting.into()),
                Job::Barrier(_, barrier) => all.barriers.push(barrier),
            }
        }
        all
    }

    /// Takes those who are next. A group that has waited for longer than `wait_max` is stale.
    pub(super) fn take(&mut self, now: Instant, wait_max: Duration) -> Taken {
        let mut taken = Taken::default();
        let (mut bytes, mut apps) = (0, HashSet::new());
        let mut passed = Passed::default();
        while taken.entries.len() < BATCH_GROUPS_MAX && bytes < SMALL_BYTES_MAX {
            match self.jobs.pop_front() {
                Some(Job::Group(waiting)) if now.duration_since(waiting.submitted) > wait_max => {
                    taken.stale.push(waiting.group);
                }
                // In one PostgreSQL statement neither of two groups of an app would see the other's head.
                Some(Job::Group(waiting)) if !apps.insert(waiting.group.app) => {
                    passed.push(waiting)
                }
                Some(Job::Group(waiting)) if waiting.is_large() => {
                    passed.consider(&waiting, self.served);
                    passed.push(waiting);
                }
                Some(Job::Group(waiting)) => {
                    bytes += waiting.bytes;
                    taken.entries.push(waiting.into());
                }
                Some(Job::Barrier(app, barrier)) if !passed.apps.contains(&app) => {
                    taken.barriers.push(barrier);
                }
                Some(barrier @ Job::Barrier(..)) => passed.jobs.push_back(barrier),
                None => break,
            }
        }
        let large = passed.large.filter(|_| !self.had_large || taken.entries.is_empty());
        self.had_large = large.is_some();
        if let Some((at, owner)) = large
            && let Some(Job::Group(waiting)) = passed.jobs.remove(at)
        {
            self.served = Some(owner);
            taken.entries.push(waiting.into());
        }
        while let Some(job) = passed.jobs.pop_back() {
            self.jobs.push_front(job);
        }
        self.groups -= taken.entries.len() + taken.stale.len();
        taken
    }
}

/// Who stays in the line for now, though others behind them leave it.
#[derive(Default)]
struct Passed {
    jobs: VecDeque<Job>,
    /// The apps of the groups among them.
    apps: HashSet<AppId>,
    /// Where the large group stands that is next, and whose it is.
    large: Option<(usize, HumanId)>,
}

impl Passed {
    /// Looks whether this large group, which is to be pushed, is the one that is next: the first that is
    /// not `served`'s, or else the first.
    fn consider(&mut self, waiting: &Waiting, served: Option<HumanId>) {
        let owner = waiting.group.owner;
        let is_next = match self.large {
            None => true,
            Some((_, other)) => Some(other) == served && Some(owner) != served,
        };
        if is_next {
            self.large = Some((self.jobs.len(), owner));
        }
    }

    fn push(&mut self, waiting: Waiting) {
        self.apps.insert(waiting.group.app);
        self.jobs.push_back(Job::Group(waiting));
    }
}
