//! Retention: rows beyond their collection's bounds go to the trash, and feeds lose their oldest
//! events. Neither wakes an app that has nothing to lose: a live one is looked at as it is
//! published, a dormant one in storage.

use std::time::Duration;

use rookery_domain::{
    Error, Result, Timestamp,
    app::AppStatus,
    id::AppId,
    retention::{bounds, rows_due},
    time::STEP_BACK_S,
};
use rookery_storage::{feed, history, retention};
use tokio::time::Instant;
use tracing::warn;

use super::{Context, tour::Round};
use crate::{
    app::{birth::read_manifest, decide::sweep::SWEEP_ROWS_MAX, message::AppOp, root::Root},
    yielding::yield_to_writers,
};

/// Dormant apps that are read from storage at a time.
const PAGE: u32 = 200;
/// How often one round prunes one app; each time takes a bounded number of rows.
const PRUNES_MAX: usize = 20;
/// Time between two tours of all feeds.
const TOUR_EVERY: Duration = Duration::from_secs(600);
/// An app that added this many times what it may keep is looked at without waiting for the tour.
/// Pruning makes everybody's commits wait, so it is not done sooner than it has to be.
const FAST_TIMES: u64 = 4;
/// Responses may take one part in this many of what an app keeps beside its rows.
const RESPONSES_PART: u64 = 4;
/// Feeds that one round prunes.
const FEEDS_MAX: u32 = 500;
/// Most steps that one round takes on one feed; each deletes a bounded number of events.
const STEPS_MAX: usize = 2_000;

/// One round over rows; the number that went to the trash.
pub(super) async fn rows(context: &Context) -> Result<u64> {
    let now = context.env().clock.now();
    let mut pruned = 0;
    for slot in context.apps.inner.shards.live_slots() {
        if context.is_stopping() {
            return Ok(pruned);
        }
        if slot.root().is_some_and(|root| is_due(&root, now)) {
            pruned += prune(context, slot.id).await;
        }
    }
    Ok(pruned + dormant(context, now).await?)
}

/// Looks at dormant apps behind those that the last round looked at, to the end at most.
async fn dormant(context: &Context, now: Timestamp) -> Result<u64> {
    let (mut pruned, mut looks) = (0, context.env().options.retention_apps_max);
    while looks > 0 {
        let after = context.positions.lock().retention;
        let limit = u32::try_from(looks).unwrap_or(PAGE).min(PAGE);
        let page = retention::bounded(&context.db, after, limit).await?;
        if page.is_empty() {
            context.positions.lock().retention = None;
            break;
        }
        looks -= page.len();
        for one in page {
            if context.is_stopping() {
                return Ok(pruned);
            }
            context.positions.lock().retention = Some(one.app);
            let is_live = context.apps.known(one.app).is_some_and(|slot| slot.live().is_some());
            if is_live {
                continue;
            }
            match is_due_in_storage(context, &one, now).await {
                Ok(true) => pruned += prune(context, one.app).await,
                Ok(false) => {}
                Err(error) => warn!(app.id = %one.app, %error, "its rows could not be looked at"),
            }
        }
    }
    Ok(pruned)
}

fn is_due(root: &Root, now: Timestamp) -> bool {
    // Of any other app nothing is pruned, and asking would keep it awake.
    let is_live = root.record.status == AppStatus::Live;
    is_live
        && bounds(&root.manifest, &root.record.retention).any(|(name, bounds)| {
            let Some(collection) = root.collection(name) else { return false };
            let oldest = collection.rows.iter().next().map(|row| row.created_at);
            rows_due(bounds, now, collection.rows.len() as u64, oldest) > 0
        })
}

