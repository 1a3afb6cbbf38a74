//! Following an app (contract part 6): a page of events after a cursor, waited for if need be.
//!
//! Events are read from the root's tail, or from storage no further than the root's seq, so that
//! nobody hears of a row before it can be read. Permissions are resolved again at every
//! publication: a caller that loses its rights while it waits hears nothing more.

mod history;
pub(crate) mod hub;
mod sight;

pub use history::HISTORY_EVENTS_MAX;

use std::{sync::Arc, time::Duration};

use rookery_domain::{
    Error, ErrorCode, Result, access::Access, event::Event, principal::Caller,
    query::cursor::FeedCursor,
};
use tokio::time::Instant;

use crate::{
    app::{read::View, root::Root, standing::ends_at, tail::weight},
    registry::AppHandle,
};
use sight::Sight;

/// Longest wait of one poll.
pub const WAIT_MAX: Duration = Duration::from_secs(60);
/// Wait of a poll that does not say.
pub const WAIT_DEFAULT: Duration = Duration::from_secs(25);
/// Bytes of events after which a page ends, whatever was asked for: an event may hold a whole row,
/// and a page is in memory until its reader has taken it, which some never do.
const PAGE_BYTES: usize = 64 << 10;
/// Events read from storage first: each may hold a row of the largest size.
const CHUNK_EVENTS_MIN: usize = 8;
/// Most events read from storage at a time, where those before them were small.
const CHUNK_EVENTS_MAX: usize = 128;
/// Each chunk has so many times as many events as the one before, while that held less than a page.
const CHUNK_GROWTH: usize = 4;
/// Events that one poll looks at before it answers, however few of them its caller sees.
const SCAN_EVENTS_MAX: usize = 5_000;
/// Bytes of events from storage after which it does so too.
const SCAN_BYTES_MAX: usize = 4 << 20;

/// Shortest time between two looks at whether a caller's link or token has ended.
const LOOK_AGAIN_MIN: Duration = Duration::from_millis(5);

/// What a poll asks for.
#[derive(Debug, Clone)]
pub struct FeedQuery {
    /// Where the caller stands: a token of an earlier answer or of a list. None: from now on.
    pub since: Option<String>,
    /// How long to wait for an event; zero answers at once.
    pub wait: Duration,
    /// Events on the page.
    pub limit: usize,
    /// Only rows of this collection.
    pub collection: Option<String>,
}

/// A page of the feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    /// The events, each as its JSON text.
    pub events: Vec<FeedEvent>,
    /// Where to go on.
    pub cursor: String,
    /// Whether more events were there already.
    pub more: bool,
}

/// One event as its caller sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedEvent {
    /// Where to go on behind it.
    pub cursor: String,
    /// Its type.
    pub kind: String,
    /// The record.
    pub json: String,
}

impl AppHandle {
    /// Events after `query.since`, as `caller` may see them now.
    ///
    /// # Errors
    /// `resync_required` when the cursor lies below the retention floor or what the caller may
    /// read has changed; `invalid_request` for a token that is none; `credential_scope_forbidden` for a
    /// collection that a credential may not read; those of a read.
    pub async fn feed(&self, caller: &Caller, query: &FeedQuery) -> Result<FeedPage> {
        let key = &self.env().key;
        let view = self.view(caller).await?;
        if let Some(name) = &query.collection {
            Access::new(&view.standing, &view.collection(name)?.decl).follow()?;
        }
        let Some(token) = &query.since else {
            let cursor = view.feed_cursor(view.root.seq).to_token(key, self.id());
            return Ok(FeedPage { events: vec![], cursor, more: false });
        };
        if !query.wait.is_zero() && self.apps.inner.stopping.is_cancelled() {
            return Err(Error::unavailable("the service is shutting down"));
        }
        let mut cursor = FeedCursor::parse(token, key, self.id())?;
        drop(view);
        let _presence = (!query.wait.is_zero()).then(|| self.slot.hub.enter());
        let deadline = Instant::now() + query.wait;
        loop {
            let published = self.slot.hub.next();
            // Taken before the caller's standing is, so that no loss in between is missed.
            let admin_lost = self.env().orgs.next_loss();
            let view = self.view(caller).await?;
            check(&view, cursor, self.feed_floor(&view.root))?;
            let (events, through, more) = self.look(&view, caller.network(), cursor, query).await?;
            cursor.seq = through;
            let waited = Instant::now() >= deadline;
            if !events.is_empty() || more || waited {
                return Ok(FeedPage { events, cursor: cursor.to_token(key, self.id()), more });
            }
            let in_org = view.root.record.org.is_some();
            let look_again = deadline.min(self.end_of(&view, caller).unwrap_or(deadline));
            drop(view);
            let stopping = &self.apps.inner.stopping;
            tokio::select! {
                // In every case the caller's standing is looked at once more.
                _ = tokio::time::timeout_at(look_again, published) => {}
                () = admin_lost, if in_org => {}
                () = stopping.cancelled() => {
                    return Ok(FeedPage { events, cursor: cursor.to_token(key, self.id()), more });
                }
            }
        }
    }

