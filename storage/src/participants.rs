//! Visitors of apps, told apart by their participant token. A token is good for one app.

use rookery_domain::{
    Timestamp,
    id::{AppId, HumanId, ParticipantId},
    secret::SecretHash,
    time::DAY_S,
};

use crate::{
    columns::record,
    db::{Args, Db, args},
    error::Result,
    values::codes,
};

/// Seconds that the token of an anonymous visitor is good for once it has left something in the app:
/// it is all that makes it the creator of its rows, so it lasts.
pub const LASTING_TTL_S: i64 = 365 * DAY_S;

/// Seconds that a visitor is kept after its end, so that one who was let in just before it is there
/// still when its first write commits. No request takes as long.
pub const GRACE_S: i64 = 300;

/// Visitors that one transaction of [`forget_fresh`] forgets at most.
pub const FRESH_CHUNK: u32 = 500;

/// How a visitor came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParticipantKind {
    /// Without any name.
    Anonymous,
    /// As a signed-in human.
    Human,
    /// By a grant link; [`Participant::via`] is the link.
    Grant,
    /// By a preview token; [`Participant::via`] is the token.
    Preview,
    /// By the share link of an app with visibility `link`.
    Share,
}

codes!(ParticipantKind: Anonymous = 0, Human = 1, Grant = 2, Preview = 3, Share = 4);

/// A visitor of an app.
#[derive(Clone, PartialEq, Eq)]
pub struct Participant {
    /// Its id.
    pub id: ParticipantId,
    /// SHA-256 of its token.
    pub hash: SecretHash,
    /// The only app its token is good for.
    pub app: AppId,
    /// How it came.
    pub kind: ParticipantKind,
    /// The human, when it is signed in.
    pub human: Option<HumanId>,
    /// The bytes of the grant's or preview's id it came by. For whoever came by a share link, a
    /// human too, the first 16 bytes of the share token's hash, so that rotation ends the visit.
    pub via: Option<[u8; 16]>,
    /// SHA-256 of the agent's key that it was let in with, for a test session of an agent: it is
    /// good for as long as that key is.
    pub minted_by: Option<SecretHash>,
    /// When it came first.
    pub created_at: Timestamp,
    /// When its token ends.
    pub expires_at: Timestamp,
    /// Whether it is kept until then. One that has left nothing in the app yet is forgotten sooner
    /// where newer ones need its room; the commit of the first thing that it leaves sets this.
    pub lasting: bool,
}

rookery_domain::shown!(Participant: id, app, kind, human, created_at, expires_at, lasting);

record!(Participant: id, hash, app, kind, human, via, minted_by, created_at, expires_at, lasting);

impl Participant {
    /// What [`INSERT`] stores.
    pub(crate) fn columns(&self) -> Args {
        args![
            self.id,
            self.hash,
            self.app,
            self.kind,
            self.human,
            self.via,
            self.minted_by,
            self.created_at,
            self.expires_at,
            self.lasting,
        ]
    }
}

/// Stores a visitor, whose [`Participant::columns`] these are.
pub(crate) const INSERT: &str = "insert into participants
         (id, hash, app_id, kind, human, via, minted_by, created_at, expires_at, lasting)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

/// Stores a visitor.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn create(db: &Db, visitor: &Participant) -> Result<()> {
    db.execute(INSERT, visitor.columns()).await?;
    Ok(())
}

/// The unexpired visitor with this token hash.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn by_hash(db: &Db, hash: SecretHash, now: Timestamp) -> Result<Option<Participant>> {
    db.optional(
        "select id, hash, app_id, kind, human, via, minted_by, created_at, expires_at,
                lasting
         from participants where hash = $1 and expires_at > $2",
        args![hash, now],
    )
    .await
}

/// Gives the visitor whose token has the hash `before` the token, its end and the link of this record;
/// `false` when it has left, or has another token by now.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn renew(db: &Db, before: SecretHash, visitor: &Participant) -> Result<bool> {
    let renewed = db
        .execute(
            "update participants set hash = $2, via = $3, expires_at = $4
             where id = $1 and hash = $5",
            args![visitor.id, visitor.hash, visitor.via, visitor.expires_at, before],
        )
        .await?;
    Ok(renewed == 1)
}

/// Ends a visitor's token: the hash of the one that was in force; `None` when it had ended already.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn revoke(db: &Db, id: ParticipantId) -> Result<Option<SecretHash>> {
    let sql = "delete from participants where id = $1 returning hash";
    let ended: Option<(SecretHash,)> = db.returning(sql, args![id]).await?;
    Ok(ended.map(|(hash,)| hash))
}

/// Ends every token of a human in one app, and every sign-in that waits for it there, all or
/// nothing.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn revoke_in_app(db: &Db, app: AppId, human: HumanId) -> Result<()> {
    db.transaction((app, human), |tx, (app, human)| {
        Box::pin(async move {
            for sql in [
                "delete from session_grants where human = $1 and app_id = $2",
                "delete from participants where human = $1 and app_id = $2",
            ] {
                tx.execute(sql, args![*human, *app]).await?;
            }
            Ok(())
        })
    })
    .await
}

/// Visitors of `app` that came like this and have left nothing there yet, beyond the `kept` newest of
/// them: the newest [`FRESH_CHUNK`] of those, each with its token's hash.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn fresh_beyond(
    db: &Db,
    app: AppId,
    kind: ParticipantKind,
    kept: u64,
) -> Result<Vec<(ParticipantId, SecretHash)>> {
    db.all(
        "select id, hash from participants
         where app_id = $1 and kind = $2 and lasting = 0
         order by id desc limit $3 offset $4",
        args![app, kind, FRESH_CHUNK, kept],
    )
    .await
}

/// Forgets these visitors, but for those that have left something meanwhile.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn forget_fresh(db: &Db, visitors: Vec<ParticipantId>) -> Result<()> {
    db.transaction(visitors, |tx, visitors| {
        Box::pin(async move {
            for visitor in visitors {
                let sql = "delete from participants where id = $1 and lasting = 0";
                tx.execute(sql, args![*visitor]).await?;
            }
            Ok(())
        })
    })
    .await
}
