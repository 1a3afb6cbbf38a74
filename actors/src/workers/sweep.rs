//! The sweeper: destroys what is due, in bounded portions, and forgets slots that nobody asks for.
//! What a round leaves, the next one finds, and comes soon.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use rookery_domain::{ErrorCode, Result, budget::live_days, id::AppId, principal::Caller};
use rookery_storage::{apps::purge, expiry, idempotency, trash};
use tracing::{info, warn};

use super::{Context, tour::Round};
use crate::app::message::AppOp;

/// Most apps that one round destroys.
const APPS_MAX: u32 = 100;
/// Most portions of the trash that one round purges.
const TRASH_PAGES_MAX: usize = 20;
/// Most chunks of expired records of each kind that one round forgets.
const CHUNKS_MAX: usize = 20;
/// Contents of assets that nothing refers to are kept this long: a deploy may be on its way, for no longer
/// than a commit may take. Whoever deploys in a loop fills the disk with what comes in this time.
const BLOB_GRACE_S: i64 = 120;

/// One round. What needs no storage comes first, so that memory is given back while there is none.
pub(super) async fn round(context: &Context) -> Result<Round> {
    context.apps.forget_dormant(context.env().options.idle_after);
    context.env().accounts.forget_idle();
    let mut round = Round::default();
    let parts: [BoxFuture<'_, Result<Round>>; 7] = [
        Box::pin(purges(context)),
        Box::pin(orphans(context)),
        Box::pin(memberships(context)),
        Box::pin(due_apps(context)),
        Box::pin(due_rows(context)),
        Box::pin(overfull_trash(context)),
        Box::pin(expired(context)),
    ];
    for part in parts {
        match part.await {
            Ok(done) => round += done,
            // What one part cannot read keeps the others from nothing. Where storage is away, it is for all.
            Err(error) if error.code == ErrorCode::Internal => {
                warn!(%error, "a part of a round failed");
                round.failed = true;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(round)
}

/// Closes what closed accounts left.
async fn orphans(context: &Context) -> Result<Round> {
    let abandoned = context.control.abandon_orphans().await?;
    Ok(Round { done: abandoned.apps.len() as u64, more: false, failed: abandoned.is_left })
}

async fn memberships(context: &Context) -> Result<Round> {
    Ok(Round { failed: context.control.end_memberships().await?, ..Round::default() })
}

/// Finishes purges that were cut short.
async fn purges(context: &Context) -> Result<Round> {
    let after = context.positions.lock().marked.after;
    let page = purge::marked(&context.db, after, APPS_MAX).await?;
    let mut done = 0;
    for &marked in &page {
        if context.is_stopping() {
            return Ok(Round::of(done, true));
        }
        context.positions.lock().marked.after = Some(marked);
        let app = marked.app;
        match context.control.finish_purge(app).await {
            Ok(()) => done += 1,
            Err(error) => warn!(app.id = %app, %error, "its purge could not be finished"),
        }
    }
    let more = context.positions.lock().marked.end_page(page.len(), APPS_MAX);
    Ok(Round::of(done, more))
}

async fn due_apps(context: &Context) -> Result<Round> {
    let now = context.env().clock.now();
    let after = context.positions.lock().due.after;
    let page = purge::due(&context.db, now, after, APPS_MAX).await?;
    let mut done = 0;
    for &due in &page {
        if context.is_stopping() {
            return Ok(Round::of(done, true));
        }
        context.positions.lock().due.after = Some(due);
        let app = due.app;
        match destroy(context, app).await {
            Ok(()) => {
                info!(app.id = %app, "its time in the trash is over: destroyed");
                done += 1;
            }
            // It was restored, or destroyed by its owner, since the list was made.
            Err(error) if matches!(error.code, ErrorCode::Conflict | ErrorCode::AppNotFound) => {}
            // One app that cannot be loaded must not hold up the others.
            Err(error) => warn!(app.id = %app, %error, "a due app could not be destroyed"),
        }
    }
    let more = context.positions.lock().due.end_page(page.len(), APPS_MAX);
    Ok(Round::of(done, more))
}

async fn destroy(context: &Context, app: AppId) -> Result<()> {
    let app = context.apps.by_id(app).await?;
    context.control.purge(&app, Caller::System).await
}

async fn due_rows(context: &Context) -> Result<Round> {
    let before = context.env().trash_begins();
    let (mut done, mut kept) = (0, BTreeSet::new());
    for _ in 0..TRASH_PAGES_MAX {
        let after = context.positions.lock().trash.clone();
        let page = trash::due_for_purge(&context.db, after.as_ref(), before, trash::TRASH_PAGE_MAX)
            .await?;
        if page.last.is_none() {
            context.positions.lock().trash = None;
            return Ok(Round::of(done, false));
        }
        let mut by_app: BTreeMap<AppId, Vec<_>> = BTreeMap::new();
        for due in page.rows {
            by_app.entry(due.place.app).or_default().push(due);
        }
        for (app, rows) in by_app {
            if context.is_stopping() {
                return Ok(Round::of(done, true));
            }
            if kept.contains(&app) {
                continue;
            }
            match context.ask(app, AppOp::PurgeTrash(rows)).await {
                Ok(count) => done += count,
                // One app that cannot be loaded must not hold up the others, now and next time.
                Err(error) => {
                    warn!(app.id = %app, %error, "its trash could not be emptied");
                    kept.insert(app);
                }
            }
        }
        context.positions.lock().trash = page.last;
    }
    Ok(Round::of(done, true))
}

/// Where more is in an app's trash than it has room for, the oldest rows go, and before them those of a
/// time to come: what was deleted since is newer.
async fn overfull_trash(context: &Context) -> Result<Round> {
    let limits = &context.env().limits;
    let (rows_max, bytes_max) = (limits.trash_rows_max(), limits.trash_bytes_max());
    let after = context.positions.lock().overfull.after;
    let page = trash::overfull(&context.db, rows_max, bytes_max, after, APPS_MAX).await?;
    let mut done = 0;
    for &app in &page {
        context.positions.lock().overfull.after = Some(app);
        let mut more = false;
        for _ in 0..TRASH_PAGES_MAX {
            if context.is_stopping() {
                return Ok(Round::of(done, true));
            }
            let now = context.env().clock.now();
            let oldest = trash::oldest(&context.db, app, now, trash::TRASH_PAGE_MAX).await?;
            let asked = oldest.len() as u64;
            let count = match context.ask(app, AppOp::TrimTrash(oldest)).await {
                Ok(count) => count,
                // One app that cannot be loaded must not hold up the others.
                Err(error) => {
                    warn!(app.id = %app, %error, "its trash could not be trimmed");
                    0
                }
            };
            done += count;
            more = count > 0 && count >= asked;
            if !more {
                break;
            }
        }
        context.positions.lock().overfull.again |= more;
    }
    let more = context.positions.lock().overfull.end_page(page.len(), APPS_MAX);
    Ok(Round::of(done, more))
}

/// Forgets sessions, codes, responses, spent challenges, counters of past days and unused assets;
/// whether there is more tells the round.
async fn expired(context: &Context) -> Result<Round> {
    let db = &context.db;
    let now = context.env().clock.now();
    let unseen_since = now.plus_seconds(-BLOB_GRACE_S);
    let (mut records, mut responses, mut global, mut spent) = (true, true, true, true);
    let mut blobs = Some(context.positions.lock().blobs);
    for _ in 0..CHUNKS_MAX {
        if context.is_stopping() {
            break;
        }
        // Each only while there is more of its own.
        if records {
            records = expiry::sweep(db, now).await?;
        }
        if global {
            global = expiry::sweep_responses(db, now).await?;
        }
        if let Some(after) = blobs {
            blobs = expiry::sweep_blobs(db, unseen_since, after).await?.map(Some);
            context.positions.lock().blobs = blobs.flatten();
        }
        if responses {
            responses =
                idempotency::forget_expired(db, now).await? >= u64::from(idempotency::FORGET_CHUNK);
        }
        if spent {
            spent =
                expiry::forget_spent(db, now, live_days(now)).await? >= u64::from(expiry::CHUNK);
        }
        if !(records || global || blobs.is_some() || responses || spent) {
            return Ok(Round::default());
        }
    }
    Ok(Round::of(0, true))
}
