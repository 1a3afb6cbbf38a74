//! The columns of a result, the same for every driver, and the records that are read from them. A
//! stored value that this build would not have written is an error that says so, never a panic.
//!
//! What is not here: what the domain's values are in a column ([`crate::values`]), rows and events
//! ([`crate::codec`]), and statements.

use std::sync::Arc;

use rusqlite::types::ValueRef;
use sqlx::{
    Column as _, ColumnIndex, Decode, Row as _, Type, ValueRef as _, postgres::PgRow,
    sqlite::SqliteRow,
};

use crate::error::{Result, StorageError};

/// Why a stored value cannot be read; says nothing of its content.
pub(crate) type Unreadable = String;

/// A result of reading a column.
pub(crate) type Read<T> = std::result::Result<T, Unreadable>;

/// The columns of one row of a result, by position.
pub(crate) trait ReadColumns {
    /// Whether there is nothing.
    fn is_null(&self, at: usize) -> Read<bool>;
    /// A BIGINT.
    fn int(&self, at: usize) -> Read<i64>;
    /// A TEXT, borrowed.
    fn text(&self, at: usize) -> Read<&str>;
    /// A BLOB or BYTEA, borrowed.
    fn bytes(&self, at: usize) -> Read<&[u8]>;
    /// What the statement calls it.
    fn name(&self, at: usize) -> &str;

    /// The value of a column, of any type that one can have.
    fn get<T: Column>(&self, at: usize) -> Read<T> {
        T::read(self, at)
    }

    /// A TEXT, borrowed, where there is one.
    fn text_opt(&self, at: usize) -> Read<Option<&str>> {
        if self.is_null(at)? { Ok(None) } else { self.text(at).map(Some) }
    }

    /// What is wrong with a column.
    fn wrong(&self, at: usize, what: &str) -> Unreadable {
        format!("{} {what}", self.name(at))
    }
}

/// A value that a column can have.
pub(crate) trait Column: Sized {
    fn read<R: ReadColumns + ?Sized>(columns: &R, at: usize) -> Read<Self>;
}

impl<T: Column> Column for Option<T> {
    fn read<R: ReadColumns + ?Sized>(columns: &R, at: usize) -> Read<Self> {
        if columns.is_null(at)? { Ok(None) } else { T::read(columns, at).map(Some) }
    }
}

impl Column for i64 {
    fn read<R: ReadColumns + ?Sized>(columns: &R, at: usize) -> Read<Self> {
        columns.int(at)
    }
}

/// Numbers of which a BIGINT holds more than there are.
macro_rules! numbers {
    ($($number:ty),+) => {$(
        impl Column for $number {
            fn read<R: ReadColumns + ?Sized>(columns: &R, at: usize) -> Read<Self> {
                let number = columns.int(at)?;
                Self::try_from(number).map_err(|_| columns.wrong(at, "is out of range"))
            }
        }
    )+};
}
numbers!(i32, u16, u32, u64);

impl Column for bool {
    fn read<R: ReadColumns + ?Sized>(columns: &R, at: usize) -> Read<Self> {
        Ok(columns.int(at)? != 0)
    }
}

/// What a text is kept in.
macro_rules! texts {
    ($($text:ty),+) => {$(
        impl Column for $text {
            fn read<R: ReadColumns + ?Sized>(columns: &R, at: usize) -> Read<Self> {
                columns.text(at).map(Self::from)
            }
        }
    )+};
}
texts!(String, Box<str>, Arc<str>);

impl Column for Arc<[u8]> {
    fn read<R: ReadColumns + ?Sized>(columns: &R, at: usize) -> Read<Self> {
        columns.bytes(at).map(Self::from)
    }
}

impl<const N: usize> Column for [u8; N] {
    fn read<R: ReadColumns + ?Sized>(columns: &R, at: usize) -> Read<Self> {
        let bytes = columns.bytes(at)?;
        bytes
            .try_into()
            .map_err(|_| columns.wrong(at, &format!("has {} bytes instead of {N}", bytes.len())))
    }
}

