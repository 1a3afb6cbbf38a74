//! The turn of whatever moves many bytes of rows in one transaction, and so holds up all commits while it is
//! written: over all apps one at a time, by their owners, with room for writers behind it.

use rookery_domain::{Result, id::HumanId};
use rookery_storage::offload::Permit;
use tokio::time::Instant;

use crate::{env::Env, yielding::yield_to_writers};

/// Bytes of rows that may be moved without a turn.
const BYTES_FREE: u64 = 4 << 20;

/// A turn.
pub(super) struct Moving {
    permit: Permit,
    began: Instant,
}

impl Moving {
    /// The turn to move so many `bytes` of rows of `owner`'s app; none where they are few.
    ///
    /// # Errors
    /// `unavailable` when it does not come in time.
    pub(super) async fn turn(env: &Env, owner: HumanId, bytes: u64) -> Result<Option<Self>> {
        if bytes <= BYTES_FREE {
            return Ok(None);
        }
        let permit = env.moving.permit(owner).await?;
        Ok(Some(Self { permit, began: Instant::now() }))
    }

    /// They were moved: the next one has its turn once the writers that waited have had theirs.
    pub(super) fn done(self) {
        tokio::spawn(async move {
            yield_to_writers(self.began).await;
            drop(self.permit);
        });
    }
}
