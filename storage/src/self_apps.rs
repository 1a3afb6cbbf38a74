//! What a human keeps of apps: favorites and what was looked at last. Whether the human still
//! sees an app is not known here.

use std::collections::HashSet;

use rookery_domain::{
    Timestamp,
    id::{AppId, HumanId},
    time::STEP_BACK_S,
};

use crate::{
    db::{Db, args},
    error::Result,
    humans,
};

/// Views of one human that are remembered; the oldest go first.
pub const VIEWS_MAX: u32 = 200;

/// Marks a favorite. A second time changes nothing. `false`, and nothing is marked, when the account
/// is closed.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn add_favorite(db: &Db, human: HumanId, app: AppId, now: Timestamp) -> Result<bool> {
    db.transaction_with(human, (human, app, now), |tx, (human, app, now)| {
        Box::pin(async move {
            if !humans::lock_open(tx, *human).await? {
                return Ok(false);
            }
            tx.execute(
                "insert into favorites (human, app_id, created_at) values ($1, $2, $3)
                 on conflict (human, app_id) do nothing",
                args![*human, *app, *now],
            )
            .await?;
            Ok(true)
        })
    })
    .await
}

/// Takes the mark back. A second time changes nothing.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn remove_favorite(db: &Db, human: HumanId, app: AppId) -> Result<()> {
    db.execute("delete from favorites where human = $1 and app_id = $2", args![human, app]).await?;
    Ok(())
}

/// The favorites of a human. There are no more than apps that it has seen.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn favorites(db: &Db, human: HumanId) -> Result<HashSet<AppId>> {
    let apps = db.column("select app_id from favorites where human = $1", args![human]).await?;
    Ok(apps.into_iter().collect())
}

/// Records that a human opened an app, and forgets what was looked at longest ago. `false`, and
/// nothing is recorded, when the account is closed.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn view(db: &Db, human: HumanId, app: AppId, now: Timestamp) -> Result<bool> {
    db.transaction_with(human, (human, app, now), |tx, (human, app, now)| {
        Box::pin(async move {
            if !humans::lock_open(tx, *human).await? {
                return Ok(false);
            }
            tx.execute(
                "insert into views (human, app_id, viewed_at) values ($1, $2, $3)
                 on conflict (human, app_id) do update set viewed_at = excluded.viewed_at
                 where views.viewed_at < excluded.viewed_at or views.viewed_at > $4",
                args![*human, *app, *now, now.plus_seconds(STEP_BACK_S)],
            )
            .await?;
            tx.execute(
                "delete from views where human = $1 and viewed_at <
                     (select min(viewed_at) from
                          (select viewed_at from views where human = $1
                           order by viewed_at desc limit $2) as newest)",
                args![*human, VIEWS_MAX],
            )
            .await?;
            Ok(true)
        })
    })
    .await
}

/// What a human looked at, the last first: at most [`VIEWS_MAX`].
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn views(db: &Db, human: HumanId) -> Result<Vec<(AppId, Timestamp)>> {
    db.all(
        "select app_id, viewed_at from views where human = $1
         order by viewed_at desc, app_id desc limit $2",
        args![human, VIEWS_MAX],
    )
    .await
}
