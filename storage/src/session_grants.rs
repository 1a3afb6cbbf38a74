//! Single-use grants that carry a sign-in from the site to one app's origin.

use rookery_domain::{
    Timestamp,
    id::{AppId, HumanId},
};

use crate::{
    db::{Db, args},
    decode,
    error::Result,
};

/// Stores a grant by its SHA-256.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn create(
    db: &Db,
    hash: [u8; 32],
    app: AppId,
    human: HumanId,
    expires_at: Timestamp,
    now: Timestamp,
) -> Result<()> {
    db.execute(
        "insert into session_grants (hash, app_id, human, created_at, expires_at)
         values ($1, $2, $3, $4, $5)",
        args![hash, app, human, now, expires_at],
    )
    .await?;
    Ok(())
}

/// Spends a grant; the human it signs in. `None` for unknown, used, expired, and for another app
/// alike. A grant shown to another app is spent too: whoever holds it there should not have it.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn consume(
    db: &Db,
    hash: [u8; 32],
    app: AppId,
    now: Timestamp,
) -> Result<Option<HumanId>> {
    let spent: Option<(Vec<u8>, Vec<u8>, i64)> = db
        .returning(
            "delete from session_grants where hash = $1 returning app_id, human, expires_at",
            args![hash],
        )
        .await?;
    let Some((bound, human, expires)) = spent else { return Ok(None) };
    let bound: AppId = decode::id("session_grants.app_id", &bound)?;
    let human = decode::id("session_grants.human", &human)?;
    Ok((bound == app && Timestamp(expires) > now).then_some(human))
}
