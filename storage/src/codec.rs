//! How the values of rows and events are written into columns, and read back with suspicion:
//! a stored value that this build would not have written is an error that says so, never a panic.

use std::sync::Arc;

use rookery_domain::{
    Principal, PrincipalKind, Timestamp,
    event::{Event, EventType, RowChange},
    row::Row,
};

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
pub(crate) fn principal_from(bytes: &[u8]) -> Result<Principal, String> {
    let (kind, id) = bytes.split_first().ok_or("an empty principal")?;
    let kind = PrincipalKind::from_code(i64::from(*kind)).ok_or("an unknown kind of principal")?;
    let id = id.try_into().map_err(|_| "a principal of the wrong length")?;
    Ok(Principal { kind, id })
}

/// A stored row's columns, borrowed from the driver.
pub(crate) struct StoredRow<'a> {
    pub(crate) key: &'a str,
    pub(crate) version: i64,
    pub(crate) data: &'a str,
    pub(crate) creator: &'a [u8],
    pub(crate) editor: &'a [u8],
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
}

impl StoredRow<'_> {
    /// The row, with its data checked to be a JSON object: it is spliced into answers as it is,
    /// so one damaged row would spoil every list it is in.
    pub(crate) fn decode(&self) -> Result<Row, String> {
        if !self.data.starts_with('{') {
            return Err("data is no JSON object".into());
        }
        serde_json::from_str::<serde::de::IgnoredAny>(self.data)
            .map_err(|error| format!("data is no JSON: {error}"))?;
        self.decode_unchecked()
    }

    /// The row, with its data taken as it is.
    pub(crate) fn decode_unchecked(&self) -> Result<Row, String> {
        Ok(Row {
            key: self.key.into(),
            data: self.data.into(),
            version: u32::try_from(self.version).map_err(|_| "a version out of range")?,
            creator: principal_from(self.creator)?,
            editor: principal_from(self.editor)?,
            created_at: Timestamp(self.created_at),
            updated_at: Timestamp(self.updated_at),
        })
    }
}

/// A stored event's columns, in the order of [`EVENT_COLUMNS`].
pub(crate) struct StoredEvent<'a> {
    pub(crate) seq: i64,
    pub(crate) kind: &'a str,
    pub(crate) at: i64,
    pub(crate) done_by: &'a [u8],
    pub(crate) collection: Option<&'a str>,
    pub(crate) key: Option<&'a str>,
    pub(crate) version: Option<i64>,
    pub(crate) creator: Option<&'a [u8]>,
    pub(crate) editor: Option<&'a [u8]>,
    pub(crate) previous_editor: Option<&'a [u8]>,
    pub(crate) row_created_at: Option<i64>,
    pub(crate) row_updated_at: Option<i64>,
    pub(crate) data: Option<&'a str>,
    pub(crate) silent: i64,
}

/// The columns of `events` in the order in which both databases select them.
macro_rules! event_columns {
    () => {
        "seq, kind, at, done_by, collection, key, version, creator, editor, previous_editor, \
         row_created_at, row_updated_at, data, silent"
    };
}
pub(crate) use event_columns;

impl StoredEvent<'_> {
    /// The event. A row whose content was scrubbed or never stored has empty `data`.
    pub(crate) fn decode(&self) -> Result<Event, String> {
        let change = match (self.collection, self.key) {
            (Some(collection), Some(key)) => {
                let row = StoredRow {
                    key,
                    version: self.version.ok_or("a row event without version")?,
                    data: self.data.unwrap_or_default(),
                    creator: self.creator.ok_or("a row event without creator")?,
                    editor: self.editor.ok_or("a row event without editor")?,
                    created_at: self.row_created_at.ok_or("a row event without times")?,
                    updated_at: self.row_updated_at.ok_or("a row event without times")?,
                };
                Some(RowChange {
                    collection: Arc::from(collection),
                    row: Arc::new(row.decode_unchecked()?),
                    previous_editor: self.previous_editor.map(principal_from).transpose()?,
                })
            }
            _ => None,
        };
        let data = if change.is_some() { None } else { self.data.map(Box::from) };
        Ok(Event {
            seq: u64::try_from(self.seq).map_err(|_| "a negative seq")?,
            kind: EventType::parse(self.kind)
                .ok_or_else(|| format!("an event of unknown type {}", self.kind))?,
            at: Timestamp(self.at),
            by: principal_from(self.done_by)?,
            change,
            data,
            silent: self.silent != 0,
        })
    }
}
