//! Service credentials: made, paused and resumed, given another token, revoked.

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result,
    credentials::{
        CREDENTIALS_PER_APP_MAX, Credential, CredentialStatus, CredentialToken,
        TOKENS_PER_CREDENTIAL_MAX,
    },
    id::CredentialId,
};
use rookery_storage::commit::AccessWrite;

use super::{full, not_found};
use crate::app::{
    access_ops::{AccessReply, NewCredential, NewToken},
    decide::Decision,
};

impl Decision<'_> {
    pub(super) fn mint_credential(&mut self, new: NewCredential) -> Result<Arc<Credential>> {
        for rights in &new.rights.collections {
            self.index_of(&rights.name)?;
        }
        if self.tables().credential_count() >= CREDENTIALS_PER_APP_MAX {
            return Err(full(CREDENTIALS_PER_APP_MAX, "service credentials: revoke one"));
        }
        let now = self.working.next_time(self.now);
        let NewToken { hash, prefix } = new.token;
        let token =
            CredentialToken { hash, prefix: prefix.clone(), created_at: now, expires_at: None };
        let credential = Credential {
            id: new.id,
            name: new.name,
            prefix,
            allowlist: Arc::new(new.rights.allowlist()),
            rights: new.rights,
            status: CredentialStatus::Active,
            created_by: self.standing.principal,
            created_at: now,
            updated_at: now,
            tokens: vec![token],
        };
        Ok(self.put_credential(credential))
    }

    /// Pauses or resumes it; a second time changes nothing.
    pub(super) fn set_credential_status(
        &mut self,
        id: CredentialId,
        status: CredentialStatus,
    ) -> Result<Arc<Credential>> {
        let before = self.credential(id)?;
        if before.status == status {
            return Ok(before);
        }
        let updated_at = self.working.next_time(self.now);
        Ok(self.put_credential(Credential { status, updated_at, ..Credential::clone(&before) }))
    }

    /// Puts another token in force; those before it work `overlap_s` seconds longer at most. A
    /// paused credential stays paused.
    pub(super) fn rotate_credential(
        &mut self,
        id: CredentialId,
        token: NewToken,
        overlap_s: i64,
    ) -> Result<Arc<Credential>> {
        let mut credential = Credential::clone(&*self.credential(id)?);
        let now = self.working.next_time(self.now);
        let end = self.now.plus_seconds(overlap_s);
        for old in &mut credential.tokens {
            old.expires_at = Some(old.expires_at.map_or(end, |before| before.min(end)));
        }
        credential.tokens.retain(|old| old.is_good(self.now));
        if credential.tokens.len() >= TOKENS_PER_CREDENTIAL_MAX {
            let message = format!(
                "{TOKENS_PER_CREDENTIAL_MAX} tokens of this credential work already: wait until \
                 one ends, or rotate with a shorter overlap"
            );
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        let NewToken { hash, prefix } = token;
        credential.prefix = prefix.clone();
        credential.updated_at = now;
        credential.tokens.push(CredentialToken { hash, prefix, created_at: now, expires_at: None });
        Ok(self.put_credential(credential))
    }

    pub(super) fn revoke_credential(&mut self, id: CredentialId) -> Result<AccessReply> {
        let credential = Credential::clone(&*self.credential(id)?);
        self.tables_mut().remove_credential(id);
        let updated_at = self.working.next_time(self.now);
        let status = CredentialStatus::Revoked;
        let revoked = Credential { status, updated_at, tokens: Vec::new(), ..credential };
        self.write_access(AccessWrite::Credential(Arc::new(revoked)));
        Ok(AccessReply::Gone)
    }

    fn credential(&mut self, id: CredentialId) -> Result<Arc<Credential>> {
        self.tables().credential(id).cloned().ok_or_else(|| not_found("service credential"))
    }

    fn put_credential(&mut self, credential: Credential) -> Arc<Credential> {
        let credential = Arc::new(credential);
        self.tables_mut().put_credential(credential.clone());
        self.write_access(AccessWrite::Credential(credential.clone()));
        credential
    }
}
