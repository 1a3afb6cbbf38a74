//! Which apps bound the age or number of their rows, and how far a collection reaches: what the
//! retention worker asks so that it wakes only apps that have something to prune.

use std::collections::BTreeMap;

use rookery_domain::{Timestamp, id::AppId, manifest::Retention};

use crate::{
    columns::{FromColumns, Read, ReadColumns, record},
    db::{Db, args, by_id},
    error::Result,
};

/// A live app that may have bounds: its manifest or its owner names some.
#[derive(Debug, Clone)]
pub struct Bounded {
    /// The app.
    pub app: AppId,
    /// The owner's overrides by collection; `None` when they cannot be read.
    pub overrides: Option<BTreeMap<String, Retention>>,
    /// The text of the manifest in force.
    pub manifest: String,
}

impl FromColumns for Bounded {
    const WHAT: &'static str = "Bounded";

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        Ok(Self {
            app: columns.get(0)?,
            overrides: serde_json::from_str(columns.text(1)?).ok(),
            manifest: columns.get(2)?,
        })
    }
}

/// The apps with an id above `after` that may have bounds, in the order of their ids.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn bounded(db: &Db, after: Option<AppId>, limit: u32) -> Result<Vec<Bounded>> {
    db.all(
        "select a.id, a.retention, v.manifest from apps a
         join versions v on v.app_id = a.id and v.number = a.version
         where a.id > $1 and a.status = 0 and a.bounded = 1
         order by a.id limit $2",
        args![by_id(after), limit],
    )
    .await
}

/// How far the live rows of a collection reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// How many there are.
    pub live: u64,
    /// When the oldest was created.
    pub oldest: Option<Timestamp>,
}

record!(Extent: live, oldest);

/// The extent of a collection, as it is committed.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn extent(db: &Db, app: AppId, collection: &str) -> Result<Extent> {
    db.one(
        "select count(*), min(created_at) from rows
         where app_id = $1 and collection = $2 and state = 0",
        args![app, collection],
    )
    .await
}
