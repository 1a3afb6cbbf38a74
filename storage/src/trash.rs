//! Rows that are not served: the trash, and rows detached by a forced deploy.
//!
//! An app's actor knows their keys and versions, not their contents; it decides about them and
//! submits what changes to the writer. Here they are only read.

use rookery_domain::{Timestamp, id::AppId, query::PAGE_BYTES_MAX, row::Row, time::STEP_BACK_S};

use crate::{
    codec::{self, row_columns},
    columns::{FromColumns, Read, ReadColumns},
    db::{Db, args, by_id},
    error::Result,
};

/// Rows that one call gives at most.
pub const TRASH_PAGE_MAX: u32 = 500;

/// Bytes of the rows that one call gives to be purged, but for the last: what is purged is
/// overwritten, and on SQLite every commit waits for it.
const DUE_BYTES_MAX: u64 = 4 << 20;

/// A row in the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashedRow {
    /// The row as it was, its content included.
    pub row: Row,
    /// When it went to the trash.
    pub deleted_at: Timestamp,
}

/// Where a listing of the trash goes on: behind this row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashCursor {
    /// The last row's time.
    pub deleted_at: Timestamp,
    /// The last row's key.
    pub key: Box<str>,
}

/// A page of a collection's trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashPage {
    /// The rows, the last deleted first. One that cannot be read is left out and logged.
    pub rows: Vec<TrashedRow>,
    /// Where the next page begins, where there is one.
    pub next: Option<TrashCursor>,
    /// Where the app stood after they were read: a snapshot of this number and this page go
    /// together.
    pub seq: u64,
}

impl FromColumns for TrashedRow {
    const WHAT: &'static str = "Row";

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        Ok(Self { row: codec::shown_row(columns, 1)?, deleted_at: columns.get(0)? })
    }
}

/// A row of a list, and its place also when it cannot be read.
struct Listed {
    place: TrashCursor,
    row: Read<TrashedRow>,
}

impl FromColumns for Listed {
    const WHAT: &'static str = "Row";

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        let place = TrashCursor { deleted_at: columns.get(0)?, key: columns.get(1)? };
        Ok(Self { place, row: TrashedRow::from_columns(columns) })
    }
}

/// The deleted rows of a collection, the newest first (ties by key, descending), behind `cursor`,
/// at most `limit` and [`TRASH_PAGE_MAX`], and no more behind the one that makes them
/// [`PAGE_BYTES_MAX`].
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn list(
    db: &Db,
    app: AppId,
    collection: &str,
    cursor: Option<TrashCursor>,
    limit: u32,
) -> Result<TrashPage> {
    let TrashCursor { deleted_at, key } =
        cursor.unwrap_or(TrashCursor { deleted_at: Timestamp(i64::MAX), key: "".into() });
    let weights = db
        .column::<u64>(
            "select cast(coalesce(octet_length(data), 0) as bigint) from rows \
             where app_id = $1 and collection = $2 and state = 1 and (state_at, key) < ($3, $4) \
             order by state_at desc, key desc limit $5",
            args![app, collection, deleted_at, &*key, limit.min(TRASH_PAGE_MAX)],
        )
        .await?;
    let limit = fitting(&weights);
    let mut listed: Vec<Listed> = db
        .all(
            concat!(
                "select state_at, ",
                row_columns!(),
                " from rows where app_id = $1 and collection = $2 and state = 1 \
                 and (state_at, key) < ($3, $4) \
                 order by state_at desc, key desc limit $5"
            ),
            // One more tells whether there is a next page.
            args![app, collection, deleted_at, &*key, limit + 1],
        )
        .await?;
    // Read after the rows, for [`TrashPage::seq`].
    let head = db.value("select last_seq from app_head where app_id = $1", args![app]).await?;
    let is_more = listed.len() > limit as usize;
    listed.truncate(limit as usize);
    let next = listed.last().filter(|_| is_more).map(|last| last.place.clone());
    let rows = readable(app, listed.into_iter().map(|listed| listed.row));
    Ok(TrashPage { rows, next, seq: head.unwrap_or_default() })
}

/// How many rows of these sizes make a page: at least one.
fn fitting(bytes: &[u64]) -> u32 {
    let mut sum = 0;
    let before_end = |bytes: &&u64| {
        let has_room = sum < PAGE_BYTES_MAX as u64;
        sum += **bytes;
        has_room
    };
    (bytes.iter().take_while(before_end).count() as u32).max(1)
}

/// One row of the trash, with its content, for a restore.
///
/// # Errors
/// [`crate::StorageError::Corrupt`] when it cannot be read, or any other [`crate::StorageError`].
pub async fn find(db: &Db, app: AppId, collection: &str, key: &str) -> Result<Option<TrashedRow>> {
    db.optional(
        concat!(
            "select state_at, ",
            row_columns!(),
            " from rows where app_id = $1 and collection = $2 and key = $3 and state = 1"
        ),
        args![app, collection, key],
    )
    .await
}

/// The detached rows of a collection, for a deploy that declares it again. Those changed last come
/// first: of two rows with one value of a unique field, that one comes back. As many as the app has:
/// its quota bounds them. One that cannot be read is left out and logged.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn detached(db: &Db, app: AppId, collection: &str) -> Result<Vec<Row>> {
    let rows: Vec<Read<Row>> = db
        .all(
            concat!(
                "select ",
                row_columns!(),
                " from rows where app_id = $1 and collection = $2 and state = 3 \
                 order by updated_at desc, key"
            ),
            args![app, collection],
        )
        .await?;
    Ok(readable(app, rows.into_iter()))
}

