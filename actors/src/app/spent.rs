//! Challenges that were answered: no answer counts twice. Some are remembered for longer than they hold,
//! since a clock that was ahead may be set back.

use std::collections::{BTreeSet, HashMap};

use rookery_domain::Timestamp;

/// Answers that are remembered although they have expired.
const KEPT_MAX: usize = 1_024;

/// The spent challenges of one app.
#[derive(Default)]
pub(crate) struct Spent {
    ends: HashMap<[u8; 32], Timestamp>,
    /// The same, by when they expire: forgetting them walks no others.
    by_end: BTreeSet<(Timestamp, [u8; 32])>,
}

impl Spent {
    /// Whether this one was answered.
    pub(crate) fn contains(&self, id: &[u8; 32]) -> bool {
        self.ends.contains_key(id)
    }

    /// Remembers one. Of those that have expired by now the newest are kept.
    pub(crate) fn insert(&mut self, id: [u8; 32], expires_at: Timestamp, now: Timestamp) {
        while self.ends.len() >= KEPT_MAX
            && let Some((end, expired)) = self.by_end.first().copied()
            && end <= now
        {
            self.by_end.pop_first();
            self.ends.remove(&expired);
        }
        self.ends.insert(id, expires_at);
        self.by_end.insert((expires_at, id));
    }

    /// Takes one back.
    pub(crate) fn remove(&mut self, id: &[u8; 32]) {
        if let Some(end) = self.ends.remove(id) {
            self.by_end.remove(&(end, *id));
        }
    }
}

impl FromIterator<([u8; 32], Timestamp)> for Spent {
    fn from_iter<I: IntoIterator<Item = ([u8; 32], Timestamp)>>(challenges: I) -> Self {
        let ends: HashMap<_, _> = challenges.into_iter().collect();
        let by_end = ends.iter().map(|(id, end)| (*end, *id)).collect();
        Self { ends, by_end }
    }
}
