//! The feed tells the rows' story: without a gap, each version once, and as a follower saw it.

use std::collections::BTreeMap;

use crate::{
    follower::{Event, Events},
    journal::Row,
    verdict::Violations,
};

/// Holds all events against the rows, and against what was seen while they happened.
pub(super) fn judge(
    events: &Events,
    seen: &Events,
    found: &BTreeMap<String, Row>,
    violations: &mut Violations,
) {
    let mut last = None;
    let mut told: BTreeMap<&str, &Event> = BTreeMap::new();
    for (seq, event) in events {
        violations.unless(last.is_none_or(|last| *seq == last + 1), || {
            format!("a gap in the feed between {last:?} and {seq}")
        });
        last = Some(*seq);
        if event.collection != "rows" {
            continue;
        }
        let before = told.insert(&event.key, event).map_or(0, |event| event.version);
        violations.unless(event.version == before + 1, || {
            format!("{}: event {seq} goes from version {before} to {}", event.key, event.version)
        });
    }
    for (key, row) in found {
        let Some(event) = told.remove(key.as_str()) else {
            violations.add(format!("{key}: a row without an event"));
            continue;
        };
        let says_deleted = event.kind == "row.deleted";
        let same = event.version == row.version
            && says_deleted == row.is_deleted
            && (says_deleted || event.data == row.data);
        violations.unless(same, || format!("{key}: the feed says {event:?}, the row is {row:?}"));
    }
    for (key, event) in told {
        violations.add(format!("{key}: {event:?} and no row"));
    }
    for (seq, event) in seen {
        let is = events.get(seq);
        violations.unless(is.is_some_and(|is| is_same(event, is, found)), || {
            format!("event {seq} was seen as {event:?} and is {is:?}")
        });
    }
}

/// Whether an event is what was seen. Data of a row that is in the trash by now is shown no more.
fn is_same(seen: &Event, is: &Event, found: &BTreeMap<String, Row>) -> bool {
    let is_hidden = is.data.is_null() && found.get(&is.key).is_some_and(|row| row.is_deleted);
    let same_data = seen.data == is.data || is_hidden;
    same_data && (Event { data: is.data.clone(), ..seen.clone() }) == *is
}
