//! Grant links: made, redeemed by visitors, revoked.

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result,
    event::AccessEvent,
    grants::{self, GRANT_TTL_S_MAX, GRANTS_PER_APP_MAX, Grant},
    id::GrantId,
    secret::SecretHash,
};
use rookery_storage::commit::AccessWrite;
use serde_json::json;

use super::{full, not_found};
use crate::app::{
    access_ops::{AccessReply, NewGrant},
    decide::Decision,
    message::Reply,
};

impl Decision<'_> {
    pub(super) fn mint_grant(&mut self, new: NewGrant) -> Result<Arc<Grant>> {
        let NewGrant { id, hash, role, max_uses, expiry } = new;
        let expires_at = expiry.map(|end| end.resolve(self.now, GRANT_TTL_S_MAX)).transpose()?;
        let role = self.declared(role)?;
        if self.working.root.record.unrestricted {
            let message = "this app is unrestricted, so it has no grant links: turn that off first";
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        if self.tables().grant_count() >= GRANTS_PER_APP_MAX {
            return Err(full(GRANTS_PER_APP_MAX, "grant links: revoke one"));
        }
        let created_at = self.working.next_time(self.now);
        let grant = Arc::new(Grant {
            id,
            hash,
            role,
            max_uses,
            uses: 0,
            expires_at,
            created_by: self.standing.principal,
            created_at,
            revoked_at: None,
        });
        self.put_grant(&grant);
        self.tell(AccessEvent::GrantCreated, &json!({"grant_id": id, "role": grant.role}));
        Ok(grant)
    }

    /// Counts a use. Of any number of visitors at once, no more get in than the link allows.
    ///
    /// # Errors
    /// `grant_invalid` for a link that is unknown, used up, expired or revoked, or whose role the
    /// manifest does not declare any more.
    pub(in crate::app::decide) fn redeem_grant(&mut self, token: &SecretHash) -> Result<Reply> {
        let grant = self.working.root.open_grant(token, self.now).ok_or_else(grants::not_good)?;
        let grant = Arc::new(Grant { uses: grant.uses.saturating_add(1), ..Grant::clone(grant) });
        self.put_grant(&grant);
        self.tell(AccessEvent::GrantRedeemed, &json!({"grant_id": grant.id, "role": grant.role}));
        Ok(Reply::Access(AccessReply::Grant(grant)))
    }

    pub(super) fn revoke_grant(&mut self, id: GrantId) -> Result<AccessReply> {
        let grant = self.tables().grant(id).cloned().ok_or_else(|| not_found("grant link"))?;
        self.tables_mut().remove_grant(id);
        let revoked = Grant { revoked_at: Some(self.now), ..Grant::clone(&grant) };
        self.write_access(AccessWrite::Grant(Arc::new(revoked)));
        self.tell(AccessEvent::GrantRevoked, &json!({"grant_id": id, "role": grant.role}));
        Ok(AccessReply::Gone)
    }

    fn put_grant(&mut self, grant: &Arc<Grant>) {
        self.tables_mut().put_grant(grant.clone());
        self.write_access(AccessWrite::Grant(grant.clone()));
    }
}
