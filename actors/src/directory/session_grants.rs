//! Grants that carry a sign-in from the site to the origin of one app: single-use, bound to it,
//! gone after a minute.

use rookery_domain::{
    Error, ErrorCode, Result,
    id::{AppId, HumanId},
    secret::{Secret, SecretKind},
};
use rookery_storage::session_grants;

use super::{Arrival, Directory, Visit};

/// Seconds that a grant is good for.
const GRANT_TTL_S: i64 = 60;

impl Directory {
    /// Makes a grant that signs `human` in to `app`.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn create_session_grant(&self, app: AppId, human: HumanId) -> Result<Secret> {
        let core = &self.core;
        let grant = Secret::generate(SecretKind::SessionGrant, &mut rand::rng());
        let now = core.now();
        let expires_at = now.plus_seconds(GRANT_TTL_S);
        session_grants::create(&core.db, grant.hash().0, app, human, expires_at, now).await?;
        Ok(grant)
    }

    /// Spends a grant in `app`: its human is a visitor there.
    ///
    /// # Errors
    /// `grant_invalid` for an unknown, used and expired grant and for one of another app alike;
    /// `unavailable`, `internal`.
    pub async fn redeem_session_grant(&self, app: AppId, grant: &str) -> Result<Visit> {
        let refused = || Error::new(ErrorCode::GrantInvalid, "this sign-in is no longer good");
        let grant = Secret::parse(SecretKind::SessionGrant, grant).ok_or_else(refused)?;
        let core = std::sync::Arc::clone(&self.core);
        // A spent grant without a visitor would leave the human outside, so both are done even
        // when the request is dropped.
        let redeemed = tokio::spawn(async move {
            let consumed = session_grants::consume(&core.db, grant.hash().0, app, core.now()).await;
            let human = consumed?.ok_or_else(refused)?;
            core.create_participant(app, Arrival::Human { human }).await
        });
        redeemed.await.map_err(|_| Error::internal(true))?
    }
}
