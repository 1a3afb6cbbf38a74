//! Why a batch, or one group of it, was not committed, before it becomes an outcome.

use crate::{commit::Abort, db::Silent, error::StorageError, faults::Fault};

/// What a lane met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// Another incarnation of the group's app has written.
    Fenced,
    /// The database refused a statement of one group.
    Refused(String),
    /// An offer that is to be accepted is gone.
    OfferGone,
    /// An account that is to get an app is closed.
    AccountClosed,
    /// An account that is to get an app has as many as it may.
    AccountFull,
    /// No space left: nothing of the batch is applied.
    Full,
    /// The connection was lost.
    Lost(String),
    /// Nothing can be promised any more.
    Broken(String),
}

impl Failure {
    /// Whether the other groups of the batch may well be applied without this one.
    pub(super) const fn is_of_one_group(&self) -> bool {
        matches!(self, Self::Refused(_)) || self.is_expected()
    }

    /// Whether it is an outcome that groups have, and not a fault.
    pub(super) const fn is_expected(&self) -> bool {
        matches!(self, Self::Fenced | Self::OfferGone | Self::AccountClosed | Self::AccountFull)
    }

    /// What it means for a group that is certainly not applied.
    pub(super) fn into_abort(self) -> Abort {
        match self {
            Self::Refused(why) | Self::Lost(why) | Self::Broken(why) => Abort::Refused(why),
            Self::Fenced => Abort::Fenced,
            Self::OfferGone => Abort::OfferGone,
            Self::AccountClosed => Abort::AccountClosed,
            Self::AccountFull => Abort::AccountFull,
            Self::Full => Abort::Full,
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refuse | Fault::Panic => Self::Refused("injected".into()),
            Fault::Full => Self::Full,
            Fault::Lose => Self::Lost("injected".into()),
            Fault::Fsync => Self::Broken("injected".into()),
        }
    }
}

impl From<Silent> for Failure {
    fn from(_: Silent) -> Self {
        Self::Lost(Silent::WHY.into())
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Full => Self::Full,
            StorageError::Broken(why) => Self::Broken(why),
            StorageError::MaybeCommitted(why) => Self::Lost(why),
            other => Self::Refused(other.to_string()),
        }
    }
}
