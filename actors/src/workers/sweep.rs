//! The sweeper: what is due leaves for good. In bounded portions: what one round does not get to
//! is found again by the next.

use std::collections::{BTreeMap, BTreeSet};

use rookery_domain::{Error, ErrorCode, Result, id::AppId, principal::Caller};
use rookery_storage::{apps::purge, expiry, idempotency, trash};
use tracing::{info, warn};

use super::Context;
use crate::app::message::{AppOp, Op, Reply};

/// Apps that one round destroys at most.
const APPS_MAX: u32 = 100;
/// Portions of the trash that one round purges at most.
const TRASH_PAGES_MAX: usize = 20;
/// Chunks of expired records that one round forgets at most, of each kind.
const CHUNKS_MAX: usize = 20;
/// Contents of assets that nothing refers to are kept this long: a deploy may be on its way.
const BLOB_GRACE_S: i64 = 3_600;
const SECONDS_PER_DAY: i64 = 86_400;

/// One round; the number of apps and rows it destroyed.
pub(super) async fn round(context: &Context) -> Result<u64> {
    let mut done = 0;
    for app in purge::marked(&context.db, APPS_MAX).await? {
        if context.is_stopping() {
            return Ok(done);
        }
        match context.control.finish_purge(app).await {
            Ok(()) => done += 1,
            Err(error) => warn!(app.id = %app, %error, "its purge could not be finished"),
        }
    }
    done += context.control.abandon_orphans().await?;
    context.control.end_memberships().await?;
    done += due_apps(context).await?;
    done += due_rows(context).await?;
    done += overfull_trash(context).await?;
    expired(context).await?;
    Ok(done)
}

async fn due_apps(context: &Context) -> Result<u64> {
    let now = context.env().clock.now();
    let mut done = 0;
    for app in purge::due(&context.db, now, APPS_MAX).await? {
        if context.is_stopping() {
            break;
        }
        match destroy(context, app).await {
            Ok(()) => {
                info!(app.id = %app, "its time in the trash is over: destroyed");
                done += 1;
            }
            // It was restored, or destroyed by its owner, since the list was made.
            Err(error) if matches!(error.code, ErrorCode::Conflict | ErrorCode::AppNotFound) => {}
            // One app that cannot be loaded must not keep the others.
            Err(error) => warn!(app.id = %app, %error, "a due app could not be destroyed"),
        }
    }
    Ok(done)
}

async fn destroy(context: &Context, app: AppId) -> Result<()> {
    let app = context.apps.by_id(app).await?;
    context.control.purge(&app, Caller::System).await
}

async fn due_rows(context: &Context) -> Result<u64> {
    let env = context.env();
    let days = i64::from(env.limits.deleted_row_retention_days);
    let before = env.clock.now().plus_seconds(-days * SECONDS_PER_DAY);
    let (mut done, mut kept) = (0, BTreeSet::new());
    for _ in 0..TRASH_PAGES_MAX {
        let after = context.positions.lock().trash.clone();
        let page = trash::due_for_purge(&context.db, after.as_ref(), before, trash::TRASH_PAGE_MAX)
            .await?;
        let last = page.last().cloned();
        if last.is_none() {
            context.positions.lock().trash = None;
            break;
        }
        let mut by_app: BTreeMap<AppId, Vec<_>> = BTreeMap::new();
        for due in page {
            by_app.entry(due.app).or_default().push(due);
        }
        for (app, rows) in by_app {
            if context.is_stopping() {
                return Ok(done);
            }
            if kept.contains(&app) {
                continue;
            }
            match decide(context, app, AppOp::PurgeTrash(rows)).await {
                Ok(count) => done += count,
                // One app that cannot be loaded must not keep the others, now and next time.
                Err(error) => {
                    warn!(app.id = %app, %error, "its trash could not be emptied");
                    kept.insert(app);
                }
            }
        }
        context.positions.lock().trash = last;
    }
    Ok(done)
}

/// Where more is in an app's trash than it has room for, the oldest rows go.
async fn overfull_trash(context: &Context) -> Result<u64> {
    let limits = &context.env().limits;
    let (rows_max, bytes_max) = (limits.trash_rows_max(), limits.trash_bytes_max());
    let apps = trash::overfull(&context.db, rows_max, bytes_max, APPS_MAX).await?;
    let mut done = 0;
    for app in apps {
        for _ in 0..TRASH_PAGES_MAX {
            if context.is_stopping() {
                return Ok(done);
            }
            let oldest = trash::oldest(&context.db, app, trash::TRASH_PAGE_MAX);
            let oldest = oldest.await?;
            let asked = oldest.len() as u64;
            match decide(context, app, AppOp::TrimTrash(oldest)).await {
                Ok(count) => {
                    done += count;
                    if count < asked || asked == 0 {
                        break;
                    }
                }
                // One app that cannot be loaded must not keep the others.
                Err(error) => {
                    warn!(app.id = %app, %error, "its trash could not be trimmed");
                    break;
                }
            }
        }
    }
    Ok(done)
}

/// How many rows the app's actor destroyed.
async fn decide(context: &Context, app: AppId, op: AppOp) -> Result<u64> {
    let app = context.apps.by_id(app).await?;
    match app.apply(Caller::System, Op::App(op), None, 0).await? {
        Reply::Count(count) => Ok(count),
        _ => Err(Error::internal(false)),
    }
}

/// Forgets sessions, codes, answers, spent challenges, counters of past days and unused assets.
async fn expired(context: &Context) -> Result<()> {
    let db = &context.db;
    let now = context.env().clock.now();
    let day = i32::try_from(now.0.div_euclid(SECONDS_PER_DAY * 1_000_000)).unwrap_or(i32::MAX);
    let mut more = [true; 5];
    for _ in 0..CHUNKS_MAX {
        if context.is_stopping() || more == [false; 5] {
            break;
        }
        if more[0] {
            more[0] = expiry::sweep(db, now).await?;
        }
        if more[1] {
            more[1] = expiry::sweep_answers(db, now).await?;
        }
        if more[2] {
            let unseen_since = now.plus_seconds(-BLOB_GRACE_S);
            more[2] = expiry::sweep_blobs(db, unseen_since).await?;
        }
        if more[3] {
            let forgotten = idempotency::forget_expired(db, now).await?;
            more[3] = forgotten >= u64::from(idempotency::FORGET_CHUNK);
        }
        if more[4] {
            // Yesterday still counts in the timezone farthest west.
            let forgotten = idempotency::forget_spent(db, now, day - 1).await?;
            more[4] = forgotten >= u64::from(idempotency::FORGET_CHUNK);
        }
    }
    Ok(())
}
