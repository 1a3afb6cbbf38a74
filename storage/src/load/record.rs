//! The app's record, read by position; what its columns mean is with the records of apps.

use crate::{
    apps,
    codec::{Columns, Read},
};

/// The columns of `apps` in the order in which [`stored`] reads them.
macro_rules! app_columns {
    () => {
        "id, owner, created_by, slug, status, visibility, timezone, version, share_hash, \
         share_sealed, migration_until, unrestricted, retention, history, created_at, \
         updated_at, deleted_at, purge_at, org_id"
    };
}
pub(super) use app_columns;

/// The record in these columns, not yet decoded.
pub(super) fn stored(columns: &impl Columns) -> Read<apps::Columns> {
    Ok(apps::Columns {
        id: columns.bytes(0)?.to_vec(),
        owner: columns.bytes(1)?.to_vec(),
        created_by: columns.bytes_opt(2)?.map(<[u8]>::to_vec),
        slug: columns.text(3)?.to_owned(),
        status: columns.int(4)?,
        visibility: columns.int(5)?,
        timezone: columns.text(6)?.to_owned(),
        version: columns.int(7)?,
        share_hash: columns.bytes_opt(8)?.map(<[u8]>::to_vec),
        share_sealed: columns.text_opt(9)?.map(str::to_owned),
        migration_until: columns.int_opt(10)?,
        unrestricted: columns.int(11)?,
        retention: columns.text(12)?.to_owned(),
        history: columns.bytes(13)?.to_vec(),
        created_at: columns.int(14)?,
        updated_at: columns.int(15)?,
        deleted_at: columns.int_opt(16)?,
        purge_at: columns.int_opt(17)?,
        org_id: columns.bytes_opt(18)?.map(<[u8]>::to_vec),
    })
}
