//! A persistent vector whose clone costs nothing and whose change copies little.
//!
//! An actor changes its own copy after every publication, and each change copies the nodes on its
//! way. A copied node takes a reference to everything it holds, each of them somewhere else in
//! memory, so here nodes are narrow: that counts for more than the levels it adds. The last leaf
//! stands apart from the tree, so that appending touches the tree once in [`WIDTH`] times.
//!
//! What is not here: what stands in a place ([`super::rows`]).

use std::{ops::Range, sync::Arc};

/// Children of a branch, and places of a leaf.
const WIDTH: usize = 1 << BITS;
/// Bits of a place's number that choose among them.
const BITS: u32 = 3;

type Leaf<T> = [Option<T>; WIDTH];

#[derive(Clone, Default)]
enum Node<T> {
    #[default]
    Empty,
    Branch(Arc<[Node<T>; WIDTH]>),
    Leaf(Arc<Leaf<T>>),
}

/// Numbered places from 0, each with a value or without.
#[derive(Clone)]
pub(crate) struct Places<T> {
    /// Holds all leaves but the last one.
    tree: Node<T>,
    /// Levels of branches above the tree's leaves.
    height: u32,
    /// Begins at a multiple of [`WIDTH`]; holds a place at least, unless there is none at all.
    last: Arc<Leaf<T>>,
    len: usize,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self { tree: Node::Empty, height: 0, last: Arc::default(), len: 0 }
    }
}

impl<T: Clone> Places<T> {
    /// How many places there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The value in a place.
    pub(crate) fn get(&self, place: usize) -> Option<&T> {
        self.leaf(place)?[place % WIDTH].as_ref()
    }

    /// A place, to put something there or take it away.
    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut Option<T>> {
        if place >= self.len {
            return None;
        }
        if place >= self.last_start() {
            return Some(&mut Arc::make_mut(&mut self.last)[place % WIDTH]);
        }
        match self.node_of(place) {
            Node::Leaf(leaf) => Some(&mut Arc::make_mut(leaf)[place % WIDTH]),
            Node::Empty | Node::Branch(_) => None,
        }
    }

    /// Appends a place.
    pub(crate) fn push(&mut self, value: Option<T>) {
        if self.len > 0 && self.len.is_multiple_of(WIDTH) {
            let full = std::mem::take(&mut self.last);
            self.hang(self.len - WIDTH, full);
        }
        Arc::make_mut(&mut self.last)[self.len % WIDTH] = value;
        self.len += 1;
    }

    /// Takes the last place away, with what stood there.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let place = self.len.checked_sub(1)?;
        let value = Arc::make_mut(&mut self.last)[place % WIDTH].take();
        self.len = place;
        if place == 0 {
            *self = Self::default();
        } else if place.is_multiple_of(WIDTH) {
            self.last = self.unhang(place - WIDTH);
        }
        value
    }

    /// What stands in these places, in order.
    pub(crate) fn range(&self, range: Range<usize>) -> Iter<'_, T> {
        let end = range.end.min(self.len);
        let start = range.start.min(end);
        Iter { places: self, left: start..end, front: None, back: None }
    }

    fn last_start(&self) -> usize {
        self.len.saturating_sub(1) / WIDTH * WIDTH
    }

    fn leaf(&self, place: usize) -> Option<&Leaf<T>> {
        if place >= self.last_start() {
            return (place < self.len).then_some(&*self.last);
        }
        let mut node = &self.tree;
        let mut level = self.height;
        loop {
            match node {
                Node::Empty => return None,
                Node::Leaf(leaf) => return Some(leaf),
                Node::Branch(children) => {
                    node = &children[digit(place, level)];
                    level -= 1;
                }
            }
        }
    }

    /// Puts a leaf into the tree: that of the places from `start` on.
    fn hang(&mut self, start: usize, leaf: Arc<Leaf<T>>) {
        while start >> (BITS * (self.height + 1)) > 0 {
            let mut children: [Node<T>; WIDTH] = Default::default();
            children[0] = std::mem::take(&mut self.tree);
            self.tree = Node::Branch(Arc::new(children));
            self.height += 1;
        }
        *self.node_of(start) = Node::Leaf(leaf);
    }

    /// Takes the leaf of the places from `start` on out of the tree. Branches that it leaves empty
    /// wait there for the next one.
    fn unhang(&mut self, start: usize) -> Arc<Leaf<T>> {
        match std::mem::take(self.node_of(start)) {
            Node::Leaf(leaf) => leaf,
            Node::Empty | Node::Branch(_) => Arc::default(),
        }
    }

    /// Where the leaf with this place hangs, or is to hang, in a tree that is high enough.
    fn node_of(&mut self, place: usize) -> &mut Node<T> {
        let mut node = &mut self.tree;
        let mut level = self.height;
        while level > 0 {
            match node {
                Node::Branch(children) => {
                    node = &mut Arc::make_mut(children)[digit(place, level)];
                    level -= 1;
                }
                Node::Empty | Node::Leaf(_) => *node = Node::Branch(Arc::default()),
            }
        }
        node
    }
}

/// Which child of a branch at `level` leads to a place.
fn digit(place: usize, level: u32) -> usize {
    (place >> (BITS * level)) % WIDTH
}

impl<T: Clone> FromIterator<Option<T>> for Places<T> {
    fn from_iter<I: IntoIterator<Item = Option<T>>>(values: I) -> Self {
        let mut places = Self::default();
        values.into_iter().for_each(|value| places.push(value));
        places
    }
}

/// Walks places from both ends; those without a value too.
pub(crate) struct Iter<'a, T> {
    places: &'a Places<T>,
    left: Range<usize>,
    /// The leaves in which either end stands, once they are looked up.
    front: Option<&'a Leaf<T>>,
    back: Option<&'a Leaf<T>>,
}

impl<'a, T: Clone> Iterator for Iter<'a, T> {
    type Item = Option<&'a T>;

    fn next(&mut self) -> Option<Self::Item> {
        let place = self.left.next()?;
        if self.front.is_none() || place.is_multiple_of(WIDTH) {
            self.front = self.places.leaf(place);
        }
        Some(self.front?[place % WIDTH].as_ref())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<T: Clone> DoubleEndedIterator for Iter<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let place = self.left.next_back()?;
        if self.back.is_none() || place % WIDTH == WIDTH - 1 {
            self.back = self.places.leaf(place);
        }
        Some(self.back?[place % WIDTH].as_ref())
    }
}
