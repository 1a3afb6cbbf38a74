//! Visitors of apps: each has a token that is good for one app, and is told apart by it. What is not
//! here: those that were seen lately, in memory (`participants`), and what a visitor may do in the app.

use std::sync::Arc;

use rookery_domain::{
    Result, Timestamp,
    grants::{self, Grant, GrantState},
    id::{AppId, GrantId, HumanId, ParticipantId, PreviewId},
    principal::Caller,
    sealed::TokenPurpose,
    secret::{Secret, SecretHash, SecretKind},
    time::DAY_S,
};
use rookery_storage::participants::{self, CameBy, LASTING_TTL_S, Participant};

use super::{Directory, core::Core, participants::VisitorWatch};
use crate::{app::message::Op, registry::AppHandle, task::to_the_end};

/// Seconds that the token of a signed-in visitor is good for without being used: as long as a session of
/// the site.
pub(super) const HUMAN_TTL_S: i64 = 30 * DAY_S;
/// Seconds after which a use moves its end.
const HUMAN_PROLONG_S: i64 = DAY_S;
/// Seconds that the token of an anonymous visitor is good for before it has left anything.
const FRESH_TTL_S: i64 = 7 * DAY_S;

/// How a visitor comes to an app that does not sign in: that is
/// [`Directory::redeem_session_grant`]'s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// Without any name.
    Anonymous,
    /// By the app's share link, whose token has this hash.
    Share(SecretHash),
    /// By a grant link.
    Grant {
        /// The link.
        grant: GrantId,
        /// Who the visitor will be: the feed has told of it already.
        visitor: ParticipantId,
        /// When the link ends.
        until: Option<Timestamp>,
        /// Whether it lets any number of visitors in, so that one that is forgotten comes again.
        comes_again: bool,
    },
    /// By a preview token.
    Preview {
        /// The token.
        preview: PreviewId,
        /// When it ends.
        until: Timestamp,
    },
}

/// A new visitor, and the only time its token is seen.
#[derive(Debug, Clone)]
pub struct Visit {
    /// The visitor.
    pub participant: Arc<Participant>,
    /// Its token.
    pub token: Secret,
}

/// Until when a visitor's token may be good without being used: an anonymous one's is for longer than it
/// says, once it has left something.
#[must_use]
pub const fn may_last_until(visitor: &Participant) -> Timestamp {
    match visitor.came_by {
        CameBy::Anonymous => visitor.created_at.plus_seconds(FRESH_TTL_S + LASTING_TTL_S),
        _ => visitor.expires_at,
    }
}

