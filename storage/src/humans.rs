//! Human accounts. Addresses arrive normalised: two spellings of one mailbox are one text. Who was
//! only invited is in [`crate::placeholders`].

use rookery_domain::{Timestamp, id::HumanId};

use crate::{
    columns::record,
    db::{Db, Tx, args},
    error::Result,
    idempotency::KeepResponse,
    placeholders,
};

/// A human account.
#[derive(Clone, PartialEq, Eq)]
pub struct Human {
    /// Its id.
    pub id: HumanId,
    /// Its address, when it gave one.
    pub email: Option<String>,
    /// When the address was proven; only then does it identify the account.
    pub email_verified_at: Option<Timestamp>,
    /// The stored name.
    pub name: Option<String>,
    /// Whether marketing mail is welcome.
    pub marketing_consent: bool,
    /// When the account was made.
    pub created_at: Timestamp,
    /// When its record changed last.
    pub updated_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
}

rookery_domain::shown!(Human: id, email_verified_at, marketing_consent, created_at, updated_at, closed_at);

/// The columns of a [`Human`].
macro_rules! human_columns {
    () => {
        "id, email, email_verified_at, name, marketing_consent, created_at, updated_at, closed_at"
    };
}
pub(crate) use human_columns;

/// The account with an id, a closed one included.
pub(crate) const BY_ID: &str = concat!("select ", human_columns!(), " from humans where id = $1");

/// The open account that has proven an address.
pub(crate) const BY_VERIFIED_EMAIL: &str = concat!(
    "select ",
    human_columns!(),
    " from humans where email = $1 and email_verified_at is not null and closed_at is null"
);

record!(Human: id, email, email_verified_at, name, marketing_consent, created_at, updated_at, closed_at);

impl Human {
    /// The address, where it is proven.
    #[must_use]
    pub fn proven_email(&self) -> Option<&str> {
        self.email.as_deref().filter(|_| self.email_verified_at.is_some())
    }
}

/// The account with this id, a closed one included. For tests: the product asks its directory.
///
/// # Errors
/// Any [`crate::StorageError`].
#[cfg(feature = "faults")]
pub async fn by_id(db: &Db, id: HumanId) -> Result<Option<Human>> {
    db.optional(BY_ID, args![id]).await
}

/// Locks an open account; no row when it is closed. Whoever makes something in its name waits here for
/// whoever else does, so that a count holds, and for whoever closes it.
pub(crate) const LOCK_OPEN: &str =
    "update humans set name = name where id = $1 and closed_at is null";

/// Locks an account; `false` when it is closed.
pub(crate) async fn lock_open(tx: &mut Tx, human: HumanId) -> Result<bool> {
    Ok(tx.execute(LOCK_OPEN, args![human]).await? == 1)
}

/// The open account that has proven this address.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn by_verified_email(db: &Db, email: &str) -> Result<Option<Human>> {
    db.optional(BY_VERIFIED_EMAIL, args![email]).await
}

/// The account of an address that was just proven; made with the id `candidate` when there is
/// none yet. For tests: the product finds accounts within a sign-in's transaction.
///
/// # Errors
/// Any [`crate::StorageError`].
#[cfg(feature = "faults")]
pub async fn find_or_create(
    db: &Db,
    email: String,
    candidate: HumanId,
    now: Timestamp,
) -> Result<Human> {
    db.transaction((email, candidate, now), |tx, (email, candidate, now)| {
        Box::pin(find_or_create_in(tx, email, *candidate, *now))
    })
    .await
}

/// The account of an address that was just proven; made with the id `candidate` when there is
/// none yet.
pub(crate) async fn find_or_create_in(
    tx: &mut Tx,
    email: &str,
    candidate: HumanId,
    now: Timestamp,
) -> Result<Human> {
    placeholders::adopt(tx, email, now).await?;
    tx.execute(
        "insert into humans (id, email, email_verified_at, created_at, updated_at)
         values ($1, $2, $3, $3, $3)
         on conflict (email) where email_verified_at is not null and closed_at is null
         do nothing",
        args![candidate, email, now],
    )
    .await?;
    tx.one(BY_VERIFIED_EMAIL, args![email]).await
}

/// Sets or clears the stored name; `None` when there is no such open account.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn set_name(
    db: &Db,
    id: HumanId,
    name: Option<&str>,
    now: Timestamp,
) -> Result<Option<Human>> {
    db.returning(
        concat!(
            "update humans set name = $2, updated_at = $3
             where id = $1 and closed_at is null returning ",
            human_columns!()
        ),
        args![id, name, now],
    )
    .await
}

/// Records the one-time answer on how a human heard of the service; `false` when there is one.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn record_signup_source(
    db: &Db,
    id: HumanId,
    source: &str,
    now: Timestamp,
    keep: KeepResponse<()>,
) -> Result<bool> {
    let sql = "insert into signup_sources (human, source, created_at) values ($1, $2, $3)
         on conflict (human) do nothing";
    keep.insert(db, sql, args![id, source, now]).await
}

/// How a human heard of the service; `None` while it has not said so.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn signup_source(db: &Db, id: HumanId) -> Result<Option<String>> {
    db.value("select source from signup_sources where human = $1", args![id]).await
}

/// Records whether marketing mail is welcome; `None` when there is no such open account.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn set_marketing_consent(
    db: &Db,
    id: HumanId,
    consent: bool,
    now: Timestamp,
) -> Result<Option<Human>> {
    db.returning(
        concat!(
            "update humans set marketing_consent = $2, updated_at = $3
             where id = $1 and closed_at is null returning ",
            human_columns!()
        ),
        args![id, consent, now],
    )
    .await
}
