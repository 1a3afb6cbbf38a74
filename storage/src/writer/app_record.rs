//! The statements of a change of an app's record, and of a new version, inside a group's
//! transaction: the same on both databases.
//!
//! Parameters appear in the order of their numbers: SQLite takes `$1` for a name and numbers
//! names by their first appearance.

use rookery_domain::{app::AppRecord, id::AppId};

use super::{bound::Bound, failure::Failure};
use crate::{
    apps::{self, visibility_code},
    codec::principal_bytes,
    commit::{AppWrite, NewVersion},
    db::args,
};

/// The record after the change. The id, the slug, who created it, its history and when stay for
/// ever.
const UPDATE_APP: &str = "update apps set owner = $1, status = $2, visibility = $3, \
     timezone = $4, version = $5, share_hash = $6, share_sealed = $7, migration_until = $8, \
     unrestricted = $9, retention = $10, updated_at = $11, deleted_at = $12, purge_at = $13, \
     org_id = $14 where id = $15";

/// Ends an accepted offer; no row when it is gone.
const TAKE_OFFER: &str = "delete from transfers where id = $1 and app_id = $2";

/// Locks an account as every creation of an app does; no row when it is closed. What was committed
/// before is then counted by [`apps::ROOM`].
const LOCK_ACCOUNT: &str = "update humans set name = name where id = $1 and closed_at is null";

/// A version without its assets.
const INSERT_VERSION: &str = "insert into versions \
     (app_id, number, html, manifest, created_by, created_at) \
     values ($1, $2, $3, $4, $5, $6)";

/// The content of an asset, unless it is there; it is marked as used either way.
const UPSERT_BLOB: &str = "insert into blobs (sha256, bytes, seen_at) \
     values ($1, $2, $3) on conflict (sha256) do update set seen_at = excluded.seen_at";

/// One file of a version.
const INSERT_ASSET: &str = "insert into assets \
     (app_id, version, path, content_type, sha256, size) values ($1, $2, $3, $4, $5, $6)";

/// Forgets old versions' files; their contents go when nothing else refers to them.
const DROP_ASSETS: &str = "delete from assets where app_id = $1 and version <= $2";

/// Forgets old versions.
const DROP_VERSIONS: &str = "delete from versions where app_id = $1 and number <= $2";

/// Everything that a group changes of its app's record, and the version that it deploys.
pub(super) fn statements(app: AppId, write: &AppWrite) -> Result<Vec<Bound>, Failure> {
    let mut bound = Vec::new();
    let owner = write.record.owner;
    if let Some(offer) = write.accepts {
        bound.push(Bound::or(TAKE_OFFER, args![offer, app], Failure::OfferGone));
    }
    if let Some(max) = write.apps_max {
        bound.push(Bound::or(LOCK_ACCOUNT, args![owner], Failure::AccountFull));
        let args = args![owner, max.trashed, max.kept];
        bound.push(Bound::or(apps::ROOM, args, Failure::AccountFull));
    }
    bound.push(record(app, &write.record)?);
    if let Some(one) = &write.version {
        version(&mut bound, app, one);
    }
    Ok(bound)
}

fn record(app: AppId, record: &AppRecord) -> Result<Bound, Failure> {
    let retention = serde_json::to_string(&record.retention)
        .map_err(|error| Failure::Refused(error.to_string()))?;
    let args = args![
        record.owner,
        record.status.code(),
        visibility_code(record.visibility),
        &*record.timezone,
        record.version,
        record.share_hash,
        record.share_sealed.as_deref(),
        record.migration_until,
        record.unrestricted,
        retention,
        record.updated_at,
        record.deleted_at,
        record.purge_at,
        record.org,
        app,
    ];
    Ok(Bound::or(UPDATE_APP, args, Failure::Refused("the app has no record".into())))
}

fn version(bound: &mut Vec<Bound>, app: AppId, version: &NewVersion) {
    let (number, made) = (version.number, version.created_at);
    bound.push(Bound::new(
        INSERT_VERSION,
        args![app, number, &*version.html, &*version.manifest, principal_bytes(version.by), made,],
    ));
    // In one order for everybody, so that two deploys of the same files never wait in a ring.
    let mut files: Vec<_> = version.assets.iter().collect();
    files.sort_by_key(|file| file.sha256);
    for file in files {
        bound.push(Bound::new(UPSERT_BLOB, args![file.sha256, file.bytes.clone(), made]));
        let size = file.bytes.len() as u64;
        let (path, kind) = (&*file.path, &*file.content_type);
        bound.push(Bound::new(INSERT_ASSET, args![app, number, path, kind, file.sha256, size]));
    }
    bound.push(Bound::new(DROP_ASSETS, args![app, version.drop_through]));
    bound.push(Bound::new(DROP_VERSIONS, args![app, version.drop_through]));
}