impl Directory {
    /// Lets a visitor into `app`. Whether it may come that way is the caller's to know.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn create_participant(&self, app: AppId, arrival: Arrival) -> Result<Visit> {
        self.core.create_participant(app, arrival).await
    }

    /// The visitor of `app` with this token; `None` for an unknown, ended or malformed one, and
    /// for one of another app.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn participant(&self, app: AppId, token: &str) -> Result<Option<Arc<Participant>>> {
        let Some(secret) = Secret::parse(SecretKind::Participant, token) else { return Ok(None) };
        self.participant_of_hash(app, secret.hash()).await
    }

    /// What opens the files of its app to the page of `visitor`, for as long as its token is good,
    /// and nothing else: the token cannot be told from it. Always the same, so that files can be
    /// kept.
    #[must_use]
    pub fn files_pass(&self, visitor: &Participant) -> String {
        self.core.key.sign_within(
            TokenPurpose::Files,
            visitor.app.uuid().as_bytes(),
            &visitor.hash.0,
        )
    }

    /// The visitor of `app` with this pass; `None` as for [`participant`](Self::participant).
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn participant_by_pass(
        &self,
        app: AppId,
        pass: &str,
    ) -> Result<Option<Arc<Participant>>> {
        let payload = self.core.key.verify_within(TokenPurpose::Files, app.uuid().as_bytes(), pass);
        let Some(hash) = payload.and_then(|payload| payload.try_into().ok().map(SecretHash)) else {
            return Ok(None);
        };
        self.participant_of_hash(app, hash).await
    }

    async fn participant_of_hash(
        &self,
        app: AppId,
        hash: SecretHash,
    ) -> Result<Option<Arc<Participant>>> {
        let now = self.core.now();
        // One that was to end may have left something since.
        let found = match self.core.participants.get(hash).filter(|seen| seen.expires_at > now) {
            Some(seen) => Some(seen),
            None => self.core.find_participant(hash, now).await?,
        };
        let Some(visitor) = found.filter(|found| found.app == app) else {
            return Ok(None);
        };
        let is_good = self.core.vouched(visitor.minted_by)?;
        Ok(is_good.then(|| self.core.prolonged(visitor, now)))
    }

    /// Whether a visitor's token is still good, for those who have been waiting with it.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn is_here(&self, visitor: &Participant) -> Result<bool> {
        let (hash, now) = (visitor.hash, self.core.now());
        if !self.core.vouched(visitor.minted_by)? {
            return Ok(false);
        }
        let known = self.core.participants.get(hash).is_some_and(|seen| seen.expires_at > now);
        Ok(known || self.core.find_participant(hash, now).await?.is_some())
    }

    /// Lets a signed-in visitor in by the share link whose token has this hash as well. It stays who
    /// it is, with a token of its own that nobody can have given it. `None` when it has left
    /// meanwhile, or has been given another token: of several at once one succeeds.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn came_by_share(
        &self,
        visitor: &Participant,
        link: SecretHash,
    ) -> Result<Option<Visit>> {
        let (core, before) = (Arc::clone(&self.core), visitor.hash);
        let token = Secret::generate(SecretKind::Participant, &mut rand::rng());
        let came_by = match visitor.came_by {
            CameBy::Human { human, .. } => CameBy::Human { human, share: Some(link.half()) },
            other => other,
        };
        let participant = Arc::new(Participant {
            hash: token.hash(),
            came_by,
            expires_at: core.now().plus_seconds(HUMAN_TTL_S),
            ..visitor.clone()
        });
        to_the_end(async move {
            let renewed = participants::renew(&core.db, before, &participant).await;
            core.participants.forget(before);
            if !renewed? {
                return Ok(None);
            }
            Ok(Some(Visit { participant, token }))
        })
        .await
    }

    /// Tells when the answer of [`is_here`](Self::is_here) for this visitor may have changed.
    ///
    /// # Errors
    /// `unavailable`.
    pub fn watch_visitor(&self, visitor: &Participant) -> Result<VisitorWatch> {
        VisitorWatch::begin(Arc::clone(&self.core), visitor)
    }

    /// Ends a visitor's token: it is unknown on the very next request.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn revoke_participant(&self, visitor: &Participant) -> Result<()> {
        let core = Arc::clone(&self.core);
        let (id, hash) = (visitor.id, visitor.hash);
        to_the_end(async move { core.revoke_participant(id, hash).await }).await
    }

    /// Lets a visitor into `app` by the grant link whose token has this hash, and counts a use of
    /// it; `by` is whoever has the link. Both or neither: no use of a link is lost.
    ///
    /// # Errors
    /// `grant_invalid` for a link that is unknown, used up, expired or revoked; those of
    /// [`AppHandle::apply`].
    pub async fn redeem_grant(
        &self,
        app: &AppHandle,
        by: Caller,
        token: SecretHash,
    ) -> Result<Visit> {
        let (core, app) = (Arc::clone(&self.core), app.clone());
        to_the_end(async move {
            let root = app.root().await?;
            let active = |grant: &&Arc<Grant>| grant.state(core.now()) == GrantState::Active;
            let grant =
                root.access.grant_by_token(&token).filter(active).ok_or_else(grants::not_good)?;
            let visitor = ParticipantId::new();
            let arrival = Arrival::Grant {
                grant: grant.id,
                visitor,
                until: grant.expires_at,
                comes_again: grant.max_uses.is_none(),
            };
            // The visitor first, and the link decides whether anybody gets its token.
            let visit = core.create_participant(app.id(), arrival).await?;
            match app.apply(by, Op::RedeemGrant { token, visitor }).await {
                Ok(_) => Ok(visit),
                Err(refused) => {
                    // A visitor that stays without a link is nobody, and ends by itself.
                    let _ = core.revoke_participant(visitor, visit.token.hash()).await;
                    Err(refused)
                }
            }
        })
        .await
    }
}

