//! The rows of one collection as a persistent structure: an actor changes its own copy, and what
//! it has published stays as it was, for every reader that still holds it.
//!
//! Rows stand in [`Places`] in creation order; an index maps a keyed 128-bit digest of each key to
//! its place. Both copy only the nodes that a change touches, and the index holds plain numbers,
//! so a copied node costs a `memcpy` and not a reference count per row: that is what keeps a
//! growing app fast. A deleted row leaves a hole; holes are squeezed out when they outnumber rows.
//!
//! What is not here: permissions, versions, quotas. This is a container.

use std::{
    hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState},
    sync::{Arc, LazyLock},
};

use imbl::OrdMap;
use rookery_domain::{Timestamp, row::Row};

use super::places::Places;

/// Holes that are tolerated however few rows there are.
const HOLES_MIN: usize = 64;

/// A keyed digest of a text, wide enough that two texts never share one: the keys are drawn at
/// process start, so nobody can search for a collision, and by chance it takes 2^64 texts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Digest([u32; 4]);

impl Digest {
    /// The digest of `text`, the same for the life of this process.
    pub(crate) fn of(text: &str) -> Self {
        static KEYS: LazyLock<(RandomState, RandomState)> =
            LazyLock::new(|| (RandomState::new(), RandomState::new()));
        let (a, b) = (KEYS.0.hash_one(text), KEYS.1.hash_one(text));
        Self([a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32])
    }
}

impl std::hash::Hash for Digest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.0[0]) | u64::from(self.0[1]) << 32);
    }
}

/// Passes a digest's own bits on: it is a hash already.
#[derive(Default, Clone, Copy)]
pub(crate) struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// A hash map keyed by digests, private to one owner.
pub(crate) type DigestMap<V> =
    std::collections::HashMap<Digest, V, BuildHasherDefault<DigestHasher>>;

/// Ordered by digest: its nodes are dense, where a hash trie of a small app is mostly air.
type Index = OrdMap<Digest, u32>;

/// The live rows of a collection. Cloning is cheap and shares everything.
#[derive(Clone, Default)]
pub(crate) struct Rows {
    places: Places<Arc<Row>>,
    index: Index,
}

impl Rows {
    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// The row at `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Row>> {
        self.at(Digest::of(key)).filter(|row| row.key() == key)
    }

    /// The row whose key has this digest.
    pub(crate) fn at(&self, digest: Digest) -> Option<&Arc<Row>> {
        self.places.get(*self.index.get(&digest)? as usize)
    }

    /// Puts `row` at its key: in the place of the row that is there, which is returned, or in
    /// creation order.
    pub(crate) fn put(&mut self, row: Arc<Row>) -> Option<Arc<Row>> {
        let digest = Digest::of(row.key());
        if let Some(place) = self.index.get(&digest) {
            return self.places.get_mut(*place as usize)?.replace(row);
        }
        if self.last().is_none_or(|last| creation(last) < creation(&row)) && !self.ends_in_hole() {
            self.index.insert(digest, self.places.len() as u32);
            self.places.push(Some(row));
        } else {
            self.put_in_order(digest, row);
        }
        None
    }

    /// Takes the row at `key` away.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Arc<Row>> {
        self.get(key)?;
        let place = self.index.remove(&Digest::of(key))? as usize;
        let row = self.places.get_mut(place)?.take();
        while self.ends_in_hole() {
            self.places.pop();
        }
        let holes = self.places.len() - self.index.len();
        if holes > HOLES_MIN && holes > self.index.len() {
            let rows: Vec<_> = self.iter().cloned().collect();
            *self = rows.into_iter().collect();
        }
        row
    }

    /// All rows, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Row>> {
        self.places.range(0..self.places.len()).flatten()
    }

    /// Rows created at `at` or later, oldest first.
    pub(crate) fn since(&self, at: Timestamp) -> impl Iterator<Item = &Arc<Row>> {
        let start = self.partition(|row| row.created_at < at);
        self.places.range(start..self.places.len()).flatten()
    }

    /// Rows created before `at`, newest first.
    pub(crate) fn before(&self, at: Timestamp) -> impl Iterator<Item = &Arc<Row>> {
        let end = self.partition(|row| row.created_at < at);
        self.places.range(0..end).rev().flatten()
    }

    fn last(&self) -> Option<&Arc<Row>> {
        self.places.get(self.places.len().checked_sub(1)?)
    }

    fn ends_in_hole(&self) -> bool {
        self.places.len() > 0 && self.last().is_none()
    }

    /// The first place from which on no row satisfies `earlier`; rows that do come first.
    fn partition(&self, earlier: impl Fn(&Row) -> bool) -> usize {
        let (mut low, mut high) = (0, self.places.len());
        while low < high {
            let middle = low + (high - low) / 2;
            // The nearest row at or behind the middle speaks for the holes before it.
            let probe = (middle..high).find_map(|i| Some((i, self.places.get(i)?)));
            match probe {
                Some((i, row)) if earlier(row) => low = i + 1,
                _ => high = middle,
            }
        }
        low
    }

    /// Puts a row back among older and newer ones (a restore): into a hole between its
    /// neighbours where deletion left one, else by laying the vector anew.
    fn put_in_order(&mut self, digest: Digest, row: Arc<Row>) {
        let place = self.partition(|other| creation(other) < creation(&row));
        let hole = match place.checked_sub(1) {
            Some(before) if self.places.get(before).is_none() => Some(before),
            _ if self.places.get(place).is_none() => Some(place),
            _ => None,
        };
        if let Some(hole) = hole
            && let Some(empty) = self.places.get_mut(hole)
        {
            self.index.insert(digest, hole as u32);
            *empty = Some(row);
            return;
        }
        let mut rows: Vec<_> = self.iter().cloned().collect();
        let at = rows.partition_point(|other| creation(other) < creation(&row));
        rows.insert(at, row);
        *self = rows.into_iter().collect();
    }
}

impl FromIterator<Arc<Row>> for Rows {
    /// From rows in creation order with distinct keys.
    fn from_iter<I: IntoIterator<Item = Arc<Row>>>(rows: I) -> Self {
        let places: Places<_> = rows.into_iter().map(Some).collect();
        let index = places
            .range(0..places.len())
            .enumerate()
            .filter_map(|(place, row)| Some((Digest::of(row?.key()), place as u32)))
            .collect();
        Self { places, index }
    }
}

/// What rows are ordered by: creation, ties by key.
fn creation(row: &Row) -> (Timestamp, &str) {
    (row.created_at, row.key())
}
