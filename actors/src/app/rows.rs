//! The rows of one collection as a persistent structure: an actor changes its own copy, and what
//! it has published stays as it was, for every reader that still holds it.
//!
//! Rows stand in [`Places`] in the order in which they are listed: by creation, and those of one
//! millisecond by key. An index maps a keyed 128-bit digest of each key to its place. Both copy only
//! the nodes that a change touches, and the index holds plain numbers, so a copied node costs a
//! `memcpy` and not a reference count per row: that is what keeps a growing app fast. A deleted row
//! leaves a hole; holes are squeezed out when they outnumber rows.
//!
//! Rows come in by time and not by key. So those of one millisecond stand as they came until
//! [`Rows::sort_pending`], once for all that are published together.
//!
//! A row may come in the middle too: one that is restored, and every new one after the clock was
//! ahead and rows were written meanwhile. Where no hole is near, room for more is made there, so that
//! many such rows cost little each.
//!
//! What is not here: permissions, versions, quotas. This is a container.

use std::{
    hash::{BuildHasherDefault, Hasher},
    iter::Flatten,
    ops::Range,
    sync::{Arc, LazyLock},
};

use imbl::OrdMap;
use rookery_domain::{Timestamp, row::Row};
use siphasher::sip128::SipHasher13;

use super::places::{self, Places};

/// Microseconds in a millisecond, as finely as times are shown.
const MILLISECOND: i64 = 1_000;

/// Holes that are tolerated however few rows there are.
const HOLES_MIN: usize = 64;
/// Places behind a row's own in which a hole is looked for, so that rows move up by one.
const MOVE_UP_MAX: usize = 32;
/// Where rows are moved on to make room, there is one hole more for so many of them.
const MOVED_PER_HOLE: usize = 4;
/// Holes that are made in one place at most: whoever looks for a place walks over them.
const ROOM_MAX: usize = 1_024;

/// A keyed digest of a text, wide enough that two texts never share one: the keys are drawn at
/// process start, so nobody can search for a collision, and by chance it takes 2^64 texts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Digest([u32; 4]);

impl Digest {
    /// The digest of `text`, the same for the life of this process.
    pub(crate) fn of(text: &str) -> Self {
        static KEYED: LazyLock<SipHasher13> =
            LazyLock::new(|| SipHasher13::new_with_key(&rand::random()));
        let (a, b) = KEYED.hash(text.as_bytes()).as_u64();
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

/// A walk over rows as they stand.
pub(crate) type Walk<'a> = Flatten<places::Iter<'a, Arc<Row>>>;

/// The live rows of a collection. Cloning is cheap and shares everything.
#[derive(Clone, Default)]
pub(crate) struct Rows {
    places: Places<Arc<Row>>,
    index: Index,
    /// The milliseconds in which rows may stand as they came; none when all are sorted.
    unsorted: Vec<Timestamp>,
}

impl Rows {
    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Row>> {
        self.at(Digest::of(key)).filter(|row| row.key() == key)
    }

    /// The row whose key has this digest.
    pub(crate) fn at(&self, digest: Digest) -> Option<&Arc<Row>> {
        self.places.get(*self.index.get(&digest)? as usize)
    }

    /// Puts `row` at its key: in the place of the row that is there, which is returned, or behind the
    /// rows before it.
    pub(crate) fn put(&mut self, row: Arc<Row>) -> Option<Arc<Row>> {
        let digest = Digest::of(row.key());
        if let Some(place) = self.index.get(&digest) {
            return self.places.get_mut(*place as usize)?.replace(row);
        }
        while self.ends_in_hole() {
            self.places.pop();
        }
        let at = row.created_at.as_shown();
        let last = self.last().map(|last| last.place());
        if last.is_none_or(|last| last < row.place()) {
            self.index.insert(digest, self.places.len() as u32);
            self.places.push(Some(row));
            return None;
        }
        let is_latest = last.is_some_and(|last| last.0 == at);
        if self.unsorted.last() != Some(&at) {
            self.unsorted.push(at);
        }
        let place = if is_latest { self.places.len() } else { self.make_room(at) };
        self.index.insert(digest, place as u32);
        match self.places.get_mut(place) {
            Some(hole) => *hole = Some(row),
            None => self.places.push(Some(row)),
        }
        None
    }

    /// Puts rows of other keys among those that are there, by their creation.
    pub(crate) fn put_all(&mut self, came: &[Arc<Row>]) {
        if came.is_empty() {
            return;
        }
        let mut rows: Vec<_> = self.iter().chain(came).cloned().collect();
        rows.sort_by(|a, b| a.place().cmp(&b.place()));
        *self = rows.into_iter().collect();
    }

    /// Puts the rows that came since the last time into the order of the others.
    pub(crate) fn sort_pending(&mut self) {
        let mut moments = std::mem::take(&mut self.unsorted);
        moments.sort_unstable();
        moments.dedup();
        moments.into_iter().for_each(|at| self.sort_moment(at));
    }

    fn sort_moment(&mut self, at: Timestamp) {
        let came = self.first_since(at)..self.first_since(next_millisecond(at));
        let came: Vec<_> =
            came.filter_map(|place| Some((place, self.places.get(place)?.clone()))).collect();
        let mut sorted: Vec<_> = came.iter().map(|(_, row)| row).collect();
        sorted.sort_unstable_by(|a, b| a.place().cmp(&b.place()));
        for ((place, stood), row) in came.iter().zip(sorted) {
            if !Arc::ptr_eq(stood, row)
                && let Some(value) = self.places.get_mut(*place)
            {
                self.index.insert(Digest::of(row.key()), *place as u32);
                *value = Some(row.clone());
            }
        }
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
            // Laid anew, rows count as sorted.
            self.sort_pending();
            let rows: Vec<_> = self.iter().cloned().collect();
            *self = rows.into_iter().collect();
        }
        row
    }

    /// All rows, oldest first.
    pub(crate) fn iter(&self) -> Walk<'_> {
        self.walk(0..self.places.len())
    }

