//! What happened to a row, as its page tells it.

use rookery_actors::feed;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    merge::{Change, Merge},
    record::{Names, Who},
    text::indent,
};
use crate::routes::site::words::At;

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
    /// What the event changed of it, where the feed still knows what was there before.
    pub changed: Vec<Change>,
}

/// An event of the feed.
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
    let show = |(index, event): (usize, &FeedEvent)| {
        let before = events.get(index + 1).and_then(|before| before.data.as_ref());
        let changed = match (before, &event.data) {
            (Some(before), Some(after)) if event.kind == "row.updated" => changes(before, after),
            _ => Vec::new(),
        };
        Event {
            what: what(&event.kind),
            at: event.at.clone(),
            by: names.of(&event.by),
            version: event.version,
            content: event.data.as_ref().map(|data| indent(data.get())),
            changed,
        }
    };
    events.iter().enumerate().map(show).collect()
}

/// What one content has and another has not.
fn changes(before: &RawValue, after: &RawValue) -> Vec<Change> {
    Merge::of(before.get(), before.get(), after.get()).changes
}

fn what(kind: &str) -> &'static str {
    match kind {
        "row.created" => "Created",
        "row.updated" => "Changed",
        "row.deleted" => "Deleted",
        "row.restored" => "Restored",
        "row.purged" => "Content destroyed",
        _ => "Left your sight",
    }
}
