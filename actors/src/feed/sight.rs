//! What one caller sees of each event, by the permissions in force now.
//!
//! The owner sees that every event happened, without gaps; content only where its read list shows
//! the row. Everybody else sees an event of a row they could read when it happened, with content
//! only if they may still read it. A row that left their sight is `row.hidden`.

use std::{collections::HashMap, fmt::Write as _, sync::Arc};

use rookery_domain::{
    access::{Authorship, RowScope, Tier},
    event::{Event, EventType, RowChange},
    query::cursor::FeedCursor,
    row::write_json_string,
    sealed::ServerKey,
};

use super::FeedEvent;
use crate::app::{read::View, root::CollectionState};

/// A caller's eyes on one published state.
pub(super) struct Sight<'a> {
    view: &'a View,
    collection: Option<&'a str>,
    key: &'a ServerKey,
    cursor: FeedCursor,
    scopes: HashMap<Arc<str>, RowScope>,
}

/// How an event is shown.
enum Shown {
    /// With the row's data as it was after the event.
    Whole,
    /// That it happened, and to which row.
    Outline,
    /// As `row.hidden`.
    Hidden,
}

impl<'a> Sight<'a> {
    pub(super) fn new(
        view: &'a View,
        collection: Option<&'a str>,
        key: &'a ServerKey,
        cursor: FeedCursor,
    ) -> Self {
        Self { view, collection, key, cursor, scopes: HashMap::new() }
    }

    /// The event as the caller sees it, if it does.
    pub(super) fn of(&mut self, event: &Event) -> Option<FeedEvent> {
        let shown = match &event.change {
            Some(change) => self.row(event, change)?,
            None => self.other(event)?,
        };
        let cursor = FeedCursor { seq: event.seq, ..self.cursor };
        let cursor = cursor.to_token(self.key, self.view.root.record.id);
        let kind = match shown {
            Shown::Hidden => EventType::RowHidden.name(),
            Shown::Whole | Shown::Outline => event.kind.name(),
        };
        let json = render(event, &shown, &kind, &cursor);
        Some(FeedEvent { cursor, kind: kind.into_owned(), json })
    }

    fn row(&mut self, event: &Event, change: &RowChange) -> Option<Shown> {
        if self.collection.is_some_and(|only| *only != *change.collection) {
            return None;
        }
        let owner = self.view.standing.is_owner();
        let unseen = owner.then_some(Shown::Outline);
        let Some(state) = self.view.root.collection(&change.collection) else { return unseen };
        let scope = self.scope(state);
        let after = Authorship::from(&*change.row);
        let before = Authorship { editor: change.previous_editor.unwrap_or(after.editor), ..after };
        let seen_after = scope.admits(after);
        let stays = [EventType::RowCreated, EventType::RowUpdated, EventType::RowRestored];
        if !stays.contains(&event.kind) {
            let was_there = event.kind != EventType::RowPurged || was_live(change);
            return if seen_after && was_there { Some(Shown::Outline) } else { unseen };
        }
        // A row that was made at the key of a deleted one is another row: it brings nothing back.
        let now = state.rows.get(change.row.key());
        let now = now.filter(|row| row.created_at == change.row.created_at);
        match (seen_after, now.map(|row| scope.admits(Authorship::from(&**row)))) {
            (true, Some(true)) => Some(Shown::Whole),
            (true, None) => Some(Shown::Outline),
            (true, _) if !owner => Some(Shown::Hidden),
            (false, _) if !owner && scope.admits(before) => Some(Shown::Hidden),
            _ => unseen,
        }
    }

    fn other(&self, event: &Event) -> Option<Shown> {
        let standing = &self.view.standing;
        if self.collection.is_some() {
            return None;
        }
        let visible = match event.kind {
            EventType::AppDeployed => true,
            // A service credential enumerates collections, and hears of those only.
            _ if standing.allowlist.is_some() => false,
            EventType::Access(_) => standing.is_owner(),
            EventType::Custom(_) => standing.tier >= Tier::Member || event.by == standing.principal,
            _ => standing.tier >= Tier::Member,
        };
        visible.then_some(Shown::Whole)
    }

    fn scope(&mut self, state: &CollectionState) -> RowScope {
        *self
            .scopes
            .entry(state.decl.name.clone())
            .or_insert_with(|| RowScope::readable(&self.view.standing, &state.decl))
    }
}

/// Whether a row was live until it was purged. What is left of one that had been deleted before, which
/// everybody who could read it was told then, has no time but that of the purge.
fn was_live(purged: &RowChange) -> bool {
    purged.row.created_at != purged.row.updated_at
}

fn render(event: &Event, shown: &Shown, kind: &str, cursor: &str) -> String {
    let mut out = String::with_capacity(320);
    let _ = write!(out, "{{\"seq\":{},\"cursor\":", event.seq);
    write_json_string(cursor, &mut out);
    out.push_str(",\"type\":");
    write_json_string(kind, &mut out);
    out.push_str(",\"at\":\"");
    event.at.write_rfc3339(&mut out);
    out.push_str("\",\"by\":");
    event.by.write_json(&mut out);
    if let Some(change) = &event.change {
        out.push_str(",\"collection\":");
        write_json_string(&change.collection, &mut out);
        out.push_str(",\"key\":");
        write_json_string(change.row.key(), &mut out);
        if !matches!(shown, Shown::Hidden) {
            let _ = write!(out, ",\"version\":{}", change.row.version);
        }
        if matches!(shown, Shown::Whole) && !change.row.data().is_empty() {
            out.push_str(",\"data\":");
            out.push_str(change.row.data());
        }
    } else if let Some(data) = &event.data {
        out.push_str(",\"data\":");
        out.push_str(data);
    }
    if event.silent {
        out.push_str(",\"silent\":true");
    }
    out.push('}');
    out
}
