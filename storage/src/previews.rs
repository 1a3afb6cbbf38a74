//! Preview tokens of apps, as the app's group has written them.

use rookery_domain::{
    Timestamp,
    id::{AppId, PreviewId},
    previews::Preview,
};
use uuid::Uuid;

use crate::{
    codec::{Read, ReadColumns, record},
    db::{Db, args, newest_first},
    error::{Result, StorageError},
};

/// A place in the list of an app's preview tokens.
pub type PreviewPosition = (Timestamp, PreviewId);

record!(Listed, Preview, preview);

/// The preview in the columns `id, hash, expires_at, created_by, created_at, revoked_at`.
pub(crate) fn preview(columns: &impl ReadColumns) -> Read<Preview> {
    let id = Uuid::from_slice(columns.bytes(0)?).map_err(|error| error.to_string())?;
    Ok(Preview {
        id: PreviewId::from_uuid(id),
        hash: columns.bytes(1)?.try_into().map_err(|_| "a hash of the wrong length")?,
        expires_at: columns.time(2)?,
        created_by: columns.principal(3)?,
        created_at: columns.time(4)?,
        revoked_at: columns.time_opt(5)?,
    })
}

/// At most `limit` preview tokens of an app that open it at `now`, the newest first, behind the
/// position.
///
/// # Errors
/// Any [`StorageError`].
pub async fn list(
    db: &Db,
    app: AppId,
    now: Timestamp,
    after: Option<PreviewPosition>,
    limit: u32,
) -> Result<Vec<Preview>> {
    let (at, id) = newest_first(after);
    let rows: Vec<Listed> = db
        .all(
            "select id, hash, expires_at, created_by, created_at, revoked_at
             from previews
             where app_id = $1 and expires_at > $2 and revoked_at is null
               and (created_at < $3 or (created_at = $3 and id < $4))
             order by created_at desc, id desc limit $5",
            args![app, now, at, id, limit],
        )
        .await?;
    rows.into_iter().map(|row| row.0.map_err(|why| StorageError::corrupt("preview", why))).collect()
}

/// Whether an app has, or had, a preview token with this id.
///
/// # Errors
/// Any [`StorageError`].
pub async fn is_known(db: &Db, app: AppId, id: PreviewId) -> Result<bool> {
    let made: Option<(i64,)> = db
        .optional("select created_at from previews where id = $1 and app_id = $2", args![id, app])
        .await?;
    Ok(made.is_some())
}
