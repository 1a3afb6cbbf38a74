//! Which apps bound the age or number of their rows, and how far a collection reaches: what the
//! retention worker asks so that it wakes only apps that have something to prune.

use std::collections::BTreeMap;

use rookery_domain::{Timestamp, id::AppId, manifest::Retention};

use crate::{
    db::{Db, args},
    decode,
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

/// The apps with an id above `after` that may have bounds, in the order of their ids.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn bounded(db: &Db, after: Option<AppId>, limit: u32) -> Result<Vec<Bounded>> {
    let after = after.map_or([0; 16], |id| id.uuid().into_bytes());
    let found: Vec<(Vec<u8>, String, String)> = db
        .all(
            "select a.id, a.retention, v.manifest from apps a
             join versions v on v.app_id = a.id and v.number = a.version
             where a.id > $1 and a.status = 0 and a.bounded = 1
             order by a.id limit $2",
            args![after, limit],
        )
        .await?;
    found
        .into_iter()
        .map(|(id, overrides, manifest)| {
            Ok(Bounded {
                app: decode::id("apps.id", &id)?,
                overrides: serde_json::from_str(&overrides).ok(),
                manifest,
            })
        })
        .collect()
}

/// How far the live rows of a collection reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// How many there are.
    pub live: u64,
    /// When the oldest was created.
    pub oldest: Option<Timestamp>,
}

/// The extent of a collection, as it is committed.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn extent(db: &Db, app: AppId, collection: &str) -> Result<Extent> {
    let (live, oldest): (i64, Option<i64>) = db
        .one(
            "select count(*), min(created_at) from rows
             where app_id = $1 and collection = $2 and state = 0",
            args![app, collection],
        )
        .await?;
    Ok(Extent { live: decode::number("count of rows", live)?, oldest: oldest.map(Timestamp) })
}