/// Where a row of the trash stands among those of all apps, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuePlace {
    /// Since when it is in the trash.
    pub deleted_at: Timestamp,
    /// The app.
    pub app: AppId,
    /// The collection.
    pub collection: String,
    /// Its key.
    pub key: Box<str>,
}

/// A row that leaves the trash for good: no more of it is read than decides about that, so that one
/// whose other columns are damaged goes too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueRow {
    /// Which row it is.
    pub place: DuePlace,
    /// Its version when it went to the trash.
    pub version: u32,
}

/// Rows that leave the trash, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DuePage {
    /// The rows. One that cannot be read is left out and logged.
    pub rows: Vec<DueRow>,
    /// The last one, readable or not; `None` where there was none.
    pub last: Option<DuePlace>,
}

/// A [`DueRow`], and its place and how many bytes its content has also when it cannot be read.
struct Weighed {
    place: DuePlace,
    version: Read<u32>,
    bytes: u64,
}

impl FromColumns for Weighed {
    const WHAT: &'static str = "Row";

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        let place = DuePlace {
            app: columns.get(0)?,
            collection: columns.get(1)?,
            deleted_at: columns.get(2)?,
            key: columns.get(3)?,
        };
        Ok(Self { place, version: columns.get(4), bytes: columns.get(5)? })
    }
}

/// The first rows, up to the one that makes them [`DUE_BYTES_MAX`].
fn portion(rows: Vec<Read<Weighed>>) -> DuePage {
    let mut bytes = 0;
    let mut page = DuePage::default();
    for row in rows {
        if bytes >= DUE_BYTES_MAX {
            break;
        }
        let row = row.and_then(|Weighed { place, version, bytes: of_row }| {
            bytes += of_row;
            page.last = Some(place.clone());
            version.map(|version| DueRow { place, version })
        });
        match row {
            Ok(row) => page.rows.push(row),
            Err(why) => tracing::error!(why, "a row in the trash cannot be read"),
        }
    }
    page
}

/// Rows of all apps, those in the trash and closed ones included, that went to the trash before this
/// time, the oldest first, behind `after`, at most `limit`, [`TRASH_PAGE_MAX`] and
/// [`DUE_BYTES_MAX`]. Their apps' actors decide, and submit them as purged.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn due_for_purge(
    db: &Db,
    after: Option<&DuePlace>,
    before: Timestamp,
    limit: u32,
) -> Result<DuePage> {
    let (since, app, collection, key) = after.map_or((i64::MIN, [0; 16], "", ""), |row| {
        (row.deleted_at.0, row.app.uuid().into_bytes(), &*row.collection, &*row.key)
    });
    let rows = db
        .all(
            "select app_id, collection, state_at, key, version, \
             cast(coalesce(octet_length(data), 0) as bigint) from rows \
             where state = 1 and state_at < $1 and state_at >= $2 \
             and (state_at, app_id, collection, key) > ($2, $3, $4, $5) \
             and exists (select 1 from apps where apps.id = rows.app_id and apps.status <> 3) \
             order by state_at, app_id, collection, key limit $6",
            args![before, since, app, collection, key, limit.min(TRASH_PAGE_MAX)],
        )
        .await?;
    Ok(portion(rows))
}

/// Apps with more than `rows_max` rows or `bytes_max` bytes in the trash, in the order of their
/// ids, behind `after`, at most `limit`.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn overfull(
    db: &Db,
    rows_max: u64,
    bytes_max: u64,
    after: Option<AppId>,
    limit: u32,
) -> Result<Vec<AppId>> {
    db.column(
        "select h.app_id from app_head h join apps a on a.id = h.app_id
         where (h.trashed > $1 or h.trashed_bytes > $2) and a.status <> 3
           and h.app_id > $3
         order by h.app_id limit $4",
        args![rows_max, bytes_max, by_id(after), limit],
    )
    .await
}

/// The rows of an app that have been in the trash longest, at most `limit`, [`TRASH_PAGE_MAX`] and
/// [`DUE_BYTES_MAX`], the oldest first. Before them come those that are there since a time to come, as a clock
/// that was ahead has left them: whatever was deleted since is newer.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn oldest(db: &Db, app: AppId, now: Timestamp, limit: u32) -> Result<Vec<DueRow>> {
    let rows = db
        .all(
            "select app_id, collection, state_at, key, version, \
             cast(coalesce(octet_length(data), 0) as bigint) \
             from rows where app_id = $1 and state = 1 \
             order by case when state_at > $2 then 0 else 1 end, state_at, collection, key limit $3",
            args![app, now.plus_seconds(STEP_BACK_S), limit.min(TRASH_PAGE_MAX)],
        )
        .await?;
    Ok(portion(rows).rows)
}

fn readable<T>(app: AppId, rows: impl Iterator<Item = Read<T>>) -> Vec<T> {
    rows.filter_map(|row| match row {
        Ok(row) => Some(row),
        Err(why) => {
            tracing::error!(app.id = %app, why, "a stored row cannot be read");
            None
        }
    })
    .collect()
}
