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
    /// `member.*` and `grant.*`, by full name: one of [`AccessEvent`].
    Access(Box<str>),
}

/// Gives each type of event but the families the name on the wire and in storage.
macro_rules! names {
    ($($kind:ident = $name:literal;)*) => {
        impl EventType {
            /// The names of the types that the rules themselves have, families left out.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The name on the wire and in storage.
            #[must_use]
            pub fn name(&self) -> std::borrow::Cow<'static, str> {
                match self {
                    $(Self::$kind => $name.into(),)*
                    Self::Custom(name) => format!("event.{name}").into(),
                    Self::Access(name) => name.to_string().into(),
                }
            }

            /// The type with this stored name, if it is one.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                Some(match name {
                    $($name => Self::$kind,)*
                    _ => match name.split_once('.') {
                        Some(("event", rest)) => Self::Custom(rest.into()),
                        Some(("member" | "grant", _)) => Self::Access(name.into()),
                        _ => return None,
                    },
                })
            }
        }
    };
}

names! {
    RowCreated = "row.created";
    RowUpdated = "row.updated";
    RowDeleted = "row.deleted";
    RowRestored = "row.restored";
    RowPurged = "row.purged";
    RowHidden = "row.hidden";
    AppDeployed = "app.deployed";
    AppUpdated = "app.updated";
    AppDeleted = "app.deleted";
    AppRestored = "app.restored";
    AppWoken = "app.woken";
}

/// What happens to members and grant links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessEvent {
    /// Somebody became a member.
    MemberAdded,
    /// A member's role changed.
    MemberUpdated,
    /// Somebody is no member any more.
    MemberRemoved,
    /// A grant link was made.
    GrantCreated,
    /// Somebody came in by one.
    GrantRedeemed,
    /// One was revoked.
    GrantRevoked,
}

crate::all::all_of!(AccessEvent: MemberAdded MemberUpdated MemberRemoved GrantCreated GrantRedeemed GrantRevoked);

impl AccessEvent {
    /// The name of its type.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MemberAdded => "member.added",
            Self::MemberUpdated => "member.updated",
            Self::MemberRemoved => "member.removed",
            Self::GrantCreated => "grant.created",
            Self::GrantRedeemed => "grant.redeemed",
            Self::GrantRevoked => "grant.revoked",
        }
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

impl RowChange {
    /// A change of a row that nobody loses sight of as its editor.
    #[must_use]
    pub const fn new(collection: Arc<str>, row: Arc<Row>) -> Self {
        Self { collection, row, previous_editor: None }
    }
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

impl Event {
    /// The row it is about, for `row.*`.
    #[must_use]
    pub fn row(&self) -> Option<&Row> {
        self.change.as_ref().map(|change| &*change.row)
    }

    /// The name of that row's collection.
    #[must_use]
    pub fn collection(&self) -> Option<&str> {
        self.change.as_ref().map(|change| &*change.collection)
    }

    /// Who had written that row before, when that was somebody else.
    #[must_use]
    pub fn previous_editor(&self) -> Option<Principal> {
        self.change.as_ref().and_then(|change| change.previous_editor)
    }
}
