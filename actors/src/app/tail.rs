//! The newest events of an app, for whoever follows it closely; older ones are in storage.
//!
//! It is part of every published root, so a clone shares everything, and appending copies nothing:
//! events stand in chains, each linked to the one before. A chain cannot lose its oldest link while
//! others share it, so there are two. When the young one is full it becomes the old one, and what
//! was old goes as a whole.

use std::sync::Arc;

use rookery_domain::event::Event;

/// Most events kept in memory. Once that many small ones came, at least half are kept.
const EVENTS_MAX: usize = 128;
/// Events that a wake brings: enough for whoever followed the app until it slept. Most apps that
/// wake are not followed at all.
pub(crate) const EVENTS_LOADED: usize = 4;
/// Bytes of row data and payloads that they may hold; one event may be larger.
const BYTES_MAX: usize = 16 << 10;

/// The newest events, without gaps.
#[derive(Clone, Default)]
pub(crate) struct Tail {
    young: Chain,
    old: Chain,
}

#[derive(Clone, Default)]
struct Chain {
    newest: Option<Arc<Link>>,
    events: usize,
    bytes: usize,
}

struct Link {
    event: Arc<Event>,
    older: Option<Arc<Link>>,
}

impl Tail {
    /// Appends the next event, and lets the oldest ones go where there are too many.
    pub(crate) fn push(&mut self, event: Arc<Event>) {
        let bytes = weight(&event);
        let is_full = self.young.events == EVENTS_MAX / 2
            || self.young.events > 0 && self.young.bytes + bytes > BYTES_MAX / 2;
        if is_full {
            self.old = std::mem::take(&mut self.young);
        }
        let older = self.young.newest.take();
        self.young.newest = Some(Arc::new(Link { event, older }));
        self.young.events += 1;
        self.young.bytes += bytes;
        if self.bytes() > BYTES_MAX {
            self.old = Chain::default();
        }
    }

    /// Lets everything go, so that no reader finds content here that was purged.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Bytes of row data and payloads that are held here.
    pub(crate) fn bytes(&self) -> usize {
        self.young.bytes + self.old.bytes
    }

    /// The events after `seq`, oldest first, if the tail reaches back that far.
    pub(crate) fn after(&self, seq: u64) -> Option<Vec<Arc<Event>>> {
        let newest = self.young.newest.as_ref()?.event.seq;
        let wanted = usize::try_from(newest.saturating_sub(seq)).ok()?;
        if wanted > self.young.events + self.old.events {
            return None;
        }
        let newest_first = self.young.links().chain(self.old.links());
        let mut events: Vec<_> = newest_first.take(wanted).cloned().collect();
        events.reverse();
        Some(events)
    }
}

impl Chain {
    /// Its events, newest first.
    fn links(&self) -> impl Iterator<Item = &Arc<Event>> {
        let first = self.newest.as_deref();
        std::iter::successors(first, |link| link.older.as_deref()).map(|link| &link.event)
    }
}

pub(crate) fn weight(event: &Event) -> usize {
    event.data.as_ref().map_or(0, |data| data.len()) + event.row().map_or(0, |row| row.data().len())
}
