//! Preview tokens of apps, as the app's group has written them.

use rookery_domain::{
    Timestamp,
    id::{AppId, PreviewId},
    previews::Preview,
};

use crate::{
    columns::record,
    db::{Db, args, newest_first},
    error::Result,
};

/// A place in the list of an app's preview tokens.
pub type PreviewPosition = (Timestamp, PreviewId);

record!(Preview: id, hash, expires_at, created_by, created_at, revoked_at);

/// At most `limit` preview tokens of an app that open it at `now`, the newest first, behind the
/// position.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn list(
    db: &Db,
    app: AppId,
    now: Timestamp,
    after: Option<PreviewPosition>,
    limit: u32,
) -> Result<Vec<Preview>> {
    let (at, id) = newest_first(after);
    db.all(
        "select id, hash, expires_at, created_by, created_at, revoked_at
         from previews
         where app_id = $1 and expires_at > $2 and revoked_at is null
           and (created_at < $3 or (created_at = $3 and id < $4))
         order by created_at desc, id desc limit $5",
        args![app, now, at, id, limit],
    )
    .await
}

/// Whether an app has, or had, a preview token with this id.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn is_known(db: &Db, app: AppId, id: PreviewId) -> Result<bool> {
    db.exists("select 1 from previews where id = $1 and app_id = $2", args![id, app]).await
}
