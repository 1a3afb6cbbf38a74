//! The records of apps: found, listed and summed up. Making one is in [`create`], destroying one
//! in [`purge`]; a change of an existing record commits with a group of its app, in the writer.

pub mod create;
mod head;
mod list;
pub mod purge;
pub(crate) mod record;

use rookery_domain::{
    app::AppRecord,
    id::{AppId, HumanId},
    limits::AppsMax,
};

use crate::{
    db::{Db, args},
    decode,
    error::Result,
};

pub use head::{AppHead, CollectionCounts, KeptCounts, head};
pub use list::{AppFilter, AppsOf, Listed, list};
pub(crate) use record::{Columns, visibility_code};

/// The record of the app with this id, whatever its status.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn by_id(db: &Db, id: AppId) -> Result<Option<AppRecord>> {
    db.optional("select * from apps where id = $1", args![id])
        .await?
        .map(Columns::decode)
        .transpose()
}

/// The record of the app with this slug, whatever its status.
///
/// # Errors
/// Any [`crate::StorageError`].
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
/// Any [`crate::StorageError`].
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
/// Any [`crate::StorageError`].
pub async fn is_slug_free(db: &Db, slug: &str, owner: HumanId) -> Result<bool> {
    let kept: Option<(i32,)> = db.optional(KEPT_SLUG, args![slug, owner]).await?;
    Ok(kept.is_none() && by_slug(db, slug).await?.is_none())
}

/// The sums of an account as they are committed.
///
/// # Errors
/// Any [`crate::StorageError`].
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
/// Any [`crate::StorageError`].
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
/// Any [`crate::StorageError`].
pub async fn count(db: &Db) -> Result<u64> {
    let (apps,): (i64,) = db.one("select count(*) from apps where status <> 3", args![]).await?;
    decode::number("count of apps", apps)
}