impl Directory {
    /// Ends the visits of a human in one app, and every sign-in that waits for it there; whether there
    /// was any. Passes through the actor, as redeeming a sign-in does: whatever order the requests
    /// arrive in, none is left behind.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn end_visits(&self, app: AppId, human: HumanId) -> Result<bool> {
        self.mutate(async move |core: Arc<Core>| {
            let ended = participants::revoke_in_app(&core.db, app, human).await?;
            core.participants.forget_visits_of(human);
            Ok(ended > 0)
        })
        .await
    }
}

impl Core {
    /// A visitor that nobody knows yet, and its token.
    pub(super) fn new_visitor(
        &self,
        app: AppId,
        came_by: CameBy,
        ttl_s: i64,
    ) -> (Participant, Secret) {
        let token = Secret::generate(SecretKind::Participant, &mut rand::rng());
        let now = self.now();
        let participant = Participant {
            id: ParticipantId::new(),
            hash: token.hash(),
            app,
            came_by,
            minted_by: None,
            created_at: now,
            expires_at: now.plus_seconds(ttl_s),
            lasting: false,
        };
        (participant, token)
    }

    pub(super) async fn create_participant(
        self: &Arc<Self>,
        app: AppId,
        arrival: Arrival,
    ) -> Result<Visit> {
        let came_by = match arrival {
            Arrival::Anonymous => CameBy::Anonymous,
            Arrival::Share(link) => CameBy::Share(link.half()),
            Arrival::Grant { grant, .. } => CameBy::Grant(grant),
            Arrival::Preview { preview, .. } => CameBy::Preview(preview),
        };
        let (mut participant, token) = self.new_visitor(app, came_by, LASTING_TTL_S);
        match arrival {
            Arrival::Anonymous => {
                participant.expires_at = participant.created_at.plus_seconds(FRESH_TTL_S);
            }
            Arrival::Share(_) => {}
            Arrival::Grant { visitor, until, comes_again, .. } => {
                participant.id = visitor;
                participant.lasting = !comes_again;
                participant.expires_at =
                    until.map_or(participant.expires_at, |end| participant.expires_at.min(end));
            }
            Arrival::Preview { until, .. } => {
                participant.expires_at = participant.expires_at.min(until);
            }
        }
        let (core, participant) = (Arc::clone(self), Arc::new(participant));
        // A visitor that has left already takes its place like any other.
        to_the_end(async move {
            let ticket = core.participants.ticket();
            participants::create(&core.db, &participant).await?;
            core.participants.put(ticket, Arc::clone(&participant));
            if !participant.lasting {
                core.make_room(app, came_by.kind()).await;
            }
            Ok(Visit { participant, token })
        })
        .await
    }

    /// A visitor whose token was used just now: once a day that of a signed-in one is good for as long anew.
    /// One that an agent asked for ends when it was to end.
    fn prolonged(&self, visitor: Arc<Participant>, now: Timestamp) -> Arc<Participant> {
        let until = now.plus_seconds(HUMAN_TTL_S);
        let is_session = visitor.came_by.human().is_some() && visitor.minted_by.is_none();
        if !is_session || until < visitor.expires_at.plus_seconds(HUMAN_PROLONG_S) {
            return visitor;
        }
        // Whoever left since it was looked up is not put back.
        let ticket = self.participants.ticket();
        if self.participants.get(visitor.hash).is_none() {
            return visitor;
        }
        let prolonged = Arc::new(Participant { expires_at: until, ..(*visitor).clone() });
        self.participants.put(ticket, Arc::clone(&prolonged));
        self.touches.visit(prolonged.id, until);
        prolonged
    }

    async fn revoke_participant(&self, id: ParticipantId, hash: SecretHash) -> Result<()> {
        let revoked = participants::revoke(&self.db, id).await;
        self.participants.forget(hash);
        // The visitor may have been given another token since this one was looked up.
        match &revoked {
            Ok(Some(in_force)) => self.participants.forget(*in_force),
            Ok(None) => {}
            Err(error) if error.is_certain() => {}
            // It may have been in force, and nobody knows which it was: all are looked up anew.
            Err(_) => self.participants.forget_all(),
        }
        Ok(revoked.map(drop)?)
    }

    async fn find_participant(
        &self,
        hash: SecretHash,
        now: Timestamp,
    ) -> Result<Option<Arc<Participant>>> {
        let ticket = self.participants.ticket();
        let found = participants::by_hash(&self.db, hash, now).await?.map(Arc::new);
        if let Some(visitor) = &found {
            self.participants.put(ticket, Arc::clone(visitor));
        }
        Ok(found)
    }
}
