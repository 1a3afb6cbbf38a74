//! A human's own sessions of the site: seeing them, ending one, signing out everywhere.

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result, Timestamp,
    id::{HumanId, SessionId},
};
use rookery_storage::sessions::{self, OpenCodes};

use super::{
    Directory,
    core::Core,
    mutation::Failure,
    sign_in::{SESSION_TTL_S, SessionHolder},
};

/// A place in the list of a human's sessions.
pub type SessionPosition = (Timestamp, SessionId);

/// An open session as its human sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionRecord {
    /// Its id.
    pub id: SessionId,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it was used last.
    pub last_used_at: Timestamp,
    /// When it ends unless it is used.
    pub expires_at: Timestamp,
}

/// The session was open when the request came in.
pub(super) fn session_ended() -> Error {
    Error::new(ErrorCode::Unauthorized, "this session has ended")
}

impl Directory {
    /// At most `limit` open sessions of a human, newest first, behind the position `after`.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn sessions_of(
        &self,
        human: HumanId,
        after: Option<SessionPosition>,
        limit: u32,
    ) -> Result<Vec<SessionRecord>> {
        let core = &self.core;
        let now = core.now();
        let stored = sessions::of_human(&core.db, human, after, now, limit).await?;
        // Uses are written down in batches; memory knows the newest.
        core.read(|memory| {
            let seen = |session: &sessions::Session| {
                let entry = memory.session(session.hash);
                let stored = Some(session.seen_at).filter(|at| !at.is_ahead_of(now));
                entry.map(|entry| entry.seen_at()).max(stored).unwrap_or(session.seen_at)
            };
            let record = |session: &sessions::Session| {
                let last_used_at = seen(session);
                SessionRecord {
                    id: session.id,
                    created_at: session.created_at,
                    last_used_at,
                    expires_at: last_used_at.plus_seconds(SESSION_TTL_S),
                }
            };
            stored.iter().map(record).collect()
        })
    }

    /// Ends one session of a human, and the human's sessions in apps.
    ///
    /// # Errors
    /// `not_found`, when the human has no such session; `unavailable`, `internal`.
    pub async fn end_session(&self, human: HumanId, id: SessionId) -> Result<()> {
        self.mutate(async move |core: Arc<Core>| {
            let ended = sessions::end(&core.db, human, id, OpenCodes::End).await?;
            let missing = || Error::new(ErrorCode::NotFound, "no such session");
            let hash = ended.ok_or_else(missing)?;
            core.write(|memory| memory.remove_session(hash));
            core.participants.forget_visits_of(human);
            Ok(())
        })
        .await
    }

    /// Ends every session of a human: on the site and in apps.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn sign_out_everywhere(&self, human: HumanId) -> Result<()> {
        self.mutate(async move |core: Arc<Core>| {
            sessions::end_all(&core.db, human).await?;
            core.write(|memory| memory.remove_sessions_of(human));
            core.participants.forget_visits_of(human);
            Ok(())
        })
        .await
    }
}

impl Core {
    /// Refuses what a human asked for by a session that has ended since. To be asked within a change,
    /// so that ending it, or closing the account, comes before or after.
    pub(super) async fn require_session(&self, holder: SessionHolder) -> Result<(), Failure> {
        let SessionHolder { session, human } = holder;
        match sessions::is_open(&self.db, session, human, self.now()).await? {
            true => Ok(()),
            false => Err(session_ended().into()),
        }
    }
}
