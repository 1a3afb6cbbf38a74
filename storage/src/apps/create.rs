//! Making an app: its record, first version, head, rows and first events in one transaction, so
//! that there is never half an app, and never one more than the account may have.

use std::sync::Arc;

use rookery_domain::{
    app::AppRecord, event::Event, id::AppId, idempotency::FirstResponse, limits::AppsMax, row::Row,
};

use super::{
    KeptCounts,
    room::{self, FullOf},
};
use crate::{
    commit::{RowWrite, Totals, events_bytes},
    db::{Args, Db, Tx, args},
    error::{Result, StorageError},
    humans,
    idempotency::global::{self, NewResponse},
    versions,
};

/// An app to be made, as it was decided.
#[derive(Debug)]
pub struct NewApp {
    /// Its record, with `version` 1.
    pub record: AppRecord,
    /// Whether its manifest or its owner bounds the rows of any collection.
    pub bounded: bool,
    /// Its first version.
    pub version: versions::NewVersion,
    /// Its first rows.
    pub rows: Vec<RowWrite>,
    /// Its first events, from seq 1 without gap.
    pub events: Vec<Arc<Event>>,
    /// The totals of `rows`.
    pub totals: Totals,
    /// The counts of its collections.
    pub collections: KeptCounts,
    /// Apps that the account may have.
    pub apps_max: AppsMax,
    /// The first response to be replayed for an idempotency key.
    pub response: Option<NewResponse>,
}

/// How it ended. Only `Created` has changed anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateOutcome {
    /// The app is there.
    Created,
    /// Another app has the slug, a deleted one included; or it was an app's of another account.
    SlugTaken,
    /// The account has no room for it: what it is full of.
    QuotaReached(FullOf),
    /// There is no such open account.
    NoSuchAccount,
    /// The idempotency key was answered before: with this.
    Answered(FirstResponse),
}

/// Makes an app.
///
/// # Errors
/// Any [`StorageError`].
pub async fn create(db: &Db, app: NewApp) -> Result<CreateOutcome> {
    db.transaction_with(app.record.owner, app, |tx, app| {
        Box::pin(async move {
            let outcome = decide(tx, app).await?;
            if outcome == CreateOutcome::Created {
                contents(tx, app).await?;
            } else {
                tx.abandon();
            }
            Ok(outcome)
        })
    })
    .await
}

/// Checks the account and writes what only one can have: the response's scope and the slug.
async fn decide(tx: &mut Tx, app: &NewApp) -> Result<CreateOutcome> {
    let record = &app.record;
    if !humans::lock_open(tx, record.owner).await? {
        return Ok(CreateOutcome::NoSuchAccount);
    }
    if let Some(response) = &app.response
        && let Some(first) = global::put_in(tx, response, Some(record.id)).await?
    {
        return Ok(CreateOutcome::Answered(first));
    }
    for (sql, args, of) in room::statements(record.owner, record.id, app.apps_max) {
        if !tx.exists(sql, args).await? {
            return Ok(CreateOutcome::QuotaReached(of));
        }
    }
    // In this order: an app that was destroyed meanwhile has left its slug before it is free.
    let is_free = insert_record(tx, record, app.bounded).await?
        && !tx.exists(super::KEPT_SLUG, args![&*record.slug, record.owner]).await?;
    Ok(if is_free { CreateOutcome::Created } else { CreateOutcome::SlugTaken })
}

async fn insert_record(tx: &mut Tx, record: &AppRecord, bounded: bool) -> Result<bool> {
    let retention = serde_json::to_string(&record.retention)
        .map_err(|error| StorageError::Refused(error.to_string()))?;
    let inserted = tx
        .execute(
            "insert into apps (id, owner, org_id, created_by, slug, status, visibility, timezone, version,
                               share_hash, share_sealed, migration_until, unrestricted, retention,
                               history, opened_seq, created_at, updated_at, deleted_at, purge_at,
                               bounded)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
                     $18, $19, $20, $21)
             on conflict (slug) do nothing",
            args![
                record.id,
                record.owner,
                record.org,
                record.created_by,
                &*record.slug,
                record.status,
                record.visibility,
                &*record.timezone,
                record.version,
                record.share.as_ref().map(|share| share.hash),
                record.share.as_ref().map(|share| &*share.sealed),
                record.migration_until,
                record.unrestricted,
                retention,
                record.history,
                record.opened_seq,
                record.created_at,
                record.updated_at,
                record.deleted_at,
                record.purge_at,
                bounded,
            ],
        )
        .await?;
    Ok(inserted == 1)
}

async fn contents(tx: &mut Tx, app: &NewApp) -> Result<()> {
    let id = app.record.id;
    versions::insert(tx, id, &app.version).await?;
    // Epoch 0: no process has written yet, any may.
    tx.execute(
        "insert into app_head (app_id, epoch, last_seq, live, bytes, history_bytes, collections)
         values ($1, 0, $2, $3, $4, $5, $6)",
        args![
            id,
            app.events.last().map_or(0, |event| event.seq),
            app.totals.live,
            app.totals.bytes,
            events_bytes(&app.events),
            app.collections.text(),
        ],
    )
    .await?;
    tx.insert_many(
        "insert into rows (app_id, collection, key, version, data, creator, editor, created_at,
                           updated_at, state, state_at)",
        "",
        app.rows.iter().map(|write| row_args(id, write)).collect(),
    )
    .await?;
    tx.insert_many(
        "insert into events (app_id, seq, kind, at, done_by, collection, key, version, creator,
                             editor, previous_editor, row_created_at, row_updated_at, data,
                             silent)",
        "",
        app.events.iter().map(|event| event_args(id, event)).collect(),
    )
    .await?;
    Ok(())
}

fn row_args(app: AppId, write: &RowWrite) -> Args {
    let row = &write.row;
    args![
        app,
        &*write.collection,
        row.key(),
        row.version,
        write.stored_data(),
        row.creator,
        row.editor,
        row.created_at,
        row.updated_at,
        write.state.code(),
        write.state.at(),
    ]
}

fn event_args(app: AppId, event: &Event) -> Args {
    let row = event.row();
    args![
        app,
        event.seq,
        &*event.kind.name(),
        event.at,
        event.by,
        event.collection(),
        row.map(Row::key),
        row.map(|row| i64::from(row.version)),
        row.map(|row| row.creator),
        row.map(|row| row.editor),
        event.previous_editor(),
        row.map(|row| row.created_at),
        row.map(|row| row.updated_at),
        // The first events create rows or tell of the app: none of them hides its content.
        row.map_or(event.data.as_deref(), |row| Some(row.data())),
        event.silent,
    ]
}
