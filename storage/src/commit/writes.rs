//! What a group writes: rows, events, responses and all that goes with them.

use std::sync::Arc;

use rookery_domain::{
    Timestamp,
    app::AppRecord,
    budget::BudgetRecord,
    credentials::Credential,
    event::{Event, EventType},
    grants::Grant,
    id::TransferId,
    idempotency::{IdempotentRequest, StoredResponse},
    limits::AppsMax,
    members::Member,
    previews::Preview,
    principal::PrincipalKind,
    row::Row,
};

use super::RowState;
use crate::{participants::LASTING_TTL_S, versions::NewVersion};

/// What a row, an event or a stored response costs beside its content.
pub const ENTRY_BYTES: usize = 256;

/// What is written together, each list in the order in which it was decided.
#[derive(Default)]
pub struct Writes {
    /// Rows as they are afterwards.
    pub rows: Vec<RowWrite>,
    /// Keys whose content must also leave the stored feed events (purge).
    pub scrubs: Vec<Scrub>,
    /// Feed events, with the numbers that follow each other.
    pub events: Vec<Arc<Event>>,
    /// Write-budget counters as they are afterwards.
    pub budgets: Vec<BudgetRecord>,
    /// Challenge answers that are spent.
    pub spent_challenges: Vec<SpentChallenge>,
    /// First responses, to be replayed for their idempotency keys.
    pub idempotency: Vec<IdempotencyWrite>,
    /// A change of the app's record, or a new version.
    pub app_write: Option<Box<AppWrite>>,
    /// Members, grants, previews and credentials as they are afterwards.
    pub access: Vec<AccessWrite>,
}

/// How far a list of [`Writes`] had come.
#[derive(Debug, Clone, Copy)]
pub struct WritesMark {
    rows: usize,
    scrubs: usize,
    events: usize,
    budgets: usize,
    spent_challenges: usize,
    idempotency: usize,
    app_write: bool,
    access: usize,
}

impl Writes {
    /// Whether there is nothing to make durable.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
            && self.scrubs.is_empty()
            && self.events.is_empty()
            && self.budgets.is_empty()
            && self.spent_challenges.is_empty()
            && self.idempotency.is_empty()
            && self.app_write.is_none()
            && self.access.is_empty()
    }

    /// How far they have come.
    #[must_use]
    pub fn mark(&self) -> WritesMark {
        WritesMark {
            rows: self.rows.len(),
            scrubs: self.scrubs.len(),
            events: self.events.len(),
            budgets: self.budgets.len(),
            spent_challenges: self.spent_challenges.len(),
            idempotency: self.idempotency.len(),
            app_write: self.app_write.is_some(),
            access: self.access.len(),
        }
    }

    /// Drops what came after `mark`.
    pub fn truncate(&mut self, mark: WritesMark) {
        self.rows.truncate(mark.rows);
        self.scrubs.truncate(mark.scrubs);
        self.events.truncate(mark.events);
        self.budgets.truncate(mark.budgets);
        self.spent_challenges.truncate(mark.spent_challenges);
        self.idempotency.truncate(mark.idempotency);
        self.access.truncate(mark.access);
        if !mark.app_write {
            self.app_write = None;
        }
    }

    /// About how many bytes they are, for the bound on a batch.
    pub(crate) fn weight(&self) -> usize {
        let entries = self.rows.len() + self.events.len() + self.idempotency.len();
        let rows: usize = self.rows.iter().map(|write| write.row.data().len()).sum();
        let events: usize =
            self.events.iter().map(|event| content(event).map_or(0, str::len)).sum();
        let responses: usize = self.idempotency.iter().map(|write| write.response.body.len()).sum();
        let version = self.app_write.as_ref().and_then(|write| write.version.as_ref());
        let version = version.map_or(0, NewVersion::content_bytes);
        entries * ENTRY_BYTES + rows + events + responses + version
    }

    /// The visitors with a token alone who leave something in this group, and until when each is kept
    /// if it is the first time.
    pub(crate) fn visitors(&self) -> Vec<([u8; 16], Timestamp)> {
        let mut seen: Vec<([u8; 16], Timestamp)> = Vec::new();
        for Event { by, at, .. } in self.events.iter().map(|event| &**event) {
            if matches!(by.kind, PrincipalKind::Anonymous | PrincipalKind::Grant) {
                seen.push((by.id, at.plus_seconds(LASTING_TTL_S)));
            }
        }
        // A statement may change a row once.
        seen.sort_unstable();
        seen.dedup_by_key(|(id, _)| *id);
        seen
    }

    /// Bytes that it adds to what the app keeps beside its rows: events and responses.
    #[must_use]
    pub fn history_bytes(&self) -> u64 {
        let responses =
            self.stored_responses().map(|write| ENTRY_BYTES + write.response.body.len());
        events_bytes(&self.events) + responses.sum::<usize>() as u64
    }

    /// Whether this group purges the row, so that nothing in it may keep its content.
    pub(crate) fn scrubs(&self, collection: &str, key: &str) -> bool {
        self.scrubs.iter().any(|scrub| *scrub.collection == *collection && *scrub.key == *key)
    }

    /// Whether it purges the row after its event `seq`.
    fn purges_after(&self, seq: u64, collection: &str, key: &str) -> bool {
        self.scrubs(collection, key)
            && self.events.iter().any(|later| {
                later.seq > seq
                    && later.kind == EventType::RowPurged
                    && later.change.as_ref().is_some_and(|gone| {
                        *gone.collection == *collection && gone.row.key() == key
                    })
            })
    }

    /// What is stored as the event's data. A delete or a purge shows none; an event that a later
    /// purge of the same group scrubs is stored without it from the start.
    pub(crate) fn stored_content<'e>(&self, event: &'e Event) -> Option<&'e str> {
        let content = content(event)?;
        let Some(change) = &event.change else { return Some(content) };
        let purged_later = self.purges_after(event.seq, &change.collection, change.row.key());
        (!purged_later).then_some(content)
    }

    /// The responses that may be stored: none that quotes a row which a later purge of the same group
    /// destroys. One that was given after the purge quotes what came under the key since.
    pub(crate) fn stored_responses(&self) -> impl Iterator<Item = &IdempotencyWrite> {
        self.idempotency.iter().filter(|write| {
            let Some(collection) = &write.collection else { return true };
            let mut keys = write.row_keys.iter();
            !keys.any(|key| self.purges_after(write.seq, collection, key))
        })
    }
}

