//! Rows and events, read from their columns. What is not here: values of single columns
//! ([`crate::values`]) and other records ([`crate::columns`]).

use std::sync::Arc;

use rookery_domain::{
    event::{Event, EventType, RowChange},
    row::{Row, RowText},
};

use crate::columns::{FromColumns, Read, ReadColumns};

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
        version: columns.get(at + 1)?,
        creator: columns.get(at + 3)?,
        editor: columns.get(at + 4)?,
        created_at: columns.get(at + 5)?,
        updated_at: columns.get(at + 6)?,
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

impl FromColumns for Row {
    const WHAT: &'static str = "Row";

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        shown_row(columns, 0)
    }
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
    let change = match columns.get(5)? {
        Some(collection) => Some(RowChange {
            collection,
            row: Arc::new(row(columns, 7)?),
            previous_editor: columns.get(6)?,
        }),
        None => None,
    };
    let data = match change {
        Some(_) => None,
        None => columns.get(9)?,
    };
    Ok(Event {
        seq: columns.get(0)?,
        kind: EventType::parse(columns.text(1)?).ok_or("an event of unknown type")?,
        at: columns.get(2)?,
        by: columns.get(3)?,
        change,
        data,
        silent: columns.get(4)?,
    })
}
