//! The statements of a change of an app's record, and of a new version, inside a group's
//! transaction: the same on both databases.
//!
//! Parameters appear in the order of their numbers: SQLite takes `$1` for a name and numbers
//! names by their first appearance.

use rookery_domain::id::AppId;

use super::bound::Bound;
use crate::{
    apps::room,
    commit::{Abort, AppWrite},
    db::args,
    humans, versions,
};

/// The record after the change. The id, the slug, who created it, its history and when stay for
/// ever.
const UPDATE_APP: &str = "update apps set owner = $1, status = $2, visibility = $3, \
     timezone = $4, version = $5, share_hash = $6, share_sealed = $7, migration_until = $8, \
     unrestricted = $9, retention = $10, updated_at = $11, deleted_at = $12, purge_at = $13, \
     org_id = $14, opened_seq = $15, bounded = $16 where id = $17";

/// Ends an accepted offer; no row when it is gone.
const TAKE_OFFER: &str = "delete from transfers where id = $1 and app_id = $2";

/// Forgets old versions' files; their contents go when nothing else refers to them.
const DROP_ASSETS: &str = "delete from assets where app_id = $1 and version <= $2";

/// Forgets old versions.
const DROP_VERSIONS: &str = "delete from versions where app_id = $1 and number <= $2";

/// Everything that a group changes of its app's record, and the version that it deploys.
pub(super) fn statements(app: AppId, write: &AppWrite) -> Result<Vec<Bound>, Abort> {
    let mut bound = Vec::new();
    let owner = write.record.owner;
    if let Some(offer) = write.accepts {
        bound.push(Bound::or(TAKE_OFFER, args![offer, app], Abort::OfferGone));
    }
    if let Some(max) = write.apps_max {
        bound.push(Bound::or(humans::LOCK_OPEN, args![owner], Abort::AccountClosed));
        let rooms = room::statements(owner, app, max).into_iter();
        bound.extend(rooms.map(|(sql, args, full)| Bound::or(sql, args, Abort::AccountFull(full))));
    }
    bound.push(record(app, write)?);
    if let Some(one) = &write.version {
        let inserts = versions::inserts(app, one).into_iter();
        bound.extend(inserts.map(|(sql, args)| Bound::new(sql, args)));
        bound.push(Bound::new(DROP_ASSETS, args![app, one.drop_through]));
        bound.push(Bound::new(DROP_VERSIONS, args![app, one.drop_through]));
    }
    Ok(bound)
}

fn record(app: AppId, AppWrite { record, bounded, .. }: &AppWrite) -> Result<Bound, Abort> {
    let retention = serde_json::to_string(&record.retention)
        .map_err(|error| Abort::Refused(error.to_string()))?;
    let args = args![
        record.owner,
        record.status,
        record.visibility,
        &*record.timezone,
        record.version,
        record.share.as_ref().map(|share| share.hash),
        record.share.as_ref().map(|share| &*share.sealed),
        record.migration_until,
        record.unrestricted,
        retention,
        record.updated_at,
        record.deleted_at,
        record.purge_at,
        record.org,
        record.opened_seq,
        *bounded,
        app,
    ];
    Ok(Bound::or(UPDATE_APP, args, Abort::Refused("the app has no record".into())))
}
