//! Sign-in by an identity provider: the flows that are under way, and which account an identity
//! (issuer and subject) belongs to. An address joins an identity to an existing account only when
//! both sides have proven it.

use rookery_domain::{Timestamp, id::HumanId, secret::SecretHash};

use crate::{
    db::{Db, Tx, args},
    error::Result,
    humans::{self, Human},
    sessions::{self, NewSession, Session},
};

/// A sign-in on its way through the provider.
#[derive(Clone)]
pub struct NewFlow {
    /// SHA-256 of its state.
    pub hash: SecretHash,
    /// Nonce and PKCE verifier, sealed.
    pub sealed: String,
    /// The path on the site that the sign-in ends at.
    pub redirect_to: Option<String>,
    /// When it ends.
    pub expires_at: Timestamp,
}

rookery_domain::shown!(NewFlow: redirect_to, expires_at);

/// Stores a flow before the browser leaves.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn begin(db: &Db, flow: NewFlow, now: Timestamp) -> Result<()> {
    db.execute(
        "insert into idp_flows (hash, sealed, redirect_to, created_at, expires_at)
         values ($1, $2, $3, $4, $5)",
        args![flow.hash, flow.sealed, flow.redirect_to.as_deref(), now, flow.expires_at],
    )
    .await?;
    Ok(())
}

/// Spends a flow: what was sealed, and where it leads. `None` for unknown, spent and expired
/// alike; of any number of calls at once, one gets it.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn spend(
    db: &Db,
    hash: SecretHash,
    now: Timestamp,
) -> Result<Option<(String, Option<String>)>> {
    db.returning(
        "delete from idp_flows where hash = $1 and expires_at > $2 returning sealed, redirect_to",
        args![hash, now],
    )
    .await
}

/// Who a provider says has signed in.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The provider.
    pub issuer: String,
    /// The provider's name for the human.
    pub subject: String,
    /// The address, normalised, if the provider tells one.
    pub email: Option<String>,
    /// Whether the provider has verified it.
    pub verified: bool,
}

/// Opens `session` for the account of an identity; one that is new here gets the account that has
/// proven the same verified address, else one of its own with the id `candidate`.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn sign_in(
    db: &Db,
    identity: Identity,
    candidate: HumanId,
    session: NewSession,
    now: Timestamp,
) -> Result<(Human, Session)> {
    db.transaction(
        (identity, candidate, session, now),
        |tx, (identity, candidate, session, now)| {
            Box::pin(async move {
                let known = account(tx, identity).await?;
                let human = match known {
                    Some(human) => prove(tx, human, identity, *now).await?,
                    None => create(tx, identity, *candidate, *now).await?,
                };
                let session = sessions::insert(tx, human.id, session, *now).await?;
                Ok((human, session))
            })
        },
    )
    .await
}

async fn account(tx: &mut Tx, identity: &Identity) -> Result<Option<HumanId>> {
    tx.value(
        "select human from identities where issuer = $1 and subject = $2",
        args![identity.issuer.as_str(), identity.subject.as_str()],
    )
    .await
}

/// The account of a known identity. An address that it could not prove before is proven now, if
/// the provider says so, no other account has it and nobody was invited by it: what they were
/// invited to is another human's, which a mailed link makes theirs.
async fn prove(tx: &mut Tx, id: HumanId, identity: &Identity, now: Timestamp) -> Result<Human> {
    if let (Some(email), true) = (&identity.email, identity.verified) {
        tx.execute(
            "update humans set email = $2, email_verified_at = $3, updated_at = $3
             where id = $1 and email_verified_at is null and closed_at is null
               and not exists (select 1 from humans other
                               where other.email = $2 and other.email_verified_at is not null
                                 and other.closed_at is null)
               and not exists (select 1 from placeholders where placeholders.email = $2)",
            args![id, email.as_str(), now],
        )
        .await?;
    }
    by_id(tx, id).await
}

async fn create(
    tx: &mut Tx,
    identity: &Identity,
    candidate: HumanId,
    now: Timestamp,
) -> Result<Human> {
    let human = match (&identity.email, identity.verified) {
        (Some(email), true) => humans::find_or_create_in(tx, email, candidate, now).await?,
        (email, _) => {
            tx.execute(
                "insert into humans (id, email, created_at, updated_at) values ($1, $2, $3, $3)",
                args![candidate, email.as_deref(), now],
            )
            .await?;
            by_id(tx, candidate).await?
        }
    };
    tx.execute(
        "insert into identities (issuer, subject, human, created_at) values ($1, $2, $3, $4)",
        args![identity.issuer.as_str(), identity.subject.as_str(), human.id, now],
    )
    .await?;
    Ok(human)
}

async fn by_id(tx: &mut Tx, id: HumanId) -> Result<Human> {
    tx.one(humans::BY_ID, args![id]).await
}
