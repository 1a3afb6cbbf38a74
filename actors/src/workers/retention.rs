//! Retention: rows beyond their collection's bounds go to the trash, and feeds lose their oldest
//! events. Neither wakes an app that has nothing to lose: a live one is looked at as it is
//! published, a dormant one in storage.

use rookery_domain::{
    Error, Result, Timestamp,
    id::AppId,
    manifest::{Manifest, Retention},
    principal::Caller,
    retention::{effective, prune_impact},
};
use rookery_storage::{feed, retention};
use tracing::warn;

use super::Context;
use crate::{
    app::{
        birth::read_manifest,
        decide::sweep::SWEEP_ROWS_MAX,
        message::{AppOp, Op, Reply},
        root::Root,
    },
    registry::failed,
};

/// Dormant apps that are read from storage at a time.
const PAGE: u32 = 200;
/// Dormant apps that one round looks at; the next one begins anew, behind those that were pruned.
const DORMANT_MAX: usize = 20_000;
/// Times that one round prunes one app; each takes a bounded number of rows.
const PRUNES_MAX: usize = 20;
/// Feeds that one round prunes.
const FEEDS_MAX: u32 = 500;
/// Steps that one round takes on one feed; each deletes a bounded number of events.
const STEPS_MAX: usize = 200;

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

async fn dormant(context: &Context, now: Timestamp) -> Result<u64> {
    let (mut pruned, mut looked, mut after) = (0, 0, None);
    while looked < DORMANT_MAX && !context.is_stopping() {
        let page = retention::bounded(&context.db, after, PAGE).await.map_err(failed)?;
        let Some(last) = page.last() else { break };
        after = Some(last.app);
        looked += page.len();
        let full = page.len() == PAGE as usize;
        for one in page {
            let is_live = context.apps.known(one.app).is_some_and(|slot| slot.live().is_some());
            if !is_live && is_due_in_storage(context, &one, now).await? {
                pruned += prune(context, one.app).await;
            }
        }
        if !full {
            break;
        }
    }
    Ok(pruned)
}

/// Bounds by collection, where there are any.
fn bounds<'a>(
    manifest: &'a Manifest,
    owner: impl Fn(&str) -> Option<Retention> + 'a,
) -> impl Iterator<Item = (&'a str, Retention)> + 'a {
    manifest.collections.iter().filter_map(move |(name, decl)| {
        let bounds = effective(decl.retention, owner(name).unwrap_or_default());
        (bounds != Retention::default()).then_some((&**name, bounds))
    })
}

fn is_due(root: &Root, now: Timestamp) -> bool {
    bounds(&root.manifest, |name| root.record.retention.get(name).copied()).any(|(name, bounds)| {
        let Some(shelf) = root.shelf(name) else { return false };
        let oldest = shelf.rows.iter().next().map(|row| row.created_at);
        prune_impact(bounds, now, shelf.rows.len() as u64, oldest).rows > 0
    })
}

async fn is_due_in_storage(
    context: &Context,
    app: &retention::Bounded,
    now: Timestamp,
) -> Result<bool> {
    // One that cannot be read cannot be pruned either; its load reports it.
    let Ok(manifest) = read_manifest(&app.manifest) else { return Ok(false) };
    let bounds: Vec<_> = bounds(&manifest, |name| app.overrides.get(name).copied()).collect();
    for (name, bounds) in bounds {
        let extent = retention::extent(&context.db, app.app, name).await.map_err(failed)?;
        if prune_impact(bounds, now, extent.live, extent.oldest).rows > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Prunes one app; a failure is logged and keeps nobody else.
async fn prune(context: &Context, app: AppId) -> u64 {
    let mut pruned = 0;
    for _ in 0..PRUNES_MAX {
        match prune_once(context, app).await {
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

async fn prune_once(context: &Context, app: AppId) -> Result<u64> {
    let app = context.apps.by_id(app).await?;
    match app.apply(Caller::System, Op::App(AppOp::Prune), None, 0).await? {
        Reply::Count(rows) => Ok(rows),
        _ => Err(Error::internal(false)),
    }
}

/// One round over feeds; the number of events deleted.
pub(super) async fn feeds(context: &Context) -> Result<u64> {
    let options = &context.env().options;
    let days = i64::from(options.feed_retention_days);
    let keep = feed::FeedRetention {
        events: options.feed_retention_events,
        not_before: context.env().clock.now().plus_seconds(-days * 86_400),
    };
    let mut deleted = 0;
    for app in feed::due(&context.db, keep, FEEDS_MAX).await.map_err(failed)? {
        for _ in 0..STEPS_MAX {
            if context.is_stopping() {
                return Ok(deleted);
            }
            let step = feed::prune(&context.db, app, keep).await.map_err(failed)?;
            let Some(step) = step else { break };
            deleted += step.events;
            // A reader that still comes with a lower cursor finds a gap instead, and starts anew.
            if let Some(slot) = context.apps.known(app) {
                slot.raise_floor(step.floor_seq);
            }
            if !step.more {
                break;
            }
        }
    }
    Ok(deleted)
}