/// What one row of a result is read as.
pub(crate) trait FromColumns: Sized {
    /// What it is called where it cannot be read.
    const WHAT: &'static str;

    /// Reads it.
    fn from_columns(columns: &impl ReadColumns) -> Read<Self>;
}

pub(crate) fn read_all<T: FromColumns>(rows: &[impl ReadColumns]) -> Result<Vec<T>> {
    let read = |row| T::from_columns(row).map_err(|why| StorageError::corrupt(T::WHAT, why));
    rows.iter().map(read).collect()
}

/// `record!(Session: id, hash, human)`: a record whose fields stand in the columns of a result in this
/// order.
macro_rules! record {
    ($record:ident: $($field:ident),+ $(,)?) => {
        impl $crate::columns::FromColumns for $record {
            const WHAT: &'static str = stringify!($record);

            fn from_columns(
                columns: &impl $crate::columns::ReadColumns,
            ) -> $crate::columns::Read<Self> {
                let mut positions = 0..;
                let mut next = || positions.next().unwrap_or_default();
                Ok(Self { $($field: columns.get(next())?),+ })
            }
        }
    };
}
pub(crate) use record;

/// Whatever is in the columns: the row is there.
impl FromColumns for () {
    const WHAT: &'static str = "row";

    fn from_columns(_: &impl ReadColumns) -> Read<Self> {
        Ok(())
    }
}

/// A record that the others are read without, where it cannot be read.
impl<T: FromColumns> FromColumns for Read<T> {
    const WHAT: &'static str = T::WHAT;

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        Ok(T::from_columns(columns))
    }
}

/// Some columns that are no record.
macro_rules! tuples {
    ($(($($column:ident $at:tt),+))+) => {$(
        impl<$($column: Column),+> FromColumns for ($($column,)+) {
            const WHAT: &'static str = "row";

            fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
                Ok(($(columns.get::<$column>($at)?,)+))
            }
        }
    )+};
}
tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
}

impl ReadColumns for rusqlite::Row<'_> {
    fn is_null(&self, at: usize) -> Read<bool> {
        Ok(self.get_ref(at).map_err(|error| error.to_string())? == ValueRef::Null)
    }

    fn int(&self, at: usize) -> Read<i64> {
        let value = self.get_ref(at).map_err(|error| error.to_string())?;
        value.as_i64().map_err(|error| self.wrong(at, &error.to_string()))
    }

    fn text(&self, at: usize) -> Read<&str> {
        let value = self.get_ref(at).map_err(|error| error.to_string())?;
        value.as_str().map_err(|error| self.wrong(at, &error.to_string()))
    }

    fn bytes(&self, at: usize) -> Read<&[u8]> {
        let value = self.get_ref(at).map_err(|error| error.to_string())?;
        value.as_blob().map_err(|error| self.wrong(at, &error.to_string()))
    }

    fn name(&self, at: usize) -> &str {
        self.as_ref().column_name(at).unwrap_or_default()
    }
}

macro_rules! columns_of_sqlx {
    ($($row:ty),+) => {$(
        impl ReadColumns for $row {
            fn is_null(&self, at: usize) -> Read<bool> {
                Ok(self.try_get_raw(at).map_err(|error| error.to_string())?.is_null())
            }

            fn int(&self, at: usize) -> Read<i64> {
                get(self, at)
            }

            fn text(&self, at: usize) -> Read<&str> {
                get(self, at)
            }

            fn bytes(&self, at: usize) -> Read<&[u8]> {
                get(self, at)
            }

            fn name(&self, at: usize) -> &str {
                self.columns().get(at).map_or("", |column| column.name())
            }
        }
    )+};
}
columns_of_sqlx!(SqliteRow, PgRow);

/// The driver's error names the column.
fn get<'r, R, T>(row: &'r R, at: usize) -> Read<T>
where
    R: sqlx::Row,
    usize: ColumnIndex<R>,
    T: Decode<'r, R::Database> + Type<R::Database>,
{
    row.try_get(at).map_err(|error| error.to_string())
}
