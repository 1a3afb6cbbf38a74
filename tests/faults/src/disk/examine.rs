//! Opens what a power loss has left, as the server would at its start, and looks whether it is
//! whole and holds what was acknowledged.

use std::{collections::HashMap, path::Path};

use rookery_domain::{id::AppId, time::Clock};
use rookery_storage::{
    Db, StorageOptions, apps, feed, integrity,
    load::{LoadOptions, LoadedApp, load_app},
};

/// Events of a page.
const PAGE: u32 = 1_000;

/// What was found in an image.
#[derive(Debug, Default)]
pub struct Found {
    /// What is not whole.
    pub corrupt: Vec<String>,
    /// Every row's version, deleted ones included.
    pub versions: HashMap<String, u64>,
}

/// Opens the database in `folder` and reads all of one app.
pub async fn examine(folder: &Path, app: AppId) -> Found {
    let mut found = Found::default();
    let db = match Db::connect(&StorageOptions::sqlite(folder)).await {
        Ok(db) => db,
        Err(error) => {
            found.corrupt.push(format!("it does not open: {error}"));
            return found;
        }
    };
    if let Err(error) = integrity::check(&db).await {
        found.corrupt.push(error.to_string());
    }
    let options = LoadOptions { now: Clock::system().now(), tail_events: 1 };
    match load_app(&db, app, options).await {
        Ok(Some(loaded)) => {
            judge_rows(&loaded, &mut found);
            judge_counts(&db, app, &loaded, &mut found).await;
            judge_feed(&db, app, &loaded, &mut found).await;
        }
        Ok(None) => found.corrupt.push("the app is gone".to_owned()),
        Err(error) => found.corrupt.push(error.to_string()),
    }
    db.close().await;
    found
}

/// The rows are readable, and the counters agree with them.
fn judge_rows(loaded: &LoadedApp, found: &mut Found) {
    for poison in &loaded.poison {
        found.corrupt.push(format!("row {}: {}", poison.key, poison.reason));
    }
    let (mut live, mut bytes, mut trashed_bytes) = (0, 0, 0);
    for row in loaded.live_rows() {
        live += 1;
        bytes += row.stored_bytes();
        found.versions.insert(row.key().to_string(), row.version.into());
    }
    for tombstone in &loaded.tombstones {
        trashed_bytes += tombstone.bytes;
        found.versions.insert(tombstone.key.to_string(), tombstone.version.into());
    }
    let head = loaded.head.totals;
    let same = head.live == live
        && head.trashed == loaded.tombstones.len() as u64
        && head.bytes == bytes
        && head.trashed_bytes == trashed_bytes;
    if !same {
        let trashed = loaded.tombstones.len();
        found.corrupt.push(format!(
            "counted {head:?}, are {live} of {bytes} bytes and {trashed} of {trashed_bytes}"
        ));
    }
}

/// What the head says of the collections agrees with the rows.
async fn judge_counts(db: &Db, app: AppId, loaded: &LoadedApp, found: &mut Found) {
    let counts = match apps::head(db, app).await {
        Ok(head) => head.map(|head| head.collections).unwrap_or_default(),
        Err(error) => return found.corrupt.push(format!("the head: {error}")),
    };
    let live: u64 = counts.iter().map(|one| one.live).sum();
    let trashed: u64 = counts.iter().map(|one| one.trashed).sum();
    if live != loaded.live_rows().count() as u64 || trashed != loaded.tombstones.len() as u64 {
        found.corrupt.push(format!("the head counts {counts:?}"));
    }
}

/// The feed has no gap and ends where the head and the rows do.
async fn judge_feed(db: &Db, app: AppId, loaded: &LoadedApp, found: &mut Found) {
    let last_seq = loaded.head.last_seq;
    let mut told: HashMap<String, u64> = HashMap::new();
    let mut after = loaded.head.floor_seq;
    while after < last_seq {
        let events = match feed::events_after(db, app, after, last_seq, PAGE).await {
            Ok(events) => events,
            Err(error) => return found.corrupt.push(format!("the feed: {error}")),
        };
        for event in &events {
            after = event.seq;
            if let Some(change) = &event.change {
                told.insert(change.row.key().to_string(), change.row.version.into());
            }
        }
        if events.is_empty() {
            return found.corrupt.push(format!("the feed ends at {after}, not at {last_seq}"));
        }
    }
    if told != found.versions {
        found.corrupt.push("the feed and the rows tell different stories".to_owned());
    }
}
