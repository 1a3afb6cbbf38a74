//! What an app holds, as its head says: what the last commit left, so that nobody has to look at
//! its rows or its manifest to describe it.

use std::sync::Arc;

use rookery_domain::id::AppId;
use serde::Serializer as _;

use crate::{
    columns::{FromColumns, Read, ReadColumns},
    commit::Totals,
    db::{Db, args},
    error::{Result, StorageError},
};

/// How many rows a collection holds, by their state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionCounts {
    /// Its name; it need not be in the manifest any more.
    pub name: Arc<str>,
    /// Live rows: those that are served.
    pub live: u64,
    /// Rows in the trash.
    pub trashed: u64,
    /// Rows detached by a forced deploy.
    pub detached: u64,
}

impl CollectionCounts {
    /// The counts of a collection that has nothing but `live` rows.
    #[must_use]
    pub const fn of_live(name: Arc<str>, live: u64) -> Self {
        Self { name, live, trashed: 0, detached: 0 }
    }
}

/// The counts of all collections of an app as its head keeps them: those that the manifest in
/// force declares, then removed ones that still have rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptCounts(Box<str>);

impl KeptCounts {
    /// As they are written down: `[["entries", 2, 0, 0], …]`, the numbers in the order of
    /// [`CollectionCounts`].
    #[must_use]
    pub fn of(all: impl IntoIterator<Item = CollectionCounts>) -> Self {
        let tuples = all.into_iter().map(|one| (one.name, one.live, one.trashed, one.detached));
        let mut text = Vec::with_capacity(64);
        // Names and numbers, written to memory: there is nothing that could fail.
        let _ = serde_json::Serializer::new(&mut text).collect_seq(tuples);
        Self(String::from_utf8(text).unwrap_or_default().into_boxed_str())
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// As they were before they were written down.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] when it is not what [`KeptCounts::of`] writes.
    pub fn read(&self) -> Result<Vec<CollectionCounts>> {
        let all: Vec<(Arc<str>, u64, u64, u64)> = serde_json::from_str(&self.0)
            .map_err(|error| StorageError::corrupt("app_head.collections", error))?;
        let one =
            |(name, live, trashed, detached)| CollectionCounts { name, live, trashed, detached };
        Ok(all.into_iter().map(one).collect())
    }
}

/// What an app holds after its last commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppHead {
    /// The number of its newest event.
    pub seq: u64,
    /// What counts towards its quotas.
    pub totals: Totals,
    /// Its collections, as [`KeptCounts`] lists them.
    pub collections: Vec<CollectionCounts>,
}

/// The columns of `app_head` in the order in which [`AppHead::at`] reads them.
macro_rules! head_columns {
    () => {
        "last_seq, live, trashed, detached, bytes, trashed_bytes, collections"
    };
}
pub(super) use head_columns;

impl AppHead {
    /// The head whose columns start at `at`.
    pub(super) fn at(at: usize, columns: &impl ReadColumns) -> Read<Self> {
        let totals = Totals {
            live: columns.get(at + 1)?,
            trashed: columns.get(at + 2)?,
            detached: columns.get(at + 3)?,
            bytes: columns.get(at + 4)?,
            trashed_bytes: columns.get(at + 5)?,
        };
        let counts = KeptCounts(columns.get(at + 6)?);
        let collections = counts.read().map_err(|error| error.to_string())?;
        Ok(Self { seq: columns.get(at)?, totals, collections })
    }
}

impl FromColumns for AppHead {
    const WHAT: &'static str = "AppHead";

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        Self::at(0, columns)
    }
}

/// The head of an app; `None` when there is no such app.
///
/// # Errors
/// Any [`StorageError`].
pub async fn head(db: &Db, app: AppId) -> Result<Option<AppHead>> {
    let sql = concat!("select ", head_columns!(), " from app_head where app_id = $1");
    db.optional(sql, args![app]).await
}
