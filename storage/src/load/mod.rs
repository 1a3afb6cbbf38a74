//! Waking an app: everything its actor keeps in memory, read in one snapshot, or in two that show the
//! same.
//!
//! The caller has waited for the writer's barrier, so nothing of an earlier incarnation can still
//! land. Rows are decoded one by one: one that cannot be read is set aside and reported, and the
//! app starts without it. What is not here: HTML, contents of the trash, older events.

mod assemble;
mod postgres;
mod rows;
mod sqlite;

use std::sync::Arc;

use rookery_domain::{
    Timestamp, app::AppRecord, budget::BudgetRecord, credentials::Credential, event::Event,
    grants::Grant, id::AppId, members::Member, previews::Preview, row::Row,
};

use crate::{
    commit::{RowState, SpentChallenge, Totals},
    db::Db,
    error::{Result, StorageError},
};

/// What a load brings besides the rows.
#[derive(Debug, Clone, Copy)]
pub struct LoadOptions {
    /// The present: decides which budgets and challenges still matter.
    pub now: Timestamp,
    /// How many of the newest events to bring.
    pub tail_events: u32,
}

/// An app as it stands in storage.
#[derive(Debug)]
pub struct LoadedApp {
    /// Its record.
    pub record: AppRecord,
    /// How far it is written, and what it holds.
    pub head: Head,
    /// The text of the current version's manifest.
    pub manifest: Arc<str>,
    /// Live rows, by collection; none is empty.
    pub rows: Vec<LoadedRows>,
    /// Rows in the trash, purged or detached, in the order of collection and key.
    pub tombstones: Vec<Tombstone>,
    /// Rows that cannot be read. They count, and their keys are taken.
    pub poison: Vec<PoisonRow>,
    /// Write-budget counters from yesterday to the day after tomorrow: an app's calendar day begins at
    /// midnight of its own timezone, and tomorrow's count as well.
    pub budgets: Vec<BudgetRecord>,
    /// Challenge answers that are spent and have not expired.
    pub spent_challenges: Vec<SpentChallenge>,
    /// Who may do what besides the owner.
    pub access: LoadedAccess,
    /// The newest events in order, without a gap up to `head.last_seq`.
    pub tail: Vec<Arc<Event>>,
}

impl LoadedApp {
    /// The live rows of all collections.
    pub fn live_rows(&self) -> impl Iterator<Item = &Arc<Row>> {
        self.rows.iter().flat_map(|of_collection| &of_collection.rows)
    }
}

/// What still gives rights in an app: nothing that was removed or revoked, no expired preview.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadedAccess {
    /// Its members.
    pub members: Vec<Member>,
    /// Its grant links, the expired and used-up ones too.
    pub grants: Vec<Grant>,
    /// Its preview tokens.
    pub previews: Vec<Preview>,
    /// Its service credentials with the tokens that work.
    pub credentials: Vec<Credential>,
}

/// The app's head: how far it is written, and its totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The number of the newest event.
    pub last_seq: u64,
    /// Events up to this number may be gone.
    pub floor_seq: u64,
    /// The highest version of the purged rows whose tombstones are dropped.
    pub version_floor: u32,
    /// The totals as the last group left them.
    pub totals: Totals,
}

/// The live rows of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedRows {
    /// The collection, declared or not.
    pub collection: Arc<str>,
    /// In the order in which they are listed: by creation, those of one millisecond by key.
    pub rows: Vec<Arc<Row>>,
}

/// A row that is not served: its key and version are taken all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// Its collection.
    pub collection: Arc<str>,
    /// Its key.
    pub key: Box<str>,
    /// Its version.
    pub version: u32,
    /// Trashed, purged or detached.
    pub state: RowState,
    /// Bytes that count towards the quota: of key and data, 0 once purged.
    pub bytes: u64,
}

/// A stored row that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoisonRow {
    /// Its collection, as far as it can be read.
    pub collection: String,
    /// Its key, as far as it can be read.
    pub key: String,
    /// Its version, as far as it can be read: else 0.
    pub version: u32,
    /// Bytes of its key and data, as far as they can be read.
    pub bytes: u64,
    /// What is wrong with it, without its content.
    pub reason: String,
}

/// The app with this id. `None` when there is none, or it is being purged: that answers as if
/// it had never been.
///
/// # Errors
/// [`crate::StorageError::Corrupt`] when its record, head or manifest cannot be read, or any
/// other error of the database.
pub async fn load_app(db: &Db, app: AppId, options: LoadOptions) -> Result<Option<LoadedApp>> {
    let loaded = match db {
        Db::Sqlite(db) => sqlite::load(db.clone(), app, options).await,
        Db::Postgres(db) => postgres::load(db.clone(), app, options).await,
    };
    match db.soundness().broken() {
        // What is read may be what no later start finds.
        Some(why) => Err(StorageError::Aborted(why)),
        None => loaded,
    }
}
