//! Service credentials of apps, as the app's group has written them, and which app a token
//! belongs to. Whether it works there is the app's actor to know.

use std::sync::Arc;

use rookery_domain::{
    Timestamp,
    credentials::{Credential, CredentialStatus, CredentialToken, Rights},
    id::{AppId, CredentialId},
};
use uuid::Uuid;

use crate::{
    codec::{Read, ReadColumns, record},
    db::{Db, args, newest_first},
    decode,
    error::{Result, StorageError},
};

/// A place in the list of an app's credentials.
pub type CredentialPosition = (Timestamp, CredentialId);

/// A credential in a list, without its tokens.
#[derive(Debug, Clone)]
pub struct ListedCredential {
    /// The credential.
    pub credential: Credential,
    /// When the last of the tokens that were rotated out ends, or has ended.
    pub previous_ends_at: Option<Timestamp>,
}

record!(Listed, ListedCredential, listed);

/// What a list has of a credential: the columns of [`credential`], and the end of a token.
fn listed(columns: &impl ReadColumns) -> Read<ListedCredential> {
    let previous_ends_at = columns.time_opt(8)?;
    Ok(ListedCredential { credential: credential(columns)?, previous_ends_at })
}

/// The credential in the columns `id, name, prefix, rights, status, created_by, created_at,
/// updated_at`, without its tokens.
pub(crate) fn credential(columns: &impl ReadColumns) -> Read<Credential> {
    let id = Uuid::from_slice(columns.bytes(0)?).map_err(|error| error.to_string())?;
    let rights: Rights = serde_json::from_str(columns.text(3)?).map_err(|e| e.to_string())?;
    Ok(Credential {
        id: CredentialId::from_uuid(id),
        name: columns.text_opt(1)?.map(Arc::from),
        prefix: Arc::from(columns.text(2)?),
        allowlist: Arc::new(rights.allowlist()),
        rights: Arc::new(rights),
        status: CredentialStatus::from_code(columns.int(4)?).ok_or("an unknown status")?,
        created_by: columns.principal(5)?,
        created_at: columns.time(6)?,
        updated_at: columns.time(7)?,
        tokens: Vec::new(),
    })
}

/// The token in four columns from `at`: `hash, prefix, created_at, expires_at`.
pub(crate) fn token(columns: &impl ReadColumns, at: usize) -> Read<CredentialToken> {
    Ok(CredentialToken {
        hash: columns.bytes(at)?.try_into().map_err(|_| "a hash of the wrong length")?,
        prefix: Arc::from(columns.text(at + 1)?),
        created_at: columns.time(at + 2)?,
        expires_at: columns.time_opt(at + 3)?,
    })
}

/// At most `limit` credentials of an app, the revoked ones too, the newest first, behind the
/// position. Without their tokens.
///
/// # Errors
/// Any [`StorageError`].
pub async fn list(
    db: &Db,
    app: AppId,
    after: Option<CredentialPosition>,
    limit: u32,
) -> Result<Vec<ListedCredential>> {
    let (at, id) = newest_first(after);
    let rows: Vec<Listed> = db
        .all(
            "select id, name, prefix, rights, status, created_by, created_at, updated_at,
                    (select max(t.expires_at) from credential_tokens t
                     where t.credential = credentials.id)
             from credentials
             where app_id = $1 and (created_at < $2 or (created_at = $2 and id < $3))
             order by created_at desc, id desc limit $4",
            args![app, at, id, limit],
        )
        .await?;
    let read = |row: Listed| row.0.map_err(|why| StorageError::corrupt("credential", why));
    rows.into_iter().map(read).collect()
}

/// Whether an app has, or had, a credential with this id.
///
/// # Errors
/// Any [`StorageError`].
pub async fn is_known(db: &Db, app: AppId, id: CredentialId) -> Result<bool> {
    let made: Option<(i64,)> = db
        .optional(
            "select created_at from credentials where id = $1 and app_id = $2",
            args![id, app],
        )
        .await?;
    Ok(made.is_some())
}

/// The app and the credential that a token with this hash belongs to, whether it still works or
/// not.
///
/// # Errors
/// Any [`StorageError`].
pub async fn by_token(db: &Db, hash: [u8; 32]) -> Result<Option<(AppId, CredentialId)>> {
    let found: Option<(Vec<u8>, Vec<u8>)> = db
        .optional("select app_id, credential from credential_tokens where hash = $1", args![hash])
        .await?;
    found
        .map(|(app, credential)| {
            Ok((
                decode::id("credential_tokens.app_id", &app)?,
                decode::id("credential_tokens.credential", &credential)?,
            ))
        })
        .transpose()
}
