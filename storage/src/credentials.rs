//! Service credentials of apps, as the app's group has written them, and which app a token
//! belongs to. Whether it works there is the app's actor to know.

use std::sync::Arc;

use rookery_domain::{
    Timestamp,
    credentials::{Credential, CredentialToken, Rights},
    id::{AppId, CredentialId},
    secret::SecretHash,
};

use crate::{
    columns::{FromColumns, Read, ReadColumns},
    db::{Db, args, newest_first},
    error::Result,
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

/// The credential in the columns `id, name, prefix, rights, status, created_by, created_at,
/// updated_at`, without its tokens.
impl FromColumns for Credential {
    const WHAT: &'static str = "Credential";

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        let rights: Rights = serde_json::from_str(columns.text(3)?).map_err(|e| e.to_string())?;
        Ok(Self {
            id: columns.get(0)?,
            name: columns.get(1)?,
            prefix: columns.get(2)?,
            allowlist: Arc::new(rights.allowlist()),
            rights: Arc::new(rights),
            status: columns.get(4)?,
            created_by: columns.get(5)?,
            created_at: columns.get(6)?,
            updated_at: columns.get(7)?,
            tokens: Vec::new(),
        })
    }
}

/// The columns of the credential, and the end of a token.
impl FromColumns for ListedCredential {
    const WHAT: &'static str = "Credential";

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        let credential = Credential::from_columns(columns)?;
        Ok(Self { credential, previous_ends_at: columns.get(8)? })
    }
}

/// The token in four columns from `at`: `hash, prefix, created_at, expires_at`.
pub(crate) fn token(columns: &impl ReadColumns, at: usize) -> Read<CredentialToken> {
    Ok(CredentialToken {
        hash: columns.get(at)?,
        prefix: columns.get(at + 1)?,
        created_at: columns.get(at + 2)?,
        expires_at: columns.get(at + 3)?,
    })
}

/// At most `limit` credentials of an app, the revoked ones too, the newest first, behind the
/// position. Without their tokens.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn list(
    db: &Db,
    app: AppId,
    after: Option<CredentialPosition>,
    limit: u32,
) -> Result<Vec<ListedCredential>> {
    let (at, id) = newest_first(after);
    db.all(
        "select id, name, prefix, rights, status, created_by, created_at, updated_at,
                (select max(t.expires_at) from credential_tokens t
                 where t.credential = credentials.id)
         from credentials
         where app_id = $1 and (created_at < $2 or (created_at = $2 and id < $3))
         order by created_at desc, id desc limit $4",
        args![app, at, id, limit],
    )
    .await
}

/// Whether an app has, or had, a credential with this id.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn is_known(db: &Db, app: AppId, id: CredentialId) -> Result<bool> {
    db.exists("select 1 from credentials where id = $1 and app_id = $2", args![id, app]).await
}

/// The app and the credential that a token with this hash belongs to, whether it still works or
/// not.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn by_token(db: &Db, hash: SecretHash) -> Result<Option<(AppId, CredentialId)>> {
    db.optional("select app_id, credential from credential_tokens where hash = $1", args![hash])
        .await
}
