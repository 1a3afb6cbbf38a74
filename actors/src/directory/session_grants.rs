//! Grants that carry a sign-in from the site to the origin of one app: single-use, bound to it,
//! gone after a minute.
//!
//! Both halves pass through the actor, as signing out does: so whoever signs out leaves neither a
//! grant nor a visit behind, in whatever order the requests arrive.

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result, Timestamp,
    id::{AppId, HumanId, SessionId},
    secret::{Secret, SecretKind},
};
use rookery_storage::{session_grants, sessions};

use super::{Arrival, Directory, Visit, core::Core};

/// Seconds that a grant is good for.
const GRANT_TTL_S: i64 = 60;
/// Seconds that a test-session token is good for: time to start a client.
const TEST_SESSION_TTL_S: i64 = 600;

impl Directory {
    /// Seconds that a test-session token is good for.
    pub const TEST_SESSION_TTL_S: i64 = TEST_SESSION_TTL_S;

    /// Makes a token that a client without a browser redeems, once, for a session of `human` in
    /// `app`; and when it ends. It goes when the human signs out, as every waiting sign-in does.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn create_test_session(
        &self,
        app: AppId,
        human: HumanId,
    ) -> Result<(Secret, Timestamp)> {
        self.mutate(async move |core: Arc<Core>| {
            let now = core.now();
            let token = Secret::generate(SecretKind::TestSession, &mut rand::rng());
            let expires_at = now.plus_seconds(TEST_SESSION_TTL_S);
            session_grants::create(&core.db, token.hash().0, app, human, expires_at, now).await?;
            Ok((token, expires_at))
        })
        .await
    }

    /// Spends a test-session token in `app`.
    ///
    /// # Errors
    /// As [`Self::redeem_session_grant`].
    pub async fn redeem_test_session(&self, app: AppId, token: &str) -> Result<Visit> {
        self.redeem(app, SecretKind::TestSession, token, None).await
    }

    /// Makes a grant that signs `human` in to `app`, as long as it has this session of the site.
    ///
    /// # Errors
    /// `unauthorized`, when the session has ended; `unavailable`, `internal`.
    pub async fn create_session_grant(
        &self,
        app: AppId,
        human: HumanId,
        session: SessionId,
    ) -> Result<Secret> {
        self.mutate(async move |core: Arc<Core>| {
            let now = core.now();
            if !sessions::is_open(&core.db, session, human, now).await? {
                return Err(Error::new(ErrorCode::Unauthorized, "this session has ended").into());
            }
            let grant = Secret::generate(SecretKind::SessionGrant, &mut rand::rng());
            let expires_at = now.plus_seconds(GRANT_TTL_S);
            session_grants::create(&core.db, grant.hash().0, app, human, expires_at, now).await?;
            Ok(grant)
        })
        .await
    }

    /// Spends a grant in `app`: its human is a visitor there. `share` is the first half of the
    /// hash of the share token that the browser came by before, if it did.
    ///
    /// # Errors
    /// `grant_invalid` for an unknown, used and expired grant and for one of another app alike;
    /// `unavailable`, `internal`.
    pub async fn redeem_session_grant(
        &self,
        app: AppId,
        grant: &str,
        share: Option<[u8; 16]>,
    ) -> Result<Visit> {
        self.redeem(app, SecretKind::SessionGrant, grant, share).await
    }

    async fn redeem(
        &self,
        app: AppId,
        kind: SecretKind,
        grant: &str,
        share: Option<[u8; 16]>,
    ) -> Result<Visit> {
        let refused = || Error::new(ErrorCode::GrantInvalid, "this sign-in is no longer good");
        let grant = Secret::parse(kind, grant).ok_or_else(refused)?;
        self.mutate(async move |core: Arc<Core>| {
            let consumed = session_grants::consume(&core.db, grant.hash().0, app, core.now()).await;
            let human = consumed?.ok_or_else(refused)?;
            Ok(core.create_participant(app, Arrival::Human { human, share }).await?)
        })
        .await
    }
}
