//! Grant links of apps, as the app's group has written them.

use rookery_domain::{
    Timestamp,
    grants::Grant,
    id::{AppId, GrantId},
};

use crate::{
    columns::record,
    db::{Db, args, newest_first},
    error::Result,
};

/// A place in the list of an app's grant links.
pub type GrantPosition = (Timestamp, GrantId);

record!(Grant: id, hash, role, max_uses, uses, expires_at, created_by, created_at, revoked_at);

/// At most `limit` links of an app that are not revoked, the newest first, behind the position.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn list(
    db: &Db,
    app: AppId,
    after: Option<GrantPosition>,
    limit: u32,
) -> Result<Vec<Grant>> {
    let (at, id) = newest_first(after);
    db.all(
        "select id, hash, role, max_uses, uses, expires_at, created_by, created_at, revoked_at
         from grants
         where app_id = $1 and revoked_at is null
           and (created_at < $2 or (created_at = $2 and id < $3))
         order by created_at desc, id desc limit $4",
        args![app, at, id, limit],
    )
    .await
}

/// Whether an app has, or had, a link with this id.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn is_known(db: &Db, app: AppId, id: GrantId) -> Result<bool> {
    db.exists("select 1 from grants where id = $1 and app_id = $2", args![id, app]).await
}
