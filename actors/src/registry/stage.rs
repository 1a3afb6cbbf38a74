//! The states of a slot, as it keeps them and as operators see them.

use std::time::Duration;

use tokio::time::Instant;

use super::slot::Waking;
use crate::observe::lifecycle::CountedState;

/// What an operator sees of a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlotState {
    /// No actor, none wanted.
    Dormant,
    /// An actor is being started.
    Waking,
    /// An actor runs.
    Live,
    /// It crashed too often; the next start is allowed in this time.
    BackingOff(Duration),
    /// It crashed again and again; it stays down until somebody lifts this.
    Quarantined {
        /// What the last crash said.
        cause: String,
    },
    /// Destroyed.
    Gone,
}

/// The state of a slot, with what it takes to leave it.
pub(super) enum Stage {
    Dormant,
    Waking(Waking),
    Live,
    BackingOff(Instant),
    Quarantined(String),
    Gone,
}

impl Stage {
    /// The state as it is counted.
    pub(super) const fn counted(&self) -> Option<CountedState> {
        match self {
            Self::Dormant | Self::Gone => None,
            Self::Waking(_) => Some(CountedState::Waking),
            Self::Live => Some(CountedState::Live),
            Self::BackingOff(_) => Some(CountedState::Restarting),
            Self::Quarantined(_) => Some(CountedState::Quarantined),
        }
    }
}
