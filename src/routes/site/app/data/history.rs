//! What happened to a row, as its page tells it.

use rookery_actors::feed;
use rookery_domain::event::EventType;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    merge::{Change, Merge},
    record::{Names, Who},
    text::indent,
};
use crate::{pages::visible::escaped, routes::site::words::At};

/// Bytes of contents that one page tells; the newest ones.
const CONTENTS_BYTES_MAX: usize = 1 << 20;
/// Members that are told of one change.
const CHANGES_MAX: usize = 50;

/// What happened to the row.
pub struct Event {
    /// In a word.
    pub what: &'static str,
    /// When.
    pub at: At,
    /// Whose doing it was.
    pub by: String,
    /// The version that it made.
    pub version: Option<u32>,
    /// Its content then.
    pub content: Option<String>,
    /// Whether it had one that the page has no room for.
    pub is_cut: bool,
    /// What the event changed of it, where the feed still knows what was there before.
    pub changed: Vec<Change>,
    /// How many more members it changed.
    pub changed_besides: usize,
}

#[derive(Deserialize)]
struct FeedEvent {
    #[serde(rename = "type")]
    kind: String,
    at: At,
    by: Who,
    version: Option<u32>,
    data: Option<Box<RawValue>>,
}

/// The events of a row as the page shows them.
#[must_use]
pub fn history(events: &[feed::FeedEvent], names: &Names) -> Vec<Event> {
    let events: Vec<FeedEvent> =
        events.iter().filter_map(|event| serde_json::from_str(&event.json).ok()).collect();
    let mut room = CONTENTS_BYTES_MAX;
    let mut show = |(index, event): (usize, &FeedEvent)| {
        let kind = EventType::parse(&event.kind)?;
        let before = events.get(index + 1).and_then(|before| before.data.as_ref());
        let mut changed = match (before, &event.data) {
            (Some(before), Some(after)) if kind == EventType::RowUpdated => changes(before, after),
            _ => Vec::new(),
        };
        let changed_besides = changed.len().saturating_sub(CHANGES_MAX);
        changed.truncate(CHANGES_MAX);
        let content = event.data.as_ref().map(|data| escaped(&indent(data.get())));
        room = room.saturating_sub(content.as_ref().map_or(0, String::len));
        let is_cut = content.is_some() && room == 0;
        Some(Event {
            what: what(&kind)?,
            at: event.at.clone(),
            by: names.of(&event.by),
            version: event.version,
            content: content.filter(|_| !is_cut),
            is_cut,
            changed,
            changed_besides,
        })
    };
    events.iter().enumerate().filter_map(&mut show).collect()
}

/// What one content has and another has not.
fn changes(before: &RawValue, after: &RawValue) -> Vec<Change> {
    Merge::of(before.get(), before.get(), after.get()).changes
}

/// What an event did to its row, in a word; `None` for one of the app.
const fn what(kind: &EventType) -> Option<&'static str> {
    Some(match kind {
        EventType::RowCreated => "Created",
        EventType::RowUpdated => "Changed",
        EventType::RowDeleted => "Deleted",
        EventType::RowRestored => "Restored",
        EventType::RowPurged => "Content destroyed",
        EventType::RowHidden => "Left your sight",
        EventType::AppDeployed
        | EventType::AppUpdated
        | EventType::AppDeleted
        | EventType::AppRestored
        | EventType::AppWoken
        | EventType::Custom(_)
        | EventType::Access(_) => return None,
    })
}
