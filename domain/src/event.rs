//! Feed events (contract part 6): what happened in an app, in commit order.
//!
//! The names of the types are here; what a given caller may see of an event is decided where the
//! app's newest state is known.

use std::sync::Arc;

use crate::{Principal, Timestamp, row::Row};

/// What happened. Row events belong to a collection, the others to the app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventType {
    /// A row came into being (or came anew at a deleted key).
    RowCreated,
    /// A row was written.
    RowUpdated,
    /// A row went to the trash.
    RowDeleted,
    /// A row came back from the trash.
    RowRestored,
    /// A row's content was destroyed.
    RowPurged,
    /// A row left this caller's sight. Never stored: it is made for the caller that lost it.
    RowHidden,
    /// A version was deployed (the first one included).
    AppDeployed,
    /// Visibility, timezone or another setting of the app changed.
    AppUpdated,
    /// The app went to the trash.
    AppDeleted,
    /// The app came back.
    AppRestored,
    /// `POST wake` woke the app.
    AppWoken,
    /// A custom event the manifest declares, by its declared name.
    Custom(Box<str>),
    /// `member.*` and `grant.*`, by full name.
    Access(Box<str>),
}

impl EventType {
    /// The name on the wire and in storage.
    #[must_use]
    pub fn name(&self) -> std::borrow::Cow<'static, str> {
        match self {
            Self::RowCreated => "row.created".into(),
            Self::RowUpdated => "row.updated".into(),
            Self::RowDeleted => "row.deleted".into(),
            Self::RowRestored => "row.restored".into(),
            Self::RowPurged => "row.purged".into(),
            Self::RowHidden => "row.hidden".into(),
            Self::AppDeployed => "app.deployed".into(),
            Self::AppUpdated => "app.updated".into(),
            Self::AppDeleted => "app.deleted".into(),
            Self::AppRestored => "app.restored".into(),
            Self::AppWoken => "app.woken".into(),
            Self::Custom(name) => format!("event.{name}").into(),
            Self::Access(name) => name.to_string().into(),
        }
    }

    /// The type with this stored name, if it is one.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "row.created" => Self::RowCreated,
            "row.updated" => Self::RowUpdated,
            "row.deleted" => Self::RowDeleted,
            "row.restored" => Self::RowRestored,
            "row.purged" => Self::RowPurged,
            "row.hidden" => Self::RowHidden,
            "app.deployed" => Self::AppDeployed,
            "app.updated" => Self::AppUpdated,
            "app.deleted" => Self::AppDeleted,
            "app.restored" => Self::AppRestored,
            "app.woken" => Self::AppWoken,
            _ => match name.split_once('.') {
                Some(("event", rest)) => Self::Custom(rest.into()),
                Some(("member" | "grant", _)) => Self::Access(name.into()),
                _ => return None,
            },
        })
    }
}

/// The row an event is about, as it was after the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowChange {
    /// The collection's name.
    pub collection: Arc<str>,
    /// The row; shared with the app's state while it is the newest one. After a delete or purge
    /// its `data` is not shown.
    pub row: Arc<Row>,
    /// Who had written the row before this event, when that was somebody else: a caller that saw
    /// the row as its editor may have lost sight of it now.
    pub previous_editor: Option<Principal>,
}

/// One entry of an app's feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Commit-ordered number, per app, without gaps.
    pub seq: u64,
    /// What happened.
    pub kind: EventType,
    /// When.
    pub at: Timestamp,
    /// Who did it.
    pub by: Principal,
    /// The row it is about, for `row.*`.
    pub change: Option<RowChange>,
    /// The payload of a custom or app event: the text of a JSON value.
    pub data: Option<Box<str>>,
    /// Written in migration mode: fires no webhook, notification, schedule or task.
    pub silent: bool,
}
