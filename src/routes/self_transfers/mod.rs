//! `/v1/self/transfers`: apps that are offered to the human's verified address.

pub mod accept;
pub mod decline;
pub mod list;

use std::sync::Arc;

use rookery_actors::directory::Human;
use rookery_domain::{Error, Result, id::HumanId};

use crate::state::State;

/// The human behind a session.
fn human(state: &State, id: HumanId) -> Result<Arc<Human>> {
    // A session belongs to a human that is there.
    state.rooms.directory.human(id)?.ok_or_else(Error::internal)
}
