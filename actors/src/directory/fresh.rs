//! Visitors that have left nothing in their app yet. Anybody can make any number of them, so the newest
//! of an app are kept, and what is older makes room (`docs/decisions/0044-visitors-who-left-nothing.md`).
//!
//! The commit of the first thing that a visitor leaves keeps it (`rookery_storage::commit`). It must not
//! be forgotten between the moment its request is let in and that commit: so it is held first, and
//! nobody who is held makes room. Who is being forgotten can no longer be held.

use std::{
    collections::{VecDeque, hash_map::Entry},
    sync::Arc,
};

use parking_lot::Mutex;
use rookery_domain::{Result, Timestamp, id::AppId, secret::SecretHash};
use rookery_storage::participants::{self, GRACE_S, Participant, ParticipantKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Directory, core::Core};
use crate::task::to_the_end;

/// Visitors that are held at once; whoever was held first is let go for the next. More do not write for
/// the first time while a commit of one of them is under way.
const HELD_MAX: usize = 20_000;
/// By this part of what an app keeps it may be exceeded, on average, before room is made: looking
/// costs a walk over all that are kept.
const SLACK_PARTS: u64 = 64;

/// Who is held, and who is being forgotten.
#[derive(Default)]
pub(super) struct Fresh {
    moving: Mutex<Moving>,
    /// Room is made by one at a time.
    room: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Moving {
    /// Until when.
    held: FxHashMap<SecretHash, Timestamp>,
    /// In the order in which they came to be held, also whoever is held anew since.
    order: VecDeque<(SecretHash, Timestamp)>,
    leaving: FxHashSet<SecretHash>,
}

impl Moving {
    fn hold(&mut self, hash: SecretHash, until: Timestamp) {
        if self.order.len() >= HELD_MAX {
            self.let_go_of_first();
        }
        self.held.insert(hash, until);
        self.order.push_back((hash, until));
    }

    fn let_go_of_ended(&mut self, now: Timestamp) {
        while self.order.front().is_some_and(|(_, until)| *until <= now) {
            self.let_go_of_first();
        }
    }

    fn let_go_of_first(&mut self) {
        if let Some((hash, until)) = self.order.pop_front()
            && let Entry::Occupied(held) = self.held.entry(hash)
            && *held.get() == until
        {
            held.remove();
        }
    }
}

impl Fresh {
    /// Holds a visitor; `false` when it is being forgotten.
    fn hold(&self, hash: SecretHash, now: Timestamp) -> bool {
        let moving = &mut *self.moving.lock();
        if moving.leaving.contains(&hash) {
            return false;
        }
        moving.let_go_of_ended(now);
        moving.hold(hash, now.plus_seconds(GRACE_S));
        true
    }

    /// Of these, those whom nobody holds: they leave.
    fn let_go<Id: Copy>(
        &self,
        found: &[(Id, SecretHash)],
        now: Timestamp,
    ) -> Vec<(Id, SecretHash)> {
        let moving = &mut *self.moving.lock();
        let is_held = |hash: &SecretHash| moving.held.get(hash).is_some_and(|until| *until > now);
        let leaving: Vec<_> = found.iter().copied().filter(|(_, hash)| !is_held(hash)).collect();
        moving.leaving.extend(leaving.iter().map(|(_, hash)| *hash));
        leaving
    }

    fn have_left<Id>(&self, left: &[(Id, SecretHash)]) {
        let moving = &mut *self.moving.lock();
        for (_, hash) in left {
            moving.leaving.remove(hash);
        }
    }
}

impl Directory {
    /// Holds a visitor that is about to leave something in its app: it is there still when that
    /// commits. `false` when it is gone already.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn hold_visitor(&self, visitor: &Participant) -> Result<bool> {
        if visitor.lasting {
            return Ok(true);
        }
        let (core, now) = (&self.core, self.core.now());
        let hash = visitor.hash;
        if !core.fresh.hold(hash, now) {
            return Ok(false);
        }
        // Memory is to learn what the commit makes of it.
        core.participants.look_again(hash);
        Ok(participants::by_hash(&core.db, hash, now).await?.is_some())
    }
}

impl Core {
    /// Forgets the oldest visitors of `app` that came like this and have left nothing, where there are
    /// more than are kept. Whoever has come in is in, also where this fails.
    pub(super) async fn make_room(self: &Arc<Self>, app: AppId, kind: ParticipantKind) {
        let kept = self.options.fresh_visitors_max;
        if rand::random_range(0..(kept / SLACK_PARTS).max(1)) != 0 {
            return;
        }
        let core = Arc::clone(self);
        let made = to_the_end(async move {
            let _one = core.fresh.room.lock().await;
            while core.forget_oldest(app, kind, kept).await? {}
            Ok(())
        });
        if let Err(error) = made.await {
            tracing::warn!(app.id = %app, %error, "visitors who left nothing were not forgotten");
        }
    }

    /// One chunk; `true` when more may be left.
    async fn forget_oldest(&self, app: AppId, kind: ParticipantKind, kept: u64) -> Result<bool> {
        let found = participants::fresh_beyond(&self.db, app, kind, kept).await?;
        let leaving = self.fresh.let_go(&found, self.now());
        let ids = leaving.iter().map(|(id, _)| *id).collect();
        let forgotten = participants::forget_fresh(&self.db, ids).await;
        // Also where the outcome is unknown: the next request asks storage.
        leaving.iter().for_each(|(_, hash)| self.participants.forget(*hash));
        self.fresh.have_left(&leaving);
        forgotten?;
        Ok(!leaving.is_empty() && found.len() >= participants::FRESH_CHUNK as usize)
    }
}
