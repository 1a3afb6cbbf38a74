//! A row of `apps` and the record that it means, whoever reads it.

use rookery_domain::{
    app::{AppRecord, ShareToken},
    secret::SecretHash,
};

use crate::columns::{FromColumns, Read, ReadColumns};

/// The columns of `apps` in the order in which an [`AppRecord`] is read from them.
macro_rules! app_columns {
    () => {
        "id, owner, created_by, slug, status, visibility, timezone, version, share_hash, \
         share_sealed, migration_until, unrestricted, retention, history, created_at, \
         updated_at, deleted_at, purge_at, org_id, opened_seq"
    };
}
pub(crate) use app_columns;

/// How many these are.
pub(super) const APP_COLUMNS: usize = 20;

/// Where its id stands among them.
pub(super) const ID: usize = 0;

/// Where it stands when it was made.
pub(super) const CREATED_AT: usize = 14;

impl FromColumns for AppRecord {
    const WHAT: &'static str = "AppRecord";

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        let share = columns.get::<Option<SecretHash>>(8)?.zip(columns.get(9)?);
        Ok(Self {
            id: columns.get(ID)?,
            owner: columns.get(1)?,
            created_by: columns.get(2)?,
            slug: columns.get(3)?,
            status: columns.get(4)?,
            visibility: columns.get(5)?,
            timezone: columns.get(6)?,
            version: columns.get(7)?,
            share: share.map(|(hash, sealed)| ShareToken { hash, sealed }),
            migration_until: columns.get(10)?,
            unrestricted: columns.get(11)?,
            retention: serde_json::from_str(columns.text(12)?).map_err(|e| e.to_string())?,
            history: columns.get(13)?,
            created_at: columns.get(CREATED_AT)?,
            updated_at: columns.get(15)?,
            deleted_at: columns.get(16)?,
            purge_at: columns.get(17)?,
            org: columns.get(18)?,
            opened_seq: columns.get(19)?,
        })
    }
}