/// Bytes that events add to what an app keeps beside its rows.
pub(crate) fn events_bytes(events: &[Arc<Event>]) -> u64 {
    let bytes = events.iter().map(|event| ENTRY_BYTES + content(event).map_or(0, str::len));
    bytes.sum::<usize>() as u64
}

/// What an event would keep as its data, before purges are looked at.
fn content(event: &Event) -> Option<&str> {
    match (&event.kind, &event.change) {
        (EventType::RowDeleted | EventType::RowPurged, _) => None,
        (_, Some(change)) => Some(change.row.data()),
        (_, None) => event.data.as_deref(),
    }
}

/// One row as it is after a group. Purged rows are written without data.
#[derive(Debug, Clone)]
pub struct RowWrite {
    /// The collection.
    pub collection: Arc<str>,
    /// Key, content, version, principals and times.
    pub row: Arc<Row>,
    /// Live, trashed, purged or detached.
    pub state: RowState,
}

impl RowWrite {
    /// What is stored as the row's data: nothing once it is purged.
    pub(crate) fn stored_data(&self) -> Option<&str> {
        match self.state {
            RowState::Purged(_) => None,
            _ => Some(self.row.data()),
        }
    }
}

/// A row whose content leaves the stored events and the idempotency records that quote it.
#[derive(Debug, Clone)]
pub struct Scrub {
    /// The collection.
    pub collection: Arc<str>,
    /// The key.
    pub key: Box<str>,
}

/// A challenge answer that can never be used again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpentChallenge {
    /// The challenge's id.
    pub id: [u8; 32],
    /// When it expires: from then on it is refused anyway, and can be forgotten.
    pub expires_at: Timestamp,
}

/// A first response, kept for 24 hours and replayed for the same key and body.
#[derive(Clone, PartialEq, Eq)]
pub struct IdempotencyWrite {
    /// The request that it answers.
    pub request: IdempotentRequest,
    /// The response to it.
    pub response: StoredResponse,
    /// Whether an agent or a service credential asked. Its responses stay until those of visitors are gone.
    pub by_key: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// The app's newest event at that time: what is purged later is gone from it.
    pub seq: u64,
    /// The collection whose rows it quotes.
    pub collection: Option<Arc<str>>,
    /// The keys of the rows that it quotes, so that their purge finds it, and no other.
    pub row_keys: Box<[Box<str>]>,
}

rookery_domain::shown!(IdempotencyWrite: created_at, seq, collection);

impl IdempotencyWrite {
    /// The key of the single row it quotes: as most responses quote one, it has a column of its own.
    pub(crate) fn row_key(&self) -> Option<&str> {
        match &*self.row_keys {
            [key] => Some(key),
            _ => None,
        }
    }

    /// The keys as a JSON array, unless there is exactly one.
    pub(crate) fn many_row_keys(&self) -> Option<String> {
        if self.collection.is_none() || self.row_key().is_some() {
            return None;
        }
        // Strings, written to memory: there is nothing that could fail.
        Some(serde_json::to_string(&self.row_keys).unwrap_or_default())
    }
}

/// Something that says who may do what in an app, as it is after a group.
#[derive(Debug, Clone)]
pub enum AccessWrite {
    /// A member, or who was one until `removed_at`.
    Member {
        /// Who, and with which role.
        member: Arc<Member>,
        /// When it was removed.
        removed_at: Option<Timestamp>,
    },
    /// A grant link.
    Grant(Arc<Grant>),
    /// A preview token.
    Preview(Arc<Preview>),
    /// A service credential with its tokens.
    Credential(Arc<Credential>),
}

impl AccessWrite {
    /// What it is about: two writes with one key are of the same thing.
    #[must_use]
    pub fn key(&self) -> (u8, [u8; 16]) {
        match self {
            Self::Member { member, .. } => (0, member.human.uuid().into_bytes()),
            Self::Grant(grant) => (1, grant.id.uuid().into_bytes()),
            Self::Preview(preview) => (2, preview.id.uuid().into_bytes()),
            Self::Credential(credential) => (3, credential.id.uuid().into_bytes()),
        }
    }
}

/// A change of an app's own record that commits with its group.
#[derive(Debug, Clone)]
pub struct AppWrite {
    /// The record after the change.
    pub record: AppRecord,
    /// Whether the manifest or the owner bounds the rows of any collection after the change, so that the
    /// retention worker has to look at the app. `true` where nothing is bounded costs a useless look.
    pub bounded: bool,
    /// A version deployed with it.
    pub version: Option<NewVersion>,
    /// The offer that gives the app to the record's owner. It must still be pending, and it is
    /// gone when the app has its new owner, or neither happens.
    pub accepts: Option<TransferId>,
    /// How many apps the record's owner may have, where this one comes to count among them.
    pub apps_max: Option<AppsMax>,
}

impl AppWrite {
    /// A change of the record that brings nothing else with it.
    #[must_use]
    pub const fn of(record: AppRecord) -> Self {
        Self { record, bounded: true, version: None, accepts: None, apps_max: None }
    }
}
