//! What the directory forgets: records that anybody can make and nobody came back to. Otherwise
//! memory would grow for as long as the server runs (decisions 19 and 24).

use std::sync::Arc;

use rookery_domain::{Result, time::DAY_S};
use rookery_storage::{agents, directory::FORGET_CHUNK, placeholders};
use tracing::warn;

use super::{Directory, core::Core};

/// Seconds for which an agent is kept that nobody claims and whose keys nobody uses, and a
/// placeholder that is a member of nothing.
const KEPT_S: i64 = 30 * DAY_S;
/// The same while more than `unclaimed_max` of them wait: a human who was shown a code has ten minutes,
/// and whoever was invited is a member a moment later.
const KEPT_CROWDED_S: i64 = 60 * 60;
/// Most chunks of both that one round forgets.
const CHUNKS_MAX: usize = 20;

impl Directory {
    /// One round. What it leaves, the next one finds.
    pub(super) async fn forget(&self) {
        for _ in 0..CHUNKS_MAX {
            match self.forget_chunk().await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return warn!(%error, "what nobody misses could not be forgotten"),
            }
        }
    }

    /// `true` when there may be more. No change is begun where there is nothing to forget: one
    /// whose outcome is unknown puts memory in doubt.
    async fn forget_chunk(&self) -> Result<bool> {
        let now = self.core.now();
        let before = |crowded| now.plus_seconds(if crowded { -KEPT_CROWDED_S } else { -KEPT_S });
        let most = self.core.options.unclaimed_max;
        let crowded = self.core.read(|memory| memory.unclaimed() > most)?;
        let agents = agents::unclaimed(&self.core.db, before(crowded)).await?;
        let crowded = placeholders::are_more_than(&self.core.db, most as u64).await?;
        let invited_before = before(crowded);
        let humans = placeholders::forgettable(&self.core.db, invited_before).await?;
        let most = agents.len().max(humans.len());
        if most > 0 {
            self.mutate(async move |core: Arc<Core>| {
                let gone = agents::forget_unclaimed(&core.db, agents).await?;
                core.write(|memory| gone.iter().for_each(|id| memory.remove_unclaimed(*id)));
                let gone = placeholders::forget(&core.db, humans, invited_before).await?;
                core.write(|memory| gone.iter().for_each(|id| memory.remove_placeholder(*id)));
                Ok(())
            })
            .await?;
        }
        Ok(most == FORGET_CHUNK as usize)
    }
}
