//! How the values of rows and events are written into columns, and read back with suspicion:
//! a stored value that this build would not have written is an error that says so, never a panic.

use std::sync::Arc;

use rookery_domain::{
    Principal, PrincipalKind, Timestamp,
    event::{Event, EventType, RowChange},
    row::{Row, RowText},
};
use sqlx::{ColumnIndex, Decode, Type, postgres::PgRow, sqlite::SqliteRow};

/// Why a stored value cannot be read; says nothing of its content.
pub(crate) type Unreadable = String;

/// A result of reading a column.
pub(crate) type Read<T> = Result<T, Unreadable>;

/// A principal in a column: the number of its kind, then its id.
pub(crate) type PrincipalBytes = [u8; 17];

/// The column's bytes.
pub(crate) fn principal_bytes(principal: Principal) -> PrincipalBytes {
    let mut bytes = [0; 17];
    bytes[0] = principal.kind as u8;
    bytes[1..].copy_from_slice(&principal.id);
    bytes
}

/// The principal behind a column's bytes.
pub(crate) fn principal_from(bytes: &[u8]) -> Read<Principal> {
    let (kind, id) = bytes.split_first().ok_or("an empty principal")?;
    let kind = PrincipalKind::from_code(i64::from(*kind)).ok_or("an unknown kind of principal")?;
    let id = id.try_into().map_err(|_| "a principal of the wrong length")?;
    Ok(Principal { kind, id })
}

/// The columns of a result row by position, the same for every driver. Values are borrowed.
pub(crate) trait ReadColumns {
    /// A BIGINT.
    fn int_opt(&self, at: usize) -> Read<Option<i64>>;
    /// A TEXT.
    fn text_opt(&self, at: usize) -> Read<Option<&str>>;
    /// A BLOB or BYTEA.
    fn bytes_opt(&self, at: usize) -> Read<Option<&[u8]>>;

    /// A BIGINT that is there.
    fn int(&self, at: usize) -> Read<i64> {
        self.int_opt(at)?.ok_or_else(|| missing(at))
    }

    /// A TEXT that is there.
    fn text(&self, at: usize) -> Read<&str> {
        self.text_opt(at)?.ok_or_else(|| missing(at))
    }

    /// Bytes that are there.
    fn bytes(&self, at: usize) -> Read<&[u8]> {
        self.bytes_opt(at)?.ok_or_else(|| missing(at))
    }

    /// A count or number that is never negative and fits.
    fn number<T: TryFrom<i64>>(&self, at: usize) -> Read<T> {
        T::try_from(self.int(at)?).map_err(|_| format!("column {at} is out of range"))
    }

    /// A point in time.
    fn time(&self, at: usize) -> Read<Timestamp> {
        self.int(at).map(Timestamp)
    }

    /// A point in time, where there is one.
    fn time_opt(&self, at: usize) -> Read<Option<Timestamp>> {
        Ok(self.int_opt(at)?.map(Timestamp))
    }

    /// A principal.
    fn principal(&self, at: usize) -> Read<Principal> {
        principal_from(self.bytes(at)?)
    }
}

fn missing(at: usize) -> Unreadable {
    format!("column {at} is null")
}

impl ReadColumns for rusqlite::Row<'_> {
    fn int_opt(&self, at: usize) -> Read<Option<i64>> {
        let value = self.get_ref(at).map_err(|error| error.to_string())?;
        value.as_i64_or_null().map_err(|error| error.to_string())
    }

    fn text_opt(&self, at: usize) -> Read<Option<&str>> {
        let value = self.get_ref(at).map_err(|error| error.to_string())?;
        value.as_str_or_null().map_err(|error| error.to_string())
    }

    fn bytes_opt(&self, at: usize) -> Read<Option<&[u8]>> {
        let value = self.get_ref(at).map_err(|error| error.to_string())?;
        value.as_blob_or_null().map_err(|error| error.to_string())
    }
}

