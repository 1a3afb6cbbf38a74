//! The statements of an app write, which are the same on both databases.
//!
//! Parameters appear in the order of their numbers: SQLite takes `$1` for a name and numbers
//! names by their first appearance.

use rookery_domain::app::AppRecord;

use super::failure::Failure;
use crate::{apps, commit::Asset};

/// The record after the change. The id, who created it, its history and when stay for ever.
pub(super) const UPDATE_APP: &str = "update apps set owner = $1, slug = $2, status = $3, \
     visibility = $4, timezone = $5, version = $6, share_hash = $7, share_sealed = $8, \
     migration_until = $9, unrestricted = $10, retention = $11, updated_at = $12, \
     deleted_at = $13, purge_at = $14, org_id = $15 where id = $16";

/// Ends an accepted offer; no row when it is gone.
pub(super) const TAKE_OFFER: &str = "delete from transfers where id = $1 and app_id = $2";

/// Makes sure that an account is open and has room for one more app; no row of either when not.
/// The first one locks the account as every creation of an app does, and the second one counts
/// what was committed before that.
pub(super) const ROOM_FOR_APP: [&str; 2] =
    ["update humans set name = name where id = $1 and closed_at is null", apps::ROOM];

/// How SQLite names the column of a taken slug.
pub(super) const SLUG_COLUMN: &str = "apps.slug";

/// A version without its assets.
pub(super) const INSERT_VERSION: &str = "insert into versions \
     (app_id, number, html, manifest, created_by, created_at) \
     values ($1, $2, $3, $4, $5, $6)";

/// The content of an asset, unless it is there; it is marked as used either way.
pub(super) const UPSERT_BLOB: &str = "insert into blobs (sha256, bytes, seen_at) \
     values ($1, $2, $3) on conflict (sha256) do update set seen_at = excluded.seen_at";

/// One file of a version.
pub(super) const INSERT_ASSET: &str = "insert into assets \
     (app_id, version, path, content_type, sha256, size) values ($1, $2, $3, $4, $5, $6)";

/// Forgets old versions' files; their contents go when nothing else refers to them.
pub(super) const DROP_ASSETS: &str = "delete from assets where app_id = $1 and version <= $2";

/// Forgets old versions.
pub(super) const DROP_VERSIONS: &str = "delete from versions where app_id = $1 and number <= $2";

/// The owner's retention overrides as a column.
pub(super) fn retention_text(record: &AppRecord) -> Result<String, Failure> {
    serde_json::to_string(&record.retention).map_err(|error| Failure::Refused(error.to_string()))
}

/// An asset's bytes as a column.
pub(super) fn size(asset: &Asset) -> i64 {
    asset.bytes.len().try_into().unwrap_or(i64::MAX)
}

/// A bound as a parameter.
pub(super) fn count(max: u64) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}
