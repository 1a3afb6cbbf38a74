//! The stored feed: events after a number, and the retention that takes the oldest away.
//!
//! What a given caller may see of an event is not decided here.

use std::sync::Arc;

use rookery_domain::{Timestamp, event::Event, id::AppId};

use crate::{
    codec::{self, event_columns},
    columns::{FromColumns, Read, ReadColumns, record},
    db::{Db, Tx, args, by_id},
    error::Result,
    history,
};

/// Most events that one call of [`events_after`] returns.
const EVENTS_PAGE_MAX: u32 = 1_000;

/// Most events that one transaction of [`prune`] deletes, so that nobody waits long for it: on
/// SQLite every commit does, and what is deleted is overwritten.
pub const PRUNE_CHUNK: u32 = 50;

/// An event, and its number also when it cannot be read.
struct Numbered {
    seq: u64,
    event: Read<Event>,
}

impl Numbered {
    /// The app's event; one that cannot be read is logged.
    fn readable(self, app: AppId) -> Option<Event> {
        let Self { seq, event } = self;
        event
            .inspect_err(|why| {
                tracing::error!(app.id = %app, seq, why, "a stored event cannot be read");
            })
            .ok()
    }
}

impl FromColumns for Numbered {
    const WHAT: &'static str = "Event";

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        Ok(Self { seq: columns.get(0)?, event: codec::event(columns) })
    }
}

/// The events with `after < seq <= max_seq`, the oldest first, at most `limit` (and
/// [`EVENTS_PAGE_MAX`]). `max_seq` is the number the reader's snapshot stands at, so that nobody
/// sees an event before the rows it speaks of. An event of a row whose content is destroyed has
/// empty data.
///
/// They begin with `after + 1` and have no gap: they end before one that is missing, or cannot be read.
/// None at all means that retention took what was there, or that it is damaged.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn events_after(
    db: &Db,
    app: AppId,
    after: u64,
    max_seq: u64,
    limit: u32,
) -> Result<Vec<Arc<Event>>> {
    let limit = limit.min(EVENTS_PAGE_MAX);
    let events: Vec<Numbered> = db
        .all(
            concat!(
                "select ",
                event_columns!(),
                " from events where app_id = $1 and seq > $2 and seq <= $3 \
                 order by seq limit $4"
            ),
            args![app, after, max_seq, limit],
        )
        .await?;
    let unbroken = (after + 1..).zip(events).take_while(|(seq, event)| event.seq == *seq);
    let readable = unbroken.map_while(|(_, event)| event.readable(app));
    Ok(readable.map(Arc::new).collect())
}

/// The events of one row (collection and key) with `seq <= max_seq`, the newest first, at most
/// `limit`. One that cannot be read is left out and logged.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn events_of_row(
    db: &Db,
    app: AppId,
    collection: &str,
    key: &str,
    max_seq: u64,
    limit: u32,
) -> Result<Vec<Event>> {
    let events: Vec<Numbered> = db
        .all(
            concat!(
                "select ",
                event_columns!(),
                " from events where app_id = $1 and seq <= $2 and collection = $3 and key = $4 \
                 order by seq desc limit $5"
            ),
            args![app, max_seq, collection, key, limit],
        )
        .await?;
    Ok(events.into_iter().filter_map(|event| event.readable(app)).collect())
}

/// What retention keeps of an app's feed, whichever bound is reached first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedRetention {
    /// `feed.retention_events`: this many of the newest.
    pub events: u64,
    /// Events before this time go: now less `feed.retention_days`.
    pub not_before: Timestamp,
    /// Events after this time have one that is wrong. They go with an event behind them that is too
    /// old, for they are older.
    pub not_after: Timestamp,
    /// `feed.retention_bytes`: of events, and of answers that are kept for idempotency keys; of the
    /// bytes of answers a quarter at most.
    pub bytes: u64,
}

/// Apps that hold more than retention keeps, in the order of their ids, behind `after`, at
/// most `limit`.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn due(
    db: &Db,
    keep: FeedRetention,
    after: Option<AppId>,
    limit: u32,
) -> Result<Vec<AppId>> {
    db.column(
        "select h.app_id from app_head h
         where h.app_id > $3 and (
            h.last_seq - h.floor_seq > $1
            or h.history_bytes > $5
            or exists (select 1 from events e
                       where e.app_id = h.app_id and e.seq = h.floor_seq + 1
                         and (e.at < $2 or e.at > $6)))
         order by h.app_id limit $4",
        args![keep.events, keep.not_before, by_id(after), limit, keep.bytes, keep.not_after],
    )
    .await
}

