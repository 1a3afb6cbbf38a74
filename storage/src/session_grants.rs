//! Single-use grants that carry a sign-in from the site to one app's origin.

use rookery_domain::{
    Timestamp,
    id::{AppId, HumanId},
    secret::{HashHalf, SecretHash},
};

use crate::{
    db::{Db, args},
    error::Result,
    idempotency::KeepResponse,
    participants::{self, CameBy, Participant},
};

/// A grant that nobody has spent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SessionGrant {
    /// SHA-256 of its secret.
    pub hash: SecretHash,
    /// The only app it is good for.
    pub app: AppId,
    /// Whom it signs in.
    pub human: HumanId,
    /// SHA-256 of the agent's key that it was made with, where one was.
    pub minted_by: Option<SecretHash>,
    /// When it ends.
    pub expires_at: Timestamp,
}

rookery_domain::shown!(SessionGrant: app, human, expires_at);

/// Visits of one human that are kept: nobody has so many browsers, and ending all of them must not take
/// long.
pub const VISITS_MAX: u32 = 1_000;
/// Test sessions that the agents of one human asked for and that are kept.
const TEST_SESSIONS_MAX: u32 = 10_000;

/// What a grant became.
#[derive(Debug)]
pub struct Redeemed {
    /// Who it let in.
    pub visitor: Participant,
    /// The token hashes of visits that ended to make room.
    pub ended: Vec<SecretHash>,
}

/// Stores a grant.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn create(
    db: &Db,
    grant: &SessionGrant,
    now: Timestamp,
    keep: KeepResponse<()>,
) -> Result<()> {
    let SessionGrant { hash, app, human, minted_by, expires_at } = *grant;
    let sql = "insert into session_grants (hash, app_id, human, minted_by, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6)";
    keep.insert(db, sql, args![hash, app, human, minted_by, now, expires_at]).await?;
    Ok(())
}

/// SHA-256 of the agent's key that a grant was made with, where one was and nobody has spent it.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn minted_by(db: &Db, hash: SecretHash) -> Result<Option<SecretHash>> {
    let sql = "select minted_by from session_grants where hash = $1";
    Ok(db.value::<Option<SecretHash>>(sql, args![hash]).await?.flatten())
}

/// Whom a grant signs in that nobody has spent.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn human(db: &Db, hash: SecretHash) -> Result<Option<HumanId>> {
    let sql = "select human from session_grants where hash = $1";
    db.value(sql, args![hash]).await
}

/// Spends a grant and stores `visitor`, who comes as the human that the grant signs in, and by the share
/// link before where there was one, all or nothing. `None` for unknown,
/// used, expired, and for another app than the visitor's alike: shown to the wrong one, it stays good
/// for its own. Beyond [`VISITS_MAX`] the human's oldest visits end, and beyond [`TEST_SESSIONS_MAX`] those
/// that its agents asked for.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn redeem(
    db: &Db,
    hash: SecretHash,
    visitor: Participant,
    share: Option<HashHalf>,
    now: Timestamp,
) -> Result<Option<Redeemed>> {
    db.transaction((hash, visitor, share, now), |tx, (hash, visitor, share, now)| {
        Box::pin(async move {
            let sql = "delete from session_grants where hash = $1 and app_id = $2
                 returning human, minted_by, expires_at";
            let spent: Option<(HumanId, Option<SecretHash>, Timestamp)> =
                tx.optional(sql, args![*hash, visitor.app]).await?;
            let Some((human, minted_by, expires_at)) = spent else { return Ok(None) };
            if expires_at <= *now {
                return Ok(None);
            }
            let came_by = CameBy::Human { human, share: *share };
            let visitor = Participant { came_by, minted_by, ..visitor.clone() };
            tx.execute(participants::INSERT, visitor.columns()).await?;
            let kept = if minted_by.is_some() { TEST_SESSIONS_MAX } else { VISITS_MAX };
            let ended = participants::end_beyond(tx, human, minted_by.is_some(), kept).await?;
            Ok(Some(Redeemed { visitor, ended }))
        })
    })
    .await
}
