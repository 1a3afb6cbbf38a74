//! Sessions of humans on the site: opened, kept alive by use, ended.

use rookery_domain::{
    Timestamp,
    id::{HumanId, SessionId},
    secret::SecretHash,
    time::STEP_BACK_S,
};

use crate::{
    columns::record,
    db::{Db, Tx, args, newest_first},
    error::Result,
};

/// Seconds that a session is stored after its end: its uses are written down late, and it may have been
/// used just before.
pub const GRACE_S: i64 = 300;

/// Most sessions whose use one [`touch`] records.
pub const TOUCH_MAX: usize = 500;

/// A session to be opened.
#[derive(Clone)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// SHA-256 of the cookie.
    pub hash: SecretHash,
    /// When it ends unless it is used.
    pub expires_at: Timestamp,
}

rookery_domain::shown!(NewSession: id, expires_at);

/// An open session.
#[derive(Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// SHA-256 of the cookie.
    pub hash: SecretHash,
    /// Whose it is.
    pub human: HumanId,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it was used last; recorded in batches, so a little late.
    pub seen_at: Timestamp,
    /// When it ends unless it is used.
    pub expires_at: Timestamp,
}

rookery_domain::shown!(Session: id, human, created_at, seen_at, expires_at);

/// A use of a session, which moves its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionUse {
    /// The session.
    pub id: SessionId,
    /// When it was used.
    pub seen_at: Timestamp,
    /// When it ends now.
    pub expires_at: Timestamp,
}

record!(Session: id, hash, human, created_at, seen_at, expires_at);

/// Opens a session. For tests: the product opens it within a sign-in's transaction.
///
/// # Errors
/// Any [`crate::StorageError`].
#[cfg(feature = "faults")]
pub async fn create(
    db: &Db,
    human: HumanId,
    session: NewSession,
    now: Timestamp,
) -> Result<Session> {
    db.transaction((human, session, now), |tx, (human, session, now)| {
        Box::pin(insert(tx, *human, session, *now))
    })
    .await
}

pub(crate) async fn insert(
    tx: &mut Tx,
    human: HumanId,
    session: &NewSession,
    now: Timestamp,
) -> Result<Session> {
    tx.execute(
        "insert into sessions (id, hash, human, created_at, seen_at, expires_at)
         values ($1, $2, $3, $4, $4, $5)",
        args![session.id, session.hash, human, now, session.expires_at],
    )
    .await?;
    Ok(Session {
        id: session.id,
        hash: session.hash,
        human,
        created_at: now,
        seen_at: now,
        expires_at: session.expires_at,
    })
}

/// Whether `human` still has this session. Whoever asks has looked at its end, of which storage learns
/// late: here it is good for [`GRACE_S`] longer.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn is_open(db: &Db, id: SessionId, human: HumanId, now: Timestamp) -> Result<bool> {
    db.exists(
        "select 1 from sessions where id = $1 and human = $2 and expires_at > $3",
        args![id, human, now.plus_seconds(-GRACE_S)],
    )
    .await
}

/// What becomes of a human's claim codes that nobody has spent, and of approvals that no device has
/// fetched, when a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenCodes {
    /// Whoever signs out wants what it began to be finished.
    Stay,
    /// Whoever ends a session from another one may not trust it.
    End,
}

/// Ends one session of a human with what its human's sessions have opened in apps, all or nothing; the
/// hash of its cookie. `None`, and nothing is ended, when the human has no such session.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn end(
    db: &Db,
    human: HumanId,
    id: SessionId,
    codes: OpenCodes,
) -> Result<Option<SecretHash>> {
    db.transaction((human, id, codes), |tx, (human, id, codes)| {
        Box::pin(async move {
            let sql = "delete from sessions where id = $1 and human = $2 returning hash";
            let Some(hash) = tx.value(sql, args![*id, *human]).await? else { return Ok(None) };
            end_visits(tx, *human).await?;
            if *codes == OpenCodes::End {
                end_codes(tx, *human).await?;
            }
            Ok(Some(hash))
        })
    })
    .await
}

/// Ends one session and nothing that it has opened.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn forget(db: &Db, id: SessionId) -> Result<()> {
    db.execute("delete from sessions where id = $1", args![id]).await.map(drop)
}

/// Ends all sessions of a human with what they have opened, all or nothing.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn end_all(db: &Db, human: HumanId) -> Result<()> {
    db.transaction(human, |tx, human| {
        Box::pin(async move {
            tx.execute("delete from sessions where human = $1", args![*human]).await?;
            end_visits(tx, *human).await?;
            end_codes(tx, *human).await
        })
    })
    .await
}

/// Ends a human's visits of apps, and the sign-ins that wait to become some. Those that an agent asked for
/// go by its key.
async fn end_visits(tx: &mut Tx, human: HumanId) -> Result<()> {
    for sql in [
        "delete from session_grants where human = $1 and minted_by is null",
        "delete from participants where human = $1 and minted_by is null",
    ] {
        tx.execute(sql, args![human]).await?;
    }
    Ok(())
}

/// Ends what would give somebody an agent of the human.
async fn end_codes(tx: &mut Tx, human: HumanId) -> Result<()> {
    let claims = "delete from claims where human = $1 and redeemed_by is null";
    tx.execute(claims, args![human]).await?;
    tx.execute("delete from devices where human = $1 and state = 1", args![human]).await?;
    Ok(())
}

/// The open sessions of a human, the newest first, behind the one at `after`.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn of_human(
    db: &Db,
    human: HumanId,
    after: Option<(Timestamp, SessionId)>,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<Session>> {
    let (at, id) = newest_first(after);
    db.all(
        "select id, hash, human, created_at, seen_at, expires_at from sessions
         where human = $1 and expires_at > $2
           and (created_at < $3 or (created_at = $3 and id < $4))
         order by created_at desc, id desc limit $5",
        args![human, now, at, id, limit],
    )
    .await
}

/// Records uses: at most [`TOUCH_MAX`] of them, the rest is dropped. An older use never replaces
/// a newer one, but for one that is in the future `now`, and no use revives an ended session.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn touch(db: &Db, mut uses: Vec<SessionUse>, now: Timestamp) -> Result<()> {
    uses.truncate(TOUCH_MAX);
    // One order for everybody, so that two nodes cannot deadlock.
    uses.sort_unstable();
    db.transaction((uses, now.plus_seconds(STEP_BACK_S)), |tx, (uses, ahead)| {
        Box::pin(async move {
            for used in uses {
                tx.execute(
                    "update sessions set seen_at = $2, expires_at = $3
                     where id = $1 and (seen_at < $2 or seen_at > $4)",
                    args![used.id, used.seen_at, used.expires_at, *ahead],
                )
                .await?;
            }
            Ok(())
        })
    })
    .await
}