    /// The number up to which events are no longer kept, even where retention has yet to delete
    /// them.
    fn feed_floor(&self, root: &Root) -> u64 {
        let kept = self.env().options.feed_retention_events;
        self.slot.history.floor().max(root.seq.saturating_sub(kept))
    }

    /// When what the caller came by ends by itself.
    fn end_of(&self, view: &View, caller: &Caller) -> Option<Instant> {
        let left = ends_at(&view.root, caller)?.0.saturating_sub(self.env().clock.now().0);
        // Never in the past, so that a clock which stands still is not asked without end.
        let left = Duration::from_micros(u64::try_from(left).unwrap_or(0)).max(LOOK_AGAIN_MIN);
        Instant::now().checked_add(left)
    }

    /// The visible events after the cursor, up to which number was looked, and whether there is
    /// more behind that.
    async fn look(
        &self,
        view: &View,
        network: Option<u64>,
        cursor: FeedCursor,
        query: &FeedQuery,
    ) -> Result<(Vec<FeedEvent>, u64, bool)> {
        let mut sight = Sight::new(view, query.collection.as_deref(), &self.env().key, cursor);
        let (mut seen, mut through) = (Vec::new(), cursor.seq);
        let (mut looked, mut bytes, mut scanned) = (0, 0, 0);
        let mut chunk_events = CHUNK_EVENTS_MIN;
        let begins = self.env().feed_begins();
        while through < view.root.seq && looked < SCAN_EVENTS_MAX && scanned < SCAN_BYTES_MAX {
            let events = match self.chunk(view, network, through, chunk_events).await {
                Ok(events) => events,
                // What was found is told; whoever goes on behind it is told of this.
                Err(_) if looked > 0 => return Ok((seen, through, true)),
                Err(error) => return Err(error),
            };
            let chunk_bytes: usize = events.iter().map(|event| weight(event)).sum();
            if chunk_bytes < PAGE_BYTES {
                chunk_events = (chunk_events * CHUNK_GROWTH).min(CHUNK_EVENTS_MAX);
            }
            scanned += chunk_bytes;
            for event in events {
                if looked == 0 && event.at < begins {
                    return Err(no_longer_kept());
                }
                if seen.len() == query.limit || bytes >= PAGE_BYTES {
                    return Ok((seen, through, true));
                }
                through = event.seq;
                looked += 1;
                if let Some(event) = sight.of(&event) {
                    bytes += event.json.len();
                    seen.push(event);
                }
            }
        }
        Ok((seen, through, through < view.root.seq))
    }

    /// The events behind `after`, one at least: those that are in memory, or some of storage, `limit` at
    /// most. Storage is read in turns with what other networks follow of the owner's apps.
    async fn chunk(
        &self,
        view: &View,
        network: Option<u64>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Arc<Event>>> {
        if let Some(events) = view.root.tail.after(after) {
            return Ok(events);
        }
        let env = self.env();
        // Other reads of storage share its connections.
        let _turn = env.replaying.permit_for(view.root.record.owner, network).await?;
        let events = env.store.events(self.id(), after, view.root.seq, limit).await?;
        if events.is_empty() {
            // Pruned between the look at the root and this one, or damaged: nothing is passed over.
            return Err(no_longer_kept());
        }
        Ok(events)
    }
}

/// Whether a cursor still fits what is published.
fn check(view: &View, cursor: FeedCursor, floor: u64) -> Result<()> {
    let root = &view.root;
    if cursor.history != root.record.history || cursor.seq > root.seq {
        return Err(resync("this cursor belongs to another history of the app"));
    }
    if cursor.seq < floor {
        return Err(no_longer_kept());
    }
    // What was closed to somebody for a while is not told by a cursor from before. Whoever has heard of all
    // that was before the opening hears of that as well.
    let is_told_all = view.standing.is_owner() || cursor.seq + 1 >= root.record.opened_seq;
    if cursor.rights != view.rights() || !is_told_all {
        return Err(resync("what you may read has changed since this cursor was made"));
    }
    Ok(())
}

fn no_longer_kept() -> Error {
    resync("the events behind this cursor are no longer kept")
}

fn resync(message: &str) -> Error {
    Error::new(ErrorCode::ResyncRequired, message)
}