macro_rules! columns_of_sqlx {
    ($($row:ty),+) => {$(
        impl ReadColumns for $row {
            fn int_opt(&self, at: usize) -> Read<Option<i64>> {
                get(self, at)
            }

            fn text_opt(&self, at: usize) -> Read<Option<&str>> {
                get(self, at)
            }

            fn bytes_opt(&self, at: usize) -> Read<Option<&[u8]>> {
                get(self, at)
            }
        }
    )+};
}
columns_of_sqlx!(SqliteRow, PgRow);

fn get<'r, R, T>(row: &'r R, at: usize) -> Read<Option<T>>
where
    R: sqlx::Row,
    usize: ColumnIndex<R>,
    T: Decode<'r, R::Database> + Type<R::Database>,
{
    row.try_get(at).map_err(|error| error.to_string())
}

/// Columns of `rows` in the order in which [`row`] reads them.
macro_rules! row_columns {
    () => {
        "key, version, data, creator, editor, created_at, updated_at"
    };
}
pub(crate) use row_columns;

/// The row whose columns start at `at`; null data reads as empty.
pub(crate) fn row(columns: &impl ReadColumns, at: usize) -> Read<Row> {
    Ok(Row {
        text: RowText::new(columns.text(at)?, columns.text_opt(at + 2)?.unwrap_or_default()),
        version: columns.number(at + 1)?,
        creator: columns.principal(at + 3)?,
        editor: columns.principal(at + 4)?,
        created_at: columns.time(at + 5)?,
        updated_at: columns.time(at + 6)?,
    })
}

/// The row whose columns start at `at`, with data that is a JSON object: it is spliced into answers as
/// it is, so one damaged row would spoil every list it is in.
pub(crate) fn shown_row(columns: &impl ReadColumns, at: usize) -> Read<Row> {
    let row = row(columns, at)?;
    if !row.data().starts_with('{') {
        return Err("data is no JSON object".into());
    }
    check_json(row.data())?;
    Ok(row)
}

fn check_json(text: &str) -> Read<()> {
    serde_json::from_str::<serde::de::IgnoredAny>(text)
        .map(drop)
        .map_err(|error| format!("data is no JSON: {error}"))
}

/// The columns of `events` in the order in which [`event`] reads them: those of its row as in
/// [`row_columns`].
macro_rules! event_columns {
    () => {
        "seq, kind, at, done_by, silent, collection, previous_editor, \
         key, version, data, creator, editor, row_created_at, row_updated_at"
    };
}
pub(crate) use event_columns;

/// The event in these columns. A row whose content was scrubbed or never stored has empty `data`.
pub(crate) fn event(columns: &impl ReadColumns) -> Read<Event> {
    if let Some(data) = columns.text_opt(9)?.filter(|data| !data.is_empty()) {
        check_json(data)?;
    }
    let change = match columns.text_opt(5)? {
        Some(collection) => Some(RowChange {
            collection: Arc::from(collection),
            row: Arc::new(row(columns, 7)?),
            previous_editor: columns.bytes_opt(6)?.map(principal_from).transpose()?,
        }),
        None => None,
    };
    let data = match change {
        Some(_) => None,
        None => columns.text_opt(9)?.map(Box::from),
    };
    Ok(Event {
        seq: columns.number(0)?,
        kind: EventType::parse(columns.text(1)?).ok_or("an event of unknown type")?,
        at: columns.time(2)?,
        by: columns.principal(3)?,
        change,
        data,
        silent: columns.int(4)? != 0,
    })
}

/// A record that is decoded by position from either database.
macro_rules! record {
    ($name:ident, $value:ty, $decode:expr) => {
        struct $name(Result<$value, $crate::codec::Unreadable>);

        impl sqlx::FromRow<'_, sqlx::sqlite::SqliteRow> for $name {
            fn from_row(row: &sqlx::sqlite::SqliteRow) -> sqlx::Result<Self> {
                Ok(Self($decode(row)))
            }
        }

        impl sqlx::FromRow<'_, sqlx::postgres::PgRow> for $name {
            fn from_row(row: &sqlx::postgres::PgRow) -> sqlx::Result<Self> {
                Ok(Self($decode(row)))
            }
        }
    };
}
pub(crate) use record;
