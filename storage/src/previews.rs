//! Preview tokens of apps, as the app's group has written them.

use rookery_domain::{
    id::{AppId, PreviewId},
    previews::Preview,
};
use uuid::Uuid;

use crate::{
    codec::{Columns, Read},
    db::{Db, args},
    error::Result,
};

/// The preview in the columns `id, hash, expires_at, created_by, created_at, revoked_at`.
pub(crate) fn preview(columns: &impl Columns) -> Read<Preview> {
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

/// Whether an app has, or had, a preview token with this id.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn is_known(db: &Db, app: AppId, id: PreviewId) -> Result<bool> {
    let made: Option<(i64,)> = db
        .optional("select created_at from previews where id = $1 and app_id = $2", args![id, app])
        .await?;
    Ok(made.is_some())
}
