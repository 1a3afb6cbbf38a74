//! The records of apps: found, listed and summed up. Making one is in [`create`], destroying one
//! in [`purge`]; a change of an existing record commits with a group of its app, in the writer.

pub mod create;
mod head;
mod list;
pub mod purge;

use std::sync::Arc;

use rookery_domain::{
    Timestamp,
    app::{AppRecord, AppStatus},
    id::{AppId, HumanId},
    limits::AppsMax,
    manifest::Visibility,
};
use sqlx::FromRow;

use crate::{
    db::{Db, args},
    decode,
    error::{Result, StorageError},
};

pub use head::{AppHead, CollectionCounts, KeptCounts, head};
pub use list::{AppFilter, AppsOf, Listed, list};

/// A row of `apps`.
#[derive(FromRow)]
pub(crate) struct Columns {
    pub(crate) id: Vec<u8>,
    pub(crate) owner: Vec<u8>,
    pub(crate) org_id: Option<Vec<u8>>,
    pub(crate) created_by: Option<Vec<u8>>,
    pub(crate) slug: String,
    pub(crate) status: i64,
    pub(crate) visibility: i64,
    pub(crate) timezone: String,
    pub(crate) version: i64,
    pub(crate) share_hash: Option<Vec<u8>>,
    pub(crate) share_sealed: Option<String>,
    pub(crate) migration_until: Option<i64>,
    pub(crate) unrestricted: i64,
    pub(crate) retention: String,
    pub(crate) history: Vec<u8>,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) deleted_at: Option<i64>,
    pub(crate) purge_at: Option<i64>,
}

impl Columns {
    pub(crate) fn decode(self) -> Result<AppRecord> {
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
            share_hash: decode::fixed_opt("apps.share_hash", self.share_hash.as_deref())?,
            share_sealed: self.share_sealed.map(Arc::from),
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

/// The record of the app with this id, whatever its status.
///
/// # Errors
/// Any [`StorageError`].
pub async fn by_id(db: &Db, id: AppId) -> Result<Option<AppRecord>> {
    db.optional("select * from apps where id = $1", args![id])
        .await?
        .map(Columns::decode)
        .transpose()
}

/// The record of the app with this slug, whatever its status.
///
/// # Errors
/// Any [`StorageError`].
pub async fn by_slug(db: &Db, slug: &str) -> Result<Option<AppRecord>> {
    db.optional("select * from apps where slug = $1", args![slug])
        .await?
        .map(Columns::decode)
        .transpose()
}

/// What an account holds, over all its apps that are live or closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccountSums {
    /// Apps.
    pub apps: u64,
    /// Rows that count towards a quota.
    pub rows: u64,
    /// Bytes of their keys and data.
    pub bytes: u64,
}

/// A row, when an account has room for one more app. `$1` the account, `$2` and `$3` the
/// [`AppsMax`]: of apps in the trash, and of others.
pub(crate) const ROOM: &str = "select 1 where
     (select count(*) from apps where owner = $1 and status in (0, 2))
     + (select case when count(*) > $2 then count(*) - $2 else 0 end
        from apps where owner = $1 and status = 1) < $3";

/// Whether an account has room for one more app, as far as it can be seen beforehand: whatever
/// adds one asks again in its transaction.
///
/// # Errors
/// Any [`StorageError`].
pub async fn has_room(db: &Db, owner: HumanId, max: AppsMax) -> Result<bool> {
    let room: Option<(i32,)> = db.optional(ROOM, args![owner, max.trashed, max.kept]).await?;
    Ok(room.is_some())
}

/// A row, when a slug was that of a destroyed app which another account owned last. `$1` the slug, `$2`
/// the account.
pub(crate) const KEPT_SLUG: &str = "select 1 from former_slugs where slug = $1 and owner <> $2";

/// Whether `owner` may have an app with this slug, as far as it can be seen beforehand.
///
/// # Errors
/// Any [`StorageError`].
pub async fn is_slug_free(db: &Db, slug: &str, owner: HumanId) -> Result<bool> {
    let kept: Option<(i32,)> = db.optional(KEPT_SLUG, args![slug, owner]).await?;
    Ok(kept.is_none() && by_slug(db, slug).await?.is_none())
}

/// The sums of an account as they are committed.
///
/// # Errors
/// Any [`StorageError`].
pub async fn account_sums(db: &Db, owner: HumanId) -> Result<AccountSums> {
    let (apps, rows, bytes): (i64, i64, i64) = db
        .one(
            "select count(*),
                    cast(coalesce(sum(h.live + h.detached), 0) as bigint),
                    cast(coalesce(sum(h.bytes), 0) as bigint)
             from apps a left join app_head h on h.app_id = a.id
             where a.owner = $1 and a.status in (0, 2)",
            args![owner],
        )
        .await?;
    Ok(AccountSums {
        apps: decode::number("count of apps", apps)?,
        rows: decode::number("sum of rows", rows)?,
        bytes: decode::number("sum of bytes", bytes)?,
    })
}

/// The data of some live rows of a collection, the newest first.
///
/// # Errors
/// Any [`StorageError`].
pub async fn sample(db: &Db, app: AppId, collection: &str, limit: u32) -> Result<Vec<String>> {
    let rows: Vec<(String,)> = db
        .all(
            "select data from rows where app_id = $1 and collection = $2 and state = 0
             order by created_at desc, key desc limit $3",
            args![app, collection, limit],
        )
        .await?;
    Ok(rows.into_iter().map(|(data,)| data).collect())
}

/// How many apps there are, those in the trash included and those being destroyed not.
///
/// # Errors
/// Any [`StorageError`].
pub async fn count(db: &Db) -> Result<u64> {
    let (apps,): (i64,) = db.one("select count(*) from apps where status <> 3", args![]).await?;
    decode::number("count of apps", apps)
}
