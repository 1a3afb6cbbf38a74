//! Hibernation: apps that nobody asks for leave memory, and when all of them together hold more
//! than the budget, the least recently used go first. An app that somebody needs stays and is not
//! asked: otherwise a crowd of followed apps would take all places of every round.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use super::{Context, tour::Round};
use crate::registry::slot::Slot;

/// Most apps that one round puts to rest: each ends an actor.
const RESTS_MAX: u64 = 2_000;
/// Pause after a full round, so that apps already asked to leave are not asked twice.
pub(super) const PAUSE: Duration = Duration::from_millis(500);
/// An app used within this time is not put to rest for want of memory: it would be back at once.
const BUSY: Duration = Duration::from_secs(1);

/// One round; apps asked to rest.
pub(super) fn round(context: &Context) -> Round {
    let env = context.env();
    let now = env.uptime();
    let mut resident = 0;
    let mut apps: Vec<(Duration, u64, Arc<Slot>)> = Vec::new();
    for slot in context.apps.inner.shards.live_slots() {
        let Some(root) = slot.root() else { continue };
        let bytes = root.resident_bytes();
        resident += bytes;
        if !slot.is_needed() {
            apps.push((slot.clock.idle_for(now), bytes, slot));
        }
    }
    apps.sort_by_key(|(idle, ..)| Reverse(*idle));
    let mut asked = 0;
    for (idle, bytes, slot) in &apps {
        if asked == RESTS_MAX {
            break;
        }
        let over_budget = resident > env.options.memory_budget_bytes && *idle >= BUSY;
        if *idle < env.options.idle_after && !over_budget {
            break;
        }
        slot.hibernate();
        resident -= bytes;
        asked += 1;
    }
    Round::of(asked, asked == RESTS_MAX)
}
