//! The history of one row, as the feed kept it: for its owner's eyes on the site.

use rookery_domain::{Result, principal::Caller, query::cursor::FeedCursor};
use rookery_storage::feed;

use super::{FeedEvent, sight::Sight};
use crate::{control::Control, registry::AppHandle};

/// Most events that a row's history shows.
pub const HISTORY_EVENTS_MAX: u32 = 100;

impl Control {
    /// What happened to a row, the last first, as `caller` may see it now: as far back as the feed
    /// is kept, and at most [`HISTORY_EVENTS_MAX`] events.
    ///
    /// # Errors
    /// Those of a read.
    pub async fn row_history(
        &self,
        app: &AppHandle,
        caller: &Caller,
        collection: &str,
        key: &str,
    ) -> Result<Vec<FeedEvent>> {
        let view = app.view(caller).await?;
        let (seq, max) = (view.root.seq, HISTORY_EVENTS_MAX);
        // All that the feed keeps is looked through.
        let turns = &self.env().replaying;
        let _turn = turns.permit_for(view.root.record.owner, caller.network()).await?;
        let events = feed::events_of_row(&self.db, app.id(), collection, key, seq, max).await;
        let cursor: FeedCursor = view.feed_cursor(seq);
        let mut sight = Sight::new(&view, Some(collection), &self.env().key, cursor);
        Ok(events?.iter().filter_map(|event| sight.of(event)).collect())
    }
}
