//! Grants that carry a sign-in from the site to the origin of one app: single-use, bound to it,
//! gone after a minute.
//!
//! Both halves pass through the actor, as signing out does: so whoever signs out leaves neither a
//! grant nor a visit behind, in whatever order the requests arrive.

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result, Timestamp,
    id::{AppId, HumanId, SessionId},
    secret::{HashHalf, Secret, SecretHash, SecretKind},
};
use rookery_storage::{
    idempotency::KeepResponse,
    participants::CameBy,
    session_grants::{self, Redeemed, SessionGrant},
};

use super::{
    Directory, Visit, core::Core, sessions::session_ended, sign_in::SessionHolder, visitors,
};

/// Seconds that a grant is good for.
const GRANT_TTL_S: i64 = 60;
/// Seconds that a test-session token is good for: time to start a client.
const TEST_SESSION_TTL_S: i64 = 600;
/// What to do about a test-session token that is good no more.
const TEST_SESSION_HINT: &str = "Get another with POST /v1/apps/:id/test-session-tokens: one is good once, in its \
     own app, and for ten minutes.";

/// What a test session is asked for with: hashes of secrets. It ends with that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedBy {
    /// An agent's key: the token and its session are good for as long as it is.
    Key(SecretHash),
    /// A session of the site: whoever signs out ends them.
    Session(SecretHash),
}

impl Directory {
    /// Makes a token that a client without a browser redeems, once, for a session of `human` in
    /// `app`; and when it ends. Asked for by a session, it is not made once that has ended, and goes when the
    /// human signs out, as every waiting sign-in does.
    ///
    /// # Errors
    /// `unauthorized`, when the session that asks has ended; `unavailable`, `internal`.
    pub async fn create_test_session(
        &self,
        app: AppId,
        human: HumanId,
        by: AskedBy,
        keep: KeepResponse<(Secret, Timestamp)>,
    ) -> Result<(Secret, Timestamp)> {
        self.mutate(async move |core: Arc<Core>| {
            let minted_by = match by {
                AskedBy::Key(key) => Some(key),
                AskedBy::Session(session) => {
                    let found =
                        core.read(|memory| memory.session(session).map(|session| session.id))?;
                    let session = found.ok_or_else(session_ended)?;
                    core.require_session(SessionHolder { session, human }).await?;
                    None
                }
            };
            let (grant, made) =
                core.draw(SecretKind::TestSession, TEST_SESSION_TTL_S, app, human, minted_by);
            let answered = made.clone();
            let keep = keep.of(move |()| answered.clone());
            session_grants::create(&core.db, &grant, core.now(), keep).await?;
            Ok(made)
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
            core.require_session(SessionHolder { session, human }).await?;
            let (grant, (secret, _)) =
                core.draw(SecretKind::SessionGrant, GRANT_TTL_S, app, human, None);
            session_grants::create(&core.db, &grant, core.now(), KeepResponse::nothing()).await?;
            Ok(secret)
        })
        .await
    }

    /// Whether a grant that nobody has spent signs in somebody else than `human`; anybody, for nobody.
    ///
    /// # Errors
    /// `unavailable`.
    pub async fn is_grant_of_another(&self, grant: &str, human: Option<HumanId>) -> Result<bool> {
        let Some(grant) = Secret::parse(SecretKind::SessionGrant, grant) else { return Ok(false) };
        let of = session_grants::human(&self.core.db, grant.hash()).await?;
        Ok(of.is_some_and(|of| Some(of) != human))
    }

    /// Spends a grant in `app`: its human is a visitor there. `share` is of the share token
    /// that the browser came by before, if it did.
    ///
    /// # Errors
    /// `grant_invalid` for an unknown, used and expired grant and for one of another app alike;
    /// `unavailable`, `internal`.
    pub async fn redeem_session_grant(
        &self,
        app: AppId,
        grant: &str,
        share: Option<HashHalf>,
    ) -> Result<Visit> {
        self.redeem(app, SecretKind::SessionGrant, grant, share).await
    }

    async fn redeem(
        &self,
        app: AppId,
        kind: SecretKind,
        grant: &str,
        share: Option<HashHalf>,
    ) -> Result<Visit> {
        let refused = move || {
            let refused = Error::new(ErrorCode::GrantInvalid, "this sign-in is no longer good");
            match kind {
                SecretKind::TestSession => refused.with_hint(TEST_SESSION_HINT),
                _ => refused,
            }
        };
        let grant = Secret::parse(kind, grant).ok_or_else(refused)?;
        self.mutate(async move |core: Arc<Core>| {
            // A paused agent's grant is refused, not spent: it is good again once the agent is.
            if !core.vouched(session_grants::minted_by(&core.db, grant.hash()).await?)? {
                return Err(refused().into());
            }
            let (mut visitor, token) =
                core.new_visitor(app, CameBy::Anonymous, visitors::HUMAN_TTL_S);
            visitor.lasting = true;
            let ticket = core.participants.ticket();
            let redeemed =
                session_grants::redeem(&core.db, grant.hash(), visitor, share, core.now()).await;
            if redeemed.as_ref().is_err_and(|error| !error.is_certain()) {
                // Visits may have ended to make room, and nobody knows which: all are looked up anew.
                core.participants.forget_all();
            }
            // However a lost COMMIT ended, memory holds no grants, so it is not in doubt.
            let Redeemed { visitor, ended } = redeemed.map_err(Error::from)?.ok_or_else(refused)?;
            ended.into_iter().for_each(|hash| core.participants.forget(hash));
            let participant = Arc::new(visitor);
            core.participants.put(ticket, Arc::clone(&participant));
            Ok(Visit { participant, token })
        })
        .await
    }
}

impl Core {
    /// A new grant, its secret, and when it ends.
    fn draw(
        &self,
        kind: SecretKind,
        ttl_s: i64,
        app: AppId,
        human: HumanId,
        minted_by: Option<SecretHash>,
    ) -> (SessionGrant, (Secret, Timestamp)) {
        let secret = Secret::generate(kind, &mut rand::rng());
        let (hash, expires_at) = (secret.hash(), self.now().plus_seconds(ttl_s));
        (SessionGrant { hash, app, human, minted_by, expires_at }, (secret, expires_at))
    }
}
