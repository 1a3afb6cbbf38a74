//! Visitors of apps, told apart by their participant token. A token is good for one app.

use rookery_domain::{
    Timestamp,
    id::{AppId, GrantId, HumanId, ParticipantId, PreviewId},
    secret::{HashHalf, SecretHash},
    time::DAY_S,
};
use uuid::Uuid;

use crate::{
    columns::{FromColumns, Read, ReadColumns},
    db::{Args, Db, Tx, args},
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

/// Visits of a human that one new visit ends at most. Only a database from before the bound has so many more.
const ENDED_CHUNK: u32 = 500;

/// How a visitor came, and by what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CameBy {
    /// Without any name.
    Anonymous,
    /// As a signed-in human, who may have come by a share link as well.
    Human {
        /// The human.
        human: HumanId,
        /// Of the share token.
        share: Option<HashHalf>,
    },
    /// By a grant link.
    Grant(GrantId),
    /// By a preview token.
    Preview(PreviewId),
    /// By the share link of an app with visibility `link`. The rotation of its token ends the visit.
    Share(HashHalf),
}

/// The kinds of [`CameBy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParticipantKind {
    /// [`CameBy::Anonymous`].
    Anonymous,
    /// [`CameBy::Human`].
    Human,
    /// [`CameBy::Grant`].
    Grant,
    /// [`CameBy::Preview`].
    Preview,
    /// [`CameBy::Share`].
    Share,
}

codes!(ParticipantKind: Anonymous = 0, Human = 1, Grant = 2, Preview = 3, Share = 4);

impl CameBy {
    /// Its kind.
    #[must_use]
    pub const fn kind(self) -> ParticipantKind {
        match self {
            Self::Anonymous => ParticipantKind::Anonymous,
            Self::Human { .. } => ParticipantKind::Human,
            Self::Grant(_) => ParticipantKind::Grant,
            Self::Preview(_) => ParticipantKind::Preview,
            Self::Share(_) => ParticipantKind::Share,
        }
    }

    /// The human, when it is signed in.
    #[must_use]
    pub const fn human(self) -> Option<HumanId> {
        match self {
            Self::Human { human, .. } => Some(human),
            _ => None,
        }
    }

    /// Of the share token that it came by, where it came by one.
    #[must_use]
    pub const fn share(self) -> Option<HashHalf> {
        match self {
            Self::Human { share, .. } => share,
            Self::Share(share) => Some(share),
            _ => None,
        }
    }

    /// What stands in the column `via`.
    const fn via(self) -> Option<[u8; 16]> {
        match self {
            Self::Anonymous => None,
            Self::Grant(grant) => Some(grant.uuid().into_bytes()),
            Self::Preview(preview) => Some(preview.uuid().into_bytes()),
            Self::Human { .. } | Self::Share(_) => match self.share() {
                Some(HashHalf(half)) => Some(half),
                None => None,
            },
        }
    }

    /// What three columns say. Whoever has nothing to show for how it came is nobody in particular.
    fn of_columns(kind: ParticipantKind, human: Option<HumanId>, via: Option<[u8; 16]>) -> Self {
        match (kind, human, via) {
            (ParticipantKind::Human, Some(human), via) => {
                Self::Human { human, share: via.map(HashHalf) }
            }
            (ParticipantKind::Grant, _, Some(id)) => {
                Self::Grant(GrantId::from_uuid(Uuid::from_bytes(id)))
            }
            (ParticipantKind::Preview, _, Some(id)) => {
                Self::Preview(PreviewId::from_uuid(Uuid::from_bytes(id)))
            }
            (ParticipantKind::Share, _, Some(half)) => Self::Share(HashHalf(half)),
            _ => Self::Anonymous,
        }
    }
}

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
    pub came_by: CameBy,
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

rookery_domain::shown!(Participant: id, app, came_by, created_at, expires_at, lasting);

impl FromColumns for Participant {
    const WHAT: &'static str = "Participant";

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        Ok(Self {
            id: columns.get(0)?,
            hash: columns.get(1)?,
            app: columns.get(2)?,
            came_by: CameBy::of_columns(columns.get(3)?, columns.get(4)?, columns.get(5)?),
            minted_by: columns.get(6)?,
            created_at: columns.get(7)?,
            expires_at: columns.get(8)?,
            lasting: columns.get(9)?,
        })
    }
}

impl Participant {
    /// What [`INSERT`] stores.
    pub(crate) fn columns(&self) -> Args {
        args![
            self.id,
            self.hash,
            self.app,
            self.came_by.kind(),
            self.came_by.human(),
            self.came_by.via(),
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
    match db {
        Db::Sqlite(sqlite) => sqlite.arrivals().store(db.clone(), visitor.clone()).await,
        Db::Postgres(_) => db.execute(INSERT, visitor.columns()).await.map(drop),
    }
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
            args![visitor.id, visitor.hash, visitor.came_by.via(), visitor.expires_at, before],
        )
        .await?;
    Ok(renewed == 1)
}

/// Most visits whose new end one [`prolong`] records.
pub const PROLONG_MAX: usize = 500;

/// Moves the ends of visits to later ones: at most [`PROLONG_MAX`] of them, the rest is dropped. None that
/// has ended comes back.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn prolong(db: &Db, mut visits: Vec<(ParticipantId, Timestamp)>) -> Result<()> {
    visits.truncate(PROLONG_MAX);
    // One order for everybody, so that two nodes cannot deadlock.
    visits.sort_unstable();
    db.transaction(visits, |tx, visits| {
        Box::pin(async move {
            let sql = "update participants set expires_at = $2 where id = $1 and expires_at < $2";
            for (visitor, until) in visits {
                tx.execute(sql, args![*visitor, *until]).await?;
            }
            Ok(())
        })
    })
    .await
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

/// Ends the oldest visits of a human beyond the `kept` newest, of those that its agents asked for or of the
/// others: the token hashes of at most [`ENDED_CHUNK`] that ended.
pub(crate) async fn end_beyond(
    tx: &mut Tx,
    human: HumanId,
    minted: bool,
    kept: u32,
) -> Result<Vec<SecretHash>> {
    tx.column(
        "delete from participants where id in
             (select id from participants where human = $1 and (minted_by is not null) = ($2 = 1)
              order by id desc limit $3 offset $4)
         returning hash",
        args![human, minted, ENDED_CHUNK, kept],
    )
    .await
}

/// Ends every token of a human in one app, and every sign-in that waits for it there, all or
/// nothing; how many they were.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn revoke_in_app(db: &Db, app: AppId, human: HumanId) -> Result<u64> {
    db.transaction((app, human), |tx, (app, human)| {
        Box::pin(async move {
            let mut ended = 0;
            for sql in [
                "delete from session_grants where human = $1 and app_id = $2",
                "delete from participants where human = $1 and app_id = $2",
            ] {
                ended += tx.execute(sql, args![*human, *app]).await?;
            }
            Ok(ended)
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
