//! Grant links of apps, as the app's group has written them.

use std::sync::Arc;

use rookery_domain::{
    Timestamp,
    grants::Grant,
    id::{AppId, GrantId},
};
use uuid::Uuid;

use crate::{
    codec::{Read, ReadColumns, record},
    db::{Db, args, newest_first},
    error::{Result, StorageError},
};

/// A place in the list of an app's grant links.
pub type GrantPosition = (Timestamp, GrantId);

record!(Listed, Grant, grant);

/// The grant in the columns `id, hash, role, max_uses, uses, expires_at, created_by, created_at,
/// revoked_at`.
pub(crate) fn grant(columns: &impl ReadColumns) -> Read<Grant> {
    let id = Uuid::from_slice(columns.bytes(0)?).map_err(|error| error.to_string())?;
    let max_uses = columns.int_opt(3)?.map(u32::try_from).transpose();
    Ok(Grant {
        id: GrantId::from_uuid(id),
        hash: columns.bytes(1)?.try_into().map_err(|_| "a hash of the wrong length")?,
        role: Arc::from(columns.text(2)?),
        max_uses: max_uses.map_err(|_| "a count out of range")?,
        uses: columns.number(4)?,
        expires_at: columns.time_opt(5)?,
        created_by: columns.principal(6)?,
        created_at: columns.time(7)?,
        revoked_at: columns.time_opt(8)?,
    })
}

/// At most `limit` links of an app that are not revoked, the newest first, behind the position.
///
/// # Errors
/// Any [`StorageError`].
pub async fn list(
    db: &Db,
    app: AppId,
    after: Option<GrantPosition>,
    limit: u32,
) -> Result<Vec<Grant>> {
    let (at, id) = newest_first(after);
    let rows: Vec<Listed> = db
        .all(
            "select id, hash, role, max_uses, uses, expires_at, created_by, created_at, revoked_at
             from grants
             where app_id = $1 and revoked_at is null
               and (created_at < $2 or (created_at = $2 and id < $3))
             order by created_at desc, id desc limit $4",
            args![app, at, id, limit],
        )
        .await?;
    rows.into_iter().map(|row| row.0.map_err(|why| StorageError::corrupt("grant", why))).collect()
}

/// Whether an app has, or had, a link with this id.
///
/// # Errors
/// Any [`StorageError`].
pub async fn is_known(db: &Db, app: AppId, id: GrantId) -> Result<bool> {
    let made: Option<(i64,)> = db
        .optional("select created_at from grants where id = $1 and app_id = $2", args![id, app])
        .await?;
    Ok(made.is_some())
}
