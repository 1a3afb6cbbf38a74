//! Why a batch, or one group of it, was not committed, before it becomes an outcome.

use crate::{commit::Abort, db::Silent, error::StorageError, faults::Fault};

/// What a lane met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// One group is certainly not applied; where the database is full, nothing of its batch is.
    Aborted(Abort),
    /// The connection was lost.
    Lost(String),
    /// Nothing can be promised any more.
    Broken(String),
}

impl Failure {
    /// Whether the other groups of the batch may well be applied without this one.
    pub(super) const fn is_of_one_group(&self) -> bool {
        matches!(self, Self::Aborted(Abort::Refused(_))) || self.is_expected()
    }

    /// Whether it is an outcome that groups have, and not a fault.
    pub(super) const fn is_expected(&self) -> bool {
        use Abort::{AccountClosed, AccountFull, Fenced, OfferGone};
        matches!(self, Self::Aborted(Fenced | OfferGone | AccountClosed | AccountFull(_)))
    }

    /// What it means for a group that is certainly not applied.
    pub(super) fn into_abort(self) -> Abort {
        match self {
            Self::Aborted(abort) => abort,
            Self::Lost(why) | Self::Broken(why) => Abort::Refused(why),
        }
    }
}

impl From<Abort> for Failure {
    fn from(abort: Abort) -> Self {
        Self::Aborted(abort)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refuse | Fault::Panic => Abort::Refused("injected".into()).into(),
            Fault::Full => Abort::Full.into(),
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
            StorageError::Full => Abort::Full.into(),
            StorageError::Broken(why) => Self::Broken(why),
            StorageError::MaybeCommitted(why) => Self::Lost(why),
            other => Abort::Refused(other.to_string()).into(),
        }
    }
}
