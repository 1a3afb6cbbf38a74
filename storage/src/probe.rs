//! A commit that shows whether apps could be written to now.

use rookery_domain::Timestamp;

use crate::{
    db::{Db, args},
    error::Result,
    meta,
};

/// The name under which the commit is written.
const KEY: &str = "readiness";

/// What the statement of a batch does on PostgreSQL, to no row: it takes the same locks, needs the same
/// rights, and is refused where that is. Locks are waited for no longer than whoever asks does.
const APPS: [&str; 8] = [
    "set local lock_timeout = '1s'",
    "update app_head set epoch = epoch where false",
    "insert into rows select * from rows where false
     on conflict (app_id, collection, key) do update set version = excluded.version",
    "insert into events select * from events where false",
    "insert into budgets select * from budgets where false
     on conflict (app_id, collection, network) do update set count = excluded.count",
    "insert into spent_challenges select * from spent_challenges where false
     on conflict (app_id, id) do update set expires_at = excluded.expires_at",
    "insert into idempotency select * from idempotency where false
     on conflict (scope) do update set status = excluded.status",
    "update participants set lasting = lasting where false",
];

/// Makes a small commit. In SQLite's one file whoever may write one table may write all.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn commit(db: &Db, now: Timestamp) -> Result<()> {
    let locks: &[&str] = if matches!(db, Db::Postgres(_)) { &APPS } else { &[] };
    db.transaction((locks, now.0.to_string()), |tx, (locks, now)| {
        Box::pin(async move {
            for sql in *locks {
                tx.execute(sql, args![]).await?;
            }
            tx.execute(meta::SET, args![KEY, now]).await?;
            Ok(())
        })
    })
    .await
}
