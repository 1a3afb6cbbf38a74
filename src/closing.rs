//! What becomes of the apps of a closed account, and of its places in the apps of others: asked by the
//! request that closes it, and by a start for what a crash left. What is not here: closing the account
//! (the directory's), and the sweeper, which finishes what this does not.

use rookery_actors::WorkerKind;
use tracing::warn;

use crate::{notices, state::State};

/// Takes down what closed accounts still own, and their places in the apps of others. They are gone
/// whatever comes now: the sweeper finishes at once, and again and again, what this does not.
pub(crate) async fn close_apps(state: &State) {
    let control = state.rooms.control();
    let mut is_left = false;
    match control.abandon_orphans().await {
        Ok(abandoned) => {
            is_left |= abandoned.is_left;
            notices::tell_of_closing(state, &abandoned.apps).await;
        }
        Err(error) => {
            is_left = true;
            warn!(%error, "apps of a closed account wait for the sweeper");
        }
    }
    is_left |= control.end_memberships().await.unwrap_or_else(|error| {
        warn!(%error, "memberships of a closed account wait for the sweeper");
        true
    });
    if is_left {
        state.rooms.runtime.workers().begin(WorkerKind::Sweeper);
    }
}
