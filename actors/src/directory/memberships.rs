//! Whether somebody is a member of an app. The app's actor knows; while it sleeps storage says the
//! same, so that a stranger at the door wakes nobody. What a member may do is `app::standing`'s.

use std::sync::Arc;

use rookery_domain::{Result, id::HumanId, members::Member};
use rookery_storage::members;

use super::Directory;
use crate::registry::AppHandle;

impl Directory {
    /// Whether `human` is a member of `app`; its owner is none. Wakes nothing.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn is_member(&self, app: &AppHandle, human: HumanId) -> Result<bool> {
        Ok(self.member(app, human).await?.is_some())
    }

    /// `human` as a member of `app`; `None` when it is none. Wakes nothing.
    ///
    /// # Errors
    /// As [`Directory::is_member`].
    pub async fn member(&self, app: &AppHandle, human: HumanId) -> Result<Option<Arc<Member>>> {
        if let Some(root) = app.peek() {
            return Ok(root.access.member(human).cloned());
        }
        Ok(members::find(&self.core.db, app.id(), human).await?.map(Arc::new))
    }
}
