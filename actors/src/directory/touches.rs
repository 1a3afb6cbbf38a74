//! Uses of keys, sessions and visits that storage does not know yet, written down in batches:
//! authenticating a request must not cost a commit.

use std::collections::HashMap;

use parking_lot::Mutex;
use rookery_domain::{
    Timestamp,
    id::{KeyId, ParticipantId, SessionId},
};
use rookery_storage::{
    Db,
    agents::keys,
    participants,
    sessions::{self, SessionUse},
};

use super::sign_in::SESSION_TTL_S;

/// A use is noted this long after the one before it.
pub(super) const TOUCH_EVERY_S: i64 = 60;
/// Keys, sessions and visits, of each, whose uses may wait at a time; the rest is noted at its next use.
const WAITING_MAX: usize = 20_000;

/// What waits to be written down.
#[derive(Default)]
pub(super) struct Touches {
    keys: Mutex<HashMap<KeyId, Timestamp>>,
    sessions: Mutex<HashMap<SessionId, Timestamp>>,
    /// The new ends of visits.
    visits: Mutex<HashMap<ParticipantId, Timestamp>>,
}

impl Touches {
    pub(super) fn key(&self, key: KeyId, at: Timestamp) {
        note(&self.keys, key, at);
    }

    pub(super) fn session(&self, session: SessionId, at: Timestamp) {
        note(&self.sessions, session, at);
    }

    /// A visit lasts `until` then, since it was used.
    pub(super) fn visit(&self, visit: ParticipantId, until: Timestamp) {
        note(&self.visits, visit, until);
    }

    /// Writes everything down. What cannot be written is lost: it is noted again at a later use.
    pub(super) async fn flush(&self, db: &Db, now: Timestamp) {
        let keys: Vec<_> = self.keys.lock().drain().collect();
        for batch in keys.chunks(keys::TOUCH_MAX) {
            report(keys::touch(db, batch.to_vec(), now).await);
        }
        let used: Vec<_> = self.sessions.lock().drain().collect();
        for batch in used.chunks(sessions::TOUCH_MAX) {
            let uses = batch.iter().map(|(id, seen_at)| SessionUse {
                id: *id,
                seen_at: *seen_at,
                expires_at: seen_at.plus_seconds(SESSION_TTL_S),
            });
            report(sessions::touch(db, uses.collect(), now).await);
        }
        let visits: Vec<_> = self.visits.lock().drain().collect();
        for batch in visits.chunks(participants::PROLONG_MAX) {
            report(participants::prolong(db, batch.to_vec()).await);
        }
    }
}

fn note<K: std::hash::Hash + Eq>(waiting: &Mutex<HashMap<K, Timestamp>>, id: K, at: Timestamp) {
    let mut waiting = waiting.lock();
    if waiting.len() < WAITING_MAX || waiting.contains_key(&id) {
        waiting.insert(id, at);
    }
}

fn report(result: rookery_storage::error::Result<()>) {
    if let Err(error) = result {
        tracing::warn!(%error, "uses of credentials were not written down");
    }
}
