//! The records of apps: found, listed and summed up. Making one is in [`create`], destroying one
//! in [`purge`]; a change of an existing record commits with a group of its app, in the writer.

pub mod create;
mod head;
mod list;
pub mod purge;
pub(crate) mod record;
pub mod room;

use rookery_domain::{
    app::AppRecord,
    id::{AppId, HumanId},
};

use crate::{
    columns::record,
    db::{Db, args},
    error::Result,
};

pub use head::{AppHead, CollectionCounts, KeptCounts, head};
use record::app_columns;

pub use list::{AppFilter, AppPage, AppsOf, Listed, list};

/// The record of the app with this id, whatever its status.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn by_id(db: &Db, id: AppId) -> Result<Option<AppRecord>> {
    db.optional(concat!("select ", app_columns!(), " from apps where id = $1"), args![id]).await
}

/// The record of the app with this slug, whatever its status.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn by_slug(db: &Db, slug: &str) -> Result<Option<AppRecord>> {
    db.optional(concat!("select ", app_columns!(), " from apps where slug = $1"), args![slug]).await
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
    /// Apps in the trash, of which nothing else counts.
    pub trashed: u64,
}

record!(AccountSums: apps, rows, bytes, trashed);

/// A row, when a slug was that of a destroyed app which another account owned last. `$1` the slug, `$2`
/// the account.
pub(crate) const KEPT_SLUG: &str = "select 1 from former_slugs where slug = $1 and owner <> $2";

/// Whether `owner` may have an app with this slug, as far as it can be seen beforehand.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn is_slug_free(db: &Db, slug: &str, owner: HumanId) -> Result<bool> {
    let is_kept = db.exists(KEPT_SLUG, args![slug, owner]).await?;
    Ok(!is_kept && by_slug(db, slug).await?.is_none())
}

/// The sums of an account as they are committed.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn account_sums(db: &Db, owner: HumanId) -> Result<AccountSums> {
    db.one(
        "select count(*),
                cast(coalesce(sum(h.live + h.detached), 0) as bigint),
                cast(coalesce(sum(h.bytes), 0) as bigint),
                (select count(*) from apps where owner = $1 and status = 1)
         from apps a left join app_head h on h.app_id = a.id
         where a.owner = $1 and a.status in (0, 2)",
        args![owner],
    )
    .await
}

/// The data of some live rows of a collection, the newest first.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn sample(db: &Db, app: AppId, collection: &str, limit: u32) -> Result<Vec<String>> {
    db.column(
        "select data from rows where app_id = $1 and collection = $2 and state = 0
         order by created_at desc, key desc limit $3",
        args![app, collection, limit],
    )
    .await
}

/// How many apps there are, those in the trash included and those being destroyed not.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn count(db: &Db) -> Result<u64> {
    let (apps,) = db.one("select count(*) from apps where status <> 3", args![]).await?;
    Ok(apps)
}