async fn is_due_in_storage(
    context: &Context,
    app: &retention::Bounded,
    now: Timestamp,
) -> Result<bool> {
    // One that cannot be read cannot be pruned either; its load reports it.
    let (Ok(manifest), Some(overrides)) = (read_manifest(&app.manifest), &app.overrides) else {
        return Ok(false);
    };
    for (name, bounds) in bounds(&manifest, overrides) {
        let extent = retention::extent(&context.db, app.app, name).await?;
        if rows_due(bounds, now, extent.live, extent.oldest) > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Prunes one app; a failure is logged and holds up nobody else.
async fn prune(context: &Context, app: AppId) -> u64 {
    let mut pruned = 0;
    for _ in 0..PRUNES_MAX {
        match context.ask(app, AppOp::Prune).await {
            Ok(rows) => {
                pruned += rows;
                if rows < SWEEP_ROWS_MAX as u64 {
                    break;
                }
            }
            Err(error) => {
                warn!(app.id = %app, %error, "its rows could not be pruned");
                break;
            }
        }
    }
    pruned
}

/// One round over feeds: those that grew fast, and now and then all of them, behind those that the
/// last round looked at. Events deleted.
pub(super) async fn feeds(context: &Context) -> Result<Round> {
    let env = context.env();
    let options = &env.options;
    let keep = feed::FeedRetention {
        events: options.feed_retention_events,
        not_before: env.feed_begins(),
        not_after: env.clock.now().plus_seconds(STEP_BACK_S),
        bytes: options.feed_retention_bytes,
    };
    let mut round = Round::default();
    for slot in context.apps.inner.shards.live_slots() {
        if slot.history.take_added(keep.bytes.saturating_mul(FAST_TIMES)) {
            round += feed(context, slot.id, keep).await;
        }
    }
    if context.positions.lock().feeds.is_resting() {
        return Ok(round);
    }
    let after = context.positions.lock().feeds.after;
    let page = feed::due(&context.db, keep, after, FEEDS_MAX).await?;
    let mut again = false;
    for &app in &page {
        if context.is_stopping() {
            return Ok(Round { more: again, ..round });
        }
        context.positions.lock().feeds.after = Some(app);
        let pruned = feed(context, app, keep).await;
        again |= pruned.more;
        round += Round { more: false, ..pruned };
    }
    let mut positions = context.positions.lock();
    positions.feeds.again |= again;
    round.more |= positions.feeds.end_page(page.len(), FEEDS_MAX);
    if !round.more {
        positions.feeds.rest(TOUR_EVERY);
    }
    Ok(round)
}

/// Counts anew what an app keeps beside its rows, if that seems too much, and deletes responses beyond
/// their part of it.
async fn responses(context: &Context, app: AppId, bytes: u64) -> Result<()> {
    let Some(found) = history::more_than(&context.db, app, bytes).await? else { return Ok(()) };
    let excess = found.responses.saturating_sub(bytes / RESPONSES_PART);
    if excess == 0 {
        return Ok(());
    }
    let Some(cut) = history::oldest_responses(&context.db, app, excess).await? else {
        return Ok(());
    };
    for _ in 0..STEPS_MAX {
        let began = Instant::now();
        if context.is_stopping() || !history::forget_responses(&context.db, app, cut).await? {
            break;
        }
        yield_to_writers(began).await;
    }
    Ok(())
}

/// Prunes one feed; a failure is logged and holds up nobody else.
async fn feed(context: &Context, app: AppId, keep: feed::FeedRetention) -> Round {
    let mut round = Round::default();
    if let Err(error) = responses(context, app, keep.bytes).await {
        warn!(app.id = %app, %error, "its responses could not be pruned");
        return round;
    }
    for _ in 0..STEPS_MAX {
        if context.is_stopping() {
            return round;
        }
        let began = Instant::now();
        let step = match feed::prune(&context.db, app, keep).await.map_err(Error::from) {
            Ok(Some(step)) => step,
            Ok(None) => return Round { more: false, ..round },
            Err(error) => {
                warn!(app.id = %app, %error, "its feed could not be pruned");
                return Round { more: false, ..round };
            }
        };
        round = Round::of(round.done + step.events, step.more);
        // A reader that still comes with a lower cursor finds a gap instead, and starts anew.
        if let Some(slot) = context.apps.known(app) {
            slot.history.raise_floor(step.floor_seq);
        }
        if !step.more {
            return round;
        }
        yield_to_writers(began).await;
    }
    round
}