/// What one step of [`prune`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pruned {
    /// Events deleted.
    pub events: u64,
    /// The floor from now on.
    pub floor_seq: u64,
    /// There is more to do: call again.
    pub more: bool,
}

/// Deletes the oldest events that retention does not keep, at most [`PRUNE_CHUNK`], and raises the
/// floor in the same transaction. The remains of rows purged before them go too. As to bytes it
/// believes the app's head; [`history::more_than`] counts anew. `None` for an app without head.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn prune(db: &Db, app: AppId, keep: FeedRetention) -> Result<Option<Pruned>> {
    db.transaction((app, keep), |tx, (app, keep)| Box::pin(prune_in(tx, *app, *keep))).await
}

async fn prune_in(tx: &mut Tx, app: AppId, keep: FeedRetention) -> Result<Option<Pruned>> {
    // The update locks the head first, in the writer's order: a purge that scrubs events and a
    // prune that deletes them never wait for each other in a ring.
    let head: Option<Pruning> = tx
        .optional(
            "update app_head set floor_seq = floor_seq where app_id = $1 \
             returning last_seq, floor_seq, history_bytes",
            args![app],
        )
        .await?;
    let Some(head) = head else { return Ok(None) };
    let floor = head.floor_seq;
    let target = head.target(tx, app, keep).await?;
    let through = target.min(floor + i64::from(PRUNE_CHUNK)).max(floor);
    let events = if through > floor { delete_through(tx, app, through).await? } else { 0 };
    let floor_seq = through.max(0).cast_unsigned();
    Ok(Some(Pruned { events, floor_seq, more: through < target }))
}

/// What the head of an app says to whoever prunes its feed.
struct Pruning {
    last_seq: i64,
    floor_seq: i64,
    history_bytes: i64,
}

record!(Pruning: last_seq, floor_seq, history_bytes);

impl Pruning {
    /// The number up to which events go, by whichever bound is the tightest.
    async fn target(&self, tx: &mut Tx, app: AppId, keep: FeedRetention) -> Result<i64> {
        let Self { last_seq, floor_seq: floor, history_bytes } = *self;
        let excess = history_bytes.saturating_sub(i64::try_from(keep.bytes).unwrap_or(i64::MAX));
        let by_bytes = match excess {
            ..=0 => 0,
            _ => history::oldest_events(tx, app, excess, PRUNE_CHUNK).await?.unwrap_or(last_seq),
        };
        let by_count = last_seq.saturating_sub(i64::try_from(keep.events).unwrap_or(i64::MAX));
        // The first event that is young enough stops it, so that the feed keeps no holes.
        let young: Option<i64> = tx
            .value(
                "select seq from events where app_id = $1 and seq > $2 and at >= $3 and at <= $4 \
                 order by seq limit 1",
                args![app, floor, keep.not_before, keep.not_after],
            )
            .await?;
        let young = young.unwrap_or(last_seq + 1);
        let old: Option<i64> = tx
            .value(
                "select seq from events where app_id = $1 and seq > $2 and seq < $3 and at < $4 \
                 order by seq desc limit 1",
                args![app, floor, young, keep.not_before],
            )
            .await?;
        let by_age = old.unwrap_or(floor);
        Ok(by_count.max(by_age).max(by_bytes).min(last_seq))
    }
}

/// Deletes the events up to a number, which is the floor from then on, and the remains of rows purged
/// before them; how many events.
async fn delete_through(tx: &mut Tx, app: AppId, through: i64) -> Result<u64> {
    let newest_gone: Option<i64> = tx
        .value(
            "select at from events where app_id = $1 and seq <= $2 order by seq desc limit 1",
            args![app, through],
        )
        .await?;
    let gone = history::bytes_through(tx, app, through).await?;
    let events = tx
        .execute("delete from events where app_id = $1 and seq <= $2", args![app, through])
        .await?;
    tx.execute(
        "update app_head set floor_seq = $2 where app_id = $1 and floor_seq < $2",
        args![app, through],
    )
    .await?;
    if let Some(at) = newest_gone {
        drop_tombstones(tx, app, at).await?;
    }
    history::subtract(tx, app, gone).await?;
    Ok(events)
}

/// Drops the tombstones of what was purged up to `at`, and notes the highest of their versions.
async fn drop_tombstones(tx: &mut Tx, app: AppId, at: i64) -> Result<()> {
    tx.execute(
        "update app_head set version_floor = gone.version from (
             select max(version) as version from rows
             where app_id = $1 and state = 2 and state_at <= $2) as gone
         where app_id = $1 and version_floor < gone.version",
        args![app, at],
    )
    .await?;
    tx.execute(
        "delete from rows where app_id = $1 and state = 2 and state_at <= $2",
        args![app, at],
    )
    .await?;
    Ok(())
}
