//! Magic links: mailed, and good for one sign-in, which the browser that it was in may repeat at once.

use rookery_domain::{
    Timestamp,
    id::{HumanId, SessionId},
    secret::SecretHash,
};

use crate::{
    db::{Db, args},
    error::Result,
    humans::{self, Human},
    sessions::{self, NewSession, Session},
};

/// A link to be mailed.
#[derive(Clone)]
pub struct NewLink {
    /// SHA-256 of its token.
    pub hash: SecretHash,
    /// The address it is mailed to, normalised.
    pub email: String,
    /// The path on the site that the sign-in ends at.
    pub redirect_to: Option<String>,
    /// When it ends.
    pub expires_at: Timestamp,
}

rookery_domain::shown!(NewLink: redirect_to, expires_at);

/// The browser that a link is spent in, where it can be told again.
#[derive(Debug, Clone, Copy)]
pub struct SpentIn {
    /// SHA-256 of the cookie that the page before the sign-in gave it.
    pub browser: SecretHash,
    /// It may spend the link again as long as the session that it opened was opened after this.
    pub again_after: Timestamp,
}

/// A sign-in by link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn {
    /// The account of the link's address; its address is proven now.
    pub human: Human,
    /// The new session.
    pub session: Session,
    /// The cookie of the one that it takes the place of: the link was spent again.
    pub replaced: Option<SecretHash>,
    /// The path on the site that the sign-in ends at.
    pub redirect_to: Option<String>,
}

/// Stores a link before it is mailed.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn create(db: &Db, link: NewLink, now: Timestamp) -> Result<()> {
    db.execute(
        "insert into links (hash, email, redirect_to, created_at, expires_at)
         values ($1, $2, $3, $4, $5)",
        args![link.hash, link.email, link.redirect_to.as_deref(), now, link.expires_at],
    )
    .await?;
    Ok(())
}

/// A link that is stored, good or not any more.
#[derive(Clone, PartialEq, Eq)]
pub struct Link {
    /// The address that it was mailed to.
    pub email: String,
    /// The path on the site that the sign-in ends at.
    pub redirect_to: Option<String>,
    /// Whether it signs in.
    pub is_good: bool,
}

rookery_domain::shown!(Link: redirect_to, is_good);

/// A link, as long as it is stored: for [`crate::expiry::LINK_GRACE_S`] after its time is over, used or
/// not. Spends nothing.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn find(db: &Db, hash: SecretHash, now: Timestamp) -> Result<Option<Link>> {
    let sql = "select email, redirect_to, spent, expires_at from links where hash = $1";
    let found: Option<(String, Option<String>, bool, Timestamp)> =
        db.optional(sql, args![hash]).await?;
    Ok(found.map(|(email, redirect_to, is_spent, expires_at)| {
        let is_good = !is_spent && expires_at > now;
        Link { email, redirect_to, is_good }
    }))
}

/// Spends a link: finds or makes (with the id `candidate`) the account of its address and opens
/// `session` for it, all or nothing. `None` for unknown, spent and expired alike; of any number
/// of calls at once, one gets the session, or, of calls of one browser, the last.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn sign_in(
    db: &Db,
    hash: SecretHash,
    spent_in: Option<SpentIn>,
    candidate: HumanId,
    session: NewSession,
    now: Timestamp,
) -> Result<Option<SignedIn>> {
    let input = (hash, spent_in, candidate, session, now);
    db.transaction(input, |tx, (hash, spent_in, candidate, session, now)| {
        Box::pin(async move {
            // Whoever locks the link next sees the session of whoever did before.
            let spent: Option<(String, Option<String>, Option<SessionId>)> = tx
                .optional(
                    "update links set spent = 1, browser = $3
                     where hash = $1 and expires_at > $2 and (spent = 0 or browser = $3)
                     returning email, redirect_to, session",
                    args![*hash, *now, spent_in.map(|it| it.browser)],
                )
                .await?;
            let Some((email, redirect_to, before)) = spent else { return Ok(None) };
            let mut replaced = None;
            if let Some((before, spent_in)) = before.zip(*spent_in) {
                let sql = "delete from sessions where id = $1 and created_at > $2 returning hash";
                replaced = tx.value(sql, args![before, spent_in.again_after]).await?;
                if replaced.is_none() {
                    return Ok(None);
                }
            }
            let human = humans::find_or_create_in(tx, &email, *candidate, *now).await?;
            let session = sessions::insert(tx, human.id, session, *now).await?;
            let sql = "update links set session = $2 where hash = $1";
            tx.execute(sql, args![*hash, session.id]).await?;
            Ok(Some(SignedIn { human, session, replaced, redirect_to }))
        })
    })
    .await
}