    /// All rows, the newest millisecond first, each by key.
    pub(crate) fn newest_first(&self) -> Backwards<'_> {
        Backwards { rows: self, end: self.places.len(), moment: self.walk(0..0) }
    }

    /// Rows that were created in a later millisecond than this, oldest first.
    pub(crate) fn later_than(&self, at: Timestamp) -> Walk<'_> {
        self.walk(self.first_since(next_millisecond(at))..self.places.len())
    }

    /// Rows behind this place (creation and key), oldest first.
    pub(crate) fn after(&self, place: (Timestamp, &str)) -> Walk<'_> {
        self.walk(self.first_behind(place)..self.places.len())
    }

    /// Rows behind this place (creation and key), the newest millisecond first.
    pub(crate) fn newest_first_after(&self, place: (Timestamp, &str)) -> Backwards<'_> {
        let at = place.0.as_shown();
        let moment = self.first_behind(place)..self.first_since(next_millisecond(at));
        Backwards { rows: self, end: self.first_since(at), moment: self.walk(moment) }
    }

    fn walk(&self, places: Range<usize>) -> Walk<'_> {
        self.places.range(places).flatten()
    }

    /// The first place from which on rows were created in this millisecond or later.
    fn first_since(&self, at: Timestamp) -> usize {
        self.partition(|row| row.created_at < at.as_shown())
    }

    /// The first place behind the row with this creation and key.
    fn first_behind(&self, (at, key): (Timestamp, &str)) -> usize {
        self.partition(|row| row.place() <= (at.as_shown(), key))
    }

    /// The last row before a place, and where it stands.
    fn last_before(&self, place: usize) -> Option<(usize, &Arc<Row>)> {
        (0..place).rev().find_map(|place| Some((place, self.places.get(place)?)))
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
            let mut rows = self.places.range(middle..high).enumerate();
            match rows.find_map(|(i, row)| Some((middle + i, row?))) {
                Some((i, row)) if earlier(row) => low = i + 1,
                _ => high = middle,
            }
        }
        low
    }

    /// A hole behind all rows of this millisecond and before all later ones, of which there are some.
    fn make_room(&mut self, at: Timestamp) -> usize {
        let (place, end) = (self.first_since(next_millisecond(at)), self.places.len());
        let near = self.places.range(place..end.min(place + MOVE_UP_MAX));
        if let Some(distance) = near.enumerate().find_map(|(i, row)| row.is_none().then_some(i)) {
            self.move_on(place..place + distance, 1);
            return place;
        }
        let room = ((end - place) / MOVED_PER_HOLE).clamp(1, ROOM_MAX);
        for _ in 0..room {
            self.places.push(None);
        }
        self.move_on(place..end, room);
        place
    }

    /// Moves what stands in these places on, the last first. There must be holes to move to.
    fn move_on(&mut self, places: Range<usize>, by: usize) {
        for place in places.rev() {
            let Some(row) = self.places.get_mut(place).and_then(Option::take) else { continue };
            self.index.insert(Digest::of(row.key()), (place + by) as u32);
            if let Some(hole) = self.places.get_mut(place + by) {
                *hole = Some(row);
            }
        }
    }
}

impl FromIterator<Arc<Row>> for Rows {
    /// From rows in their order, with distinct keys.
    fn from_iter<I: IntoIterator<Item = Arc<Row>>>(rows: I) -> Self {
        let places: Places<_> = rows.into_iter().map(Some).collect();
        let index = places
            .range(0..places.len())
            .enumerate()
            .filter_map(|(place, row)| Some((Digest::of(row?.key()), place as u32)))
            .collect();
        Self { places, index, unsorted: Vec::new() }
    }
}

/// A walk over sorted rows, the newest millisecond first, each by key.
pub(crate) struct Backwards<'a> {
    rows: &'a Rows,
    /// Behind the places that are left.
    end: usize,
    /// The rest of the present millisecond.
    moment: Walk<'a>,
}

impl<'a> Iterator for Backwards<'a> {
    type Item = &'a Arc<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(row) = self.moment.next() {
            return Some(row);
        }
        let (place, last) = self.rows.last_before(self.end)?;
        let at = last.created_at.as_shown();
        let start = match self.rows.last_before(place) {
            Some((_, row)) if row.created_at.as_shown() == at => self.rows.first_since(at),
            _ => place,
        };
        self.moment = self.rows.walk(start..self.end);
        self.end = start;
        self.moment.next()
    }
}

/// The millisecond behind this one.
const fn next_millisecond(at: Timestamp) -> Timestamp {
    Timestamp(at.as_shown().0.saturating_add(MILLISECOND))
}
