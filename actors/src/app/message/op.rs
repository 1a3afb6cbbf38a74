//! The operations on an app: what a request asks for, not who asks or who waits.

use std::{sync::Arc, time::Duration};

use rookery_domain::{
    app::ShareToken,
    challenge::ChallengeAnswer,
    field_patch::FieldPatch,
    id::{HumanId, OrgId, ParticipantId, TransferId},
    if_match::IfMatch,
    json::Object,
    manifest::Visibility,
    retention::RetentionPatch,
    row::Row,
    secret::SecretHash,
};
use rookery_storage::trash::DueRow;

use super::super::{access_ops::AccessOp, deploy::DeployPlan};
use crate::accounts::Account;

/// One operation on an app.
#[derive(Debug, Clone)]
pub enum Op {
    /// Create a row, or answer with the one at the key.
    Create {
        /// The collection.
        collection: Box<str>,
        /// The row.
        item: NewRow,
        /// What came as the answer to a challenge.
        challenge: Option<ChallengeAnswer>,
    },
    /// Create a row, or update the one that holds the same value of a unique field.
    Upsert {
        /// The collection.
        collection: Box<str>,
        /// The row.
        item: UpsertRow,
        /// What came as the answer to a challenge.
        challenge: Option<ChallengeAnswer>,
    },
    /// Change a row's data.
    Update {
        /// The collection.
        collection: Box<str>,
        /// The row's key.
        key: Box<str>,
        /// What becomes of it.
        edit: RowEdit,
    },
    /// Move a row to the trash.
    Delete {
        /// The collection.
        collection: Box<str>,
        /// The row's key.
        target: RowTarget,
    },
    /// Bring a row back from the trash.
    Restore {
        /// The collection.
        collection: Box<str>,
        /// The row's key.
        key: Box<str>,
        /// Its content, read from storage by the sender; fits only if the version still does.
        trashed: Option<Arc<Row>>,
    },
    /// Destroy a row's content.
    Purge {
        /// The collection.
        collection: Box<str>,
        /// The row's key.
        target: RowTarget,
    },
    /// Create or upsert many rows.
    BatchWrite {
        /// The collection.
        collection: Box<str>,
        /// The rows, in order.
        items: Vec<WriteRow>,
        /// All or none.
        atomic: bool,
        /// What came as the answer to a challenge.
        challenge: Option<ChallengeAnswer>,
    },
    /// Move many rows to the trash.
    BatchDelete {
        /// The collection.
        collection: Box<str>,
        /// The rows, in order.
        items: Vec<RowTarget>,
        /// All or none.
        atomic: bool,
    },
    /// Send a custom event.
    Emit {
        /// Its declared type.
        kind: Box<str>,
        /// Its data.
        data: Object,
    },
    /// Let a visitor in by a grant link: counts a use of it.
    RedeemGrant {
        /// SHA-256 of the link's token.
        token: SecretHash,
        /// The visitor that it makes.
        visitor: ParticipantId,
    },
    /// Something about the app itself.
    App(AppOp),
}

/// A row to create.
#[derive(Debug, Clone)]
pub struct NewRow {
    /// Its key; drawn when absent.
    pub key: Option<Box<str>>,
    /// Its data.
    pub data: Object,
}

/// A row to create, or to merge into the one that holds the same value of `on`.
#[derive(Debug, Clone)]
pub struct UpsertRow {
    /// A unique field of the collection.
    pub on: Box<str>,
    /// Its data.
    pub data: Object,
}

/// A change of a row's data.
#[derive(Debug, Clone)]
pub struct RowEdit {
    /// A merge patch (RFC 7396), or the whole new data.
    pub data: Object,
    /// `data` replaces instead of being merged.
    pub replace: bool,
    /// The version the caller has seen.
    pub if_match: Option<IfMatch>,
}

impl RowEdit {
    /// Merges `data` into the row, whatever its version.
    pub(crate) const fn merge(data: Object) -> Self {
        Self { data, replace: false, if_match: None }
    }
}

/// One entry of a batch.
#[derive(Debug, Clone)]
pub enum WriteRow {
    /// As [`Op::Create`].
    Create(NewRow),
    /// As [`Op::Upsert`].
    Upsert(UpsertRow),
}

impl WriteRow {
    /// What it brings: content, or what is merged into it.
    pub(crate) const fn data(&self) -> &Object {
        match self {
            Self::Create(row) => &row.data,
            Self::Upsert(row) => &row.data,
        }
    }
}

/// A row to delete or to purge.
#[derive(Debug, Clone)]
pub struct RowTarget {
    /// Its key.
    pub key: Box<str>,
    /// The version the caller has seen.
    pub if_match: Option<IfMatch>,
}

impl From<AccessOp> for Op {
    fn from(op: AccessOp) -> Self {
        Self::App(AppOp::Access(op))
    }
}

/// An operation on the app as a whole. The owner's routes and the workers send these.
#[derive(Debug, Clone)]
pub enum AppOp {
    /// Deploy a version.
    Deploy(Arc<DeployPlan>),
    /// Change settings.
    Settings {
        /// New visibility.
        visibility: Option<Visibility>,
        /// The share token to use when this makes the app `link`.
        share: Option<ShareToken>,
        /// New timezone.
        timezone: Option<Arc<str>>,
        /// The organization that it is to belong to.
        org: FieldPatch<OrgId>,
    },
    /// Give the app to whoever has accepted the offer of it.
    HandOver(Acceptance),
    /// Put another share token in force, while visibility is `link`.
    RotateShare(ShareToken),
    /// Change who may do what besides the owner.
    Access(AccessOp),
    /// Let the app reach any internet service, or keep it to what its manifest names.
    Unrestricted(bool),
    /// Turn migration mode on for this long, or off.
    Migration(Option<Duration>),
    /// Set or clear the owner's retention override of a collection.
    Retention {
        /// The collection.
        collection: Box<str>,
        /// What changes, per axis.
        patch: RetentionPatch,
    },
    /// Move the app to the trash.
    Delete,
    /// Bring it back.
    Restore,
    /// Take it down.
    Close,
    /// Take it down and have it destroyed after the time in the trash: its account is gone.
    Abandon {
        /// The account. Whoever accepted the app from it meanwhile keeps it.
        account: HumanId,
    },
    /// Record that `POST wake` woke it.
    Woken,
    /// Prune rows beyond their retention bounds.
    Prune,
    /// Purge these rows, which have been in the trash long enough.
    PurgeTrash(Vec<DueRow>),
    /// Of these rows, the longest in the trash, purge as many as it has no room for.
    TrimTrash(Vec<DueRow>),
    /// Mark it as being destroyed: the last thing it ever does.
    Destroy,
}

/// An offer that its addressee has accepted.
#[derive(Clone)]
pub struct Acceptance {
    /// The offer.
    pub transfer: TransferId,
    /// Who offered; it must act as the app's owner still.
    pub offered_by: HumanId,
    /// The new owner.
    pub to: HumanId,
    /// Its account, which will count the app's rows.
    pub account: Arc<Account>,
}

impl std::fmt::Debug for Acceptance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Acceptance")
            .field("transfer", &self.transfer)
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}
