//! A row of `apps` and the record that it means, whoever reads it.

use rookery_domain::{
    Timestamp,
    app::{AppRecord, AppStatus, ShareToken},
    manifest::Visibility,
    secret::SecretHash,
};
use sqlx::FromRow;

use crate::{
    codec::{Read, ReadColumns},
    decode,
    error::{Result, StorageError},
};

/// The columns of `apps` in the order in which [`Columns::read`] reads them.
macro_rules! app_columns {
    () => {
        "id, owner, created_by, slug, status, visibility, timezone, version, share_hash, \
         share_sealed, migration_until, unrestricted, retention, history, created_at, \
         updated_at, deleted_at, purge_at, org_id"
    };
}
pub(crate) use app_columns;

/// A row of `apps`, by name or by position.
#[derive(FromRow)]
pub(crate) struct Columns {
    id: Vec<u8>,
    owner: Vec<u8>,
    org_id: Option<Vec<u8>>,
    created_by: Option<Vec<u8>>,
    slug: String,
    status: i64,
    visibility: i64,
    timezone: String,
    version: i64,
    share_hash: Option<Vec<u8>>,
    share_sealed: Option<String>,
    migration_until: Option<i64>,
    unrestricted: i64,
    retention: String,
    history: Vec<u8>,
    created_at: i64,
    updated_at: i64,
    deleted_at: Option<i64>,
    purge_at: Option<i64>,
}

impl Columns {
    /// What stands in these columns, by position.
    pub(crate) fn read(columns: &impl ReadColumns) -> Read<Self> {
        Ok(Self {
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

    /// The record that they mean.
    pub(crate) fn decode(self) -> Result<AppRecord> {
        let share_hash = decode::fixed_opt("apps.share_hash", self.share_hash.as_deref())?;
        let share = share_hash.zip(self.share_sealed);
        Ok(AppRecord {
            id: decode::id("apps.id", &self.id)?,
            owner: decode::id("apps.owner", &self.owner)?,
            org: decode::id_opt("apps.org_id", self.org_id.as_deref())?,
            created_by: decode::id_opt("apps.created_by", self.created_by.as_deref())?,
            slug: self.slug.into(),
            status: AppStatus::from_code(self.status)
                .ok_or_else(|| StorageError::corrupt("apps.status", self.status))?,
            visibility: visibility(self.visibility)?,
            timezone: self.timezone.into(),
            version: decode::number("apps.version", self.version)?,
            share: share
                .map(|(hash, sealed)| ShareToken { hash: SecretHash(hash), sealed: sealed.into() }),
            migration_until: self.migration_until.map(Timestamp),
            unrestricted: self.unrestricted != 0,
            retention: serde_json::from_str(&self.retention)
                .map_err(|error| StorageError::corrupt("apps.retention", error))?,
            history: decode::id("apps.history", &self.history)?,
            created_at: Timestamp(self.created_at),
            updated_at: Timestamp(self.updated_at),
            deleted_at: self.deleted_at.map(Timestamp),
            purge_at: self.purge_at.map(Timestamp),
        })
    }
}

pub(crate) const fn visibility_code(visibility: Visibility) -> i64 {
    match visibility {
        Visibility::Private => 0,
        Visibility::Link => 1,
        Visibility::Public => 2,
    }
}

fn visibility(code: i64) -> Result<Visibility> {
    match code {
        0 => Ok(Visibility::Private),
        1 => Ok(Visibility::Link),
        2 => Ok(Visibility::Public),
        _ => Err(StorageError::corrupt("apps.visibility", code)),
    }
}
