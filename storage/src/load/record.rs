//! The app's record from its columns.

use std::sync::Arc;

use rookery_domain::{
    app::{AppRecord, AppStatus},
    id::{AgentId, AppId, HistoryId, HumanId},
    manifest::Visibility,
};
use uuid::Uuid;

use crate::codec::{Columns, Read};

/// The columns of `apps` in the order in which [`app_record`] reads them.
macro_rules! app_columns {
    () => {
        "id, owner, created_by, slug, status, visibility, timezone, version, share_hash, \
         share_sealed, migration_until, unrestricted, retention, history, created_at, \
         updated_at, deleted_at, purge_at"
    };
}
pub(crate) use app_columns;

/// The record in these columns.
pub(crate) fn app_record(columns: &impl Columns) -> Read<AppRecord> {
    Ok(AppRecord {
        id: AppId::from_uuid(uuid(columns.bytes(0)?)?),
        owner: HumanId::from_uuid(uuid(columns.bytes(1)?)?),
        created_by: columns.bytes_opt(2)?.map(uuid).transpose()?.map(AgentId::from_uuid),
        slug: Arc::from(columns.text(3)?),
        status: AppStatus::from_code(columns.int(4)?).ok_or("an unknown status")?,
        visibility: match columns.int(5)? {
            0 => Visibility::Private,
            1 => Visibility::Link,
            2 => Visibility::Public,
            _ => return Err("an unknown visibility".into()),
        },
        timezone: Arc::from(columns.text(6)?),
        version: columns.number(7)?,
        share_hash: columns
            .bytes_opt(8)?
            .map(|bytes| bytes.try_into().map_err(|_| "a hash of the wrong length"))
            .transpose()?,
        share_sealed: columns.text_opt(9)?.map(Arc::from),
        migration_until: columns.time_opt(10)?,
        unrestricted: columns.int(11)? != 0,
        retention: serde_json::from_str(columns.text(12)?)
            .map_err(|error| format!("retention: {error}"))?,
        history: HistoryId::from_uuid(uuid(columns.bytes(13)?)?),
        created_at: columns.time(14)?,
        updated_at: columns.time(15)?,
        deleted_at: columns.time_opt(16)?,
        purge_at: columns.time_opt(17)?,
    })
}

fn uuid(bytes: &[u8]) -> Read<Uuid> {
    Uuid::from_slice(bytes).map_err(|error| error.to_string())
}
