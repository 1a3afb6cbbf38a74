//! Destroying an app: first it is marked and its slot emptied, then its data goes in chunks.
//! Whatever interrupts this, the sweeper finishes it.

use rookery_domain::{Result, id::AppId, principal::Caller};
use rookery_storage::apps;
use tracing::warn;

use super::{Control, to_the_end};
use crate::{
    app::message::{AppOp, Op},
    registry::AppHandle,
};

impl Control {
    /// Destroys a deleted app, irreversibly.
    ///
    /// # Errors
    /// `conflict` for an app that is not deleted; `app_closed`; those of [`AppHandle::apply`].
    pub async fn purge(&self, app: &AppHandle, caller: Caller) -> Result<()> {
        let (control, app) = (self.clone(), app.clone());
        to_the_end(async move {
            app.apply(caller, Op::App(AppOp::Destroy)).await?;
            // It is destroyed whatever comes now: the sweeper finishes what this does not.
            if let Err(error) = control.finish_purge(app.id()).await {
                warn!(app.id = %app.id(), %error, "what a destroyed app left waits for the sweeper");
            }
            Ok(())
        })
        .await
    }

    /// Deletes what is left of an app that is marked as being destroyed. At shutdown it ends early:
    /// the next start's sweeper goes on.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer; the sweeper tries again.
    pub async fn finish_purge(&self, app: AppId) -> Result<()> {
        self.env().store.barrier(app).await;
        // Its record says that it is being destroyed, so no later roll-up brings its meters.
        self.apps.inner.env.collector.round_ended().await;
        while apps::purge::step(&self.db, app).await? {
            if self.apps.is_stopping() {
                return Ok(());
            }
        }
        self.domains.forget(app).await;
        self.apps.forget(app);
        Ok(())
    }
}
