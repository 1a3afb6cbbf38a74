//! Destroying an app: first it is marked and its slot emptied, then its data goes in chunks, one at a
//! time over all apps. Whatever interrupts this, the sweeper finishes it.

use std::time::Duration;

use rookery_domain::{Result, id::AppId, principal::Caller};
use rookery_storage::{apps, trace};
use tokio::time::{Instant, timeout};
use tracing::warn;

use super::{Control, to_the_end};
use crate::{
    app::message::{AppOp, Op},
    registry::AppHandle,
    yielding::yield_to_writers,
};

/// How long whoever destroys an app waits until nothing is left of it.
const REST_WAIT_MAX: Duration = Duration::from_secs(10);

impl Control {
    /// Destroys a deleted app, irreversibly. It is gone when this returns; what is left of a large one goes
    /// a little later.
    ///
    /// # Errors
    /// `conflict` for an app that is not deleted; `app_closed`; those of [`AppHandle::apply`].
    pub async fn purge(&self, app: &AppHandle, caller: Caller) -> Result<()> {
        let (control, app) = (self.clone(), app.clone());
        to_the_end(async move {
            app.apply(caller, Op::App(AppOp::Destroy)).await?;
            // It is destroyed whatever comes now: the sweeper finishes what this does not.
            let id = app.id();
            let rest = tokio::spawn(trace::carried(async move {
                if let Err(error) = control.finish_purge(id).await {
                    warn!(app.id = %id, %error, "what a destroyed app left waits for the sweeper");
                }
            }));
            drop(timeout(REST_WAIT_MAX, rest).await);
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
        while self.purge_step(app).await? {
            if self.apps.is_stopping() {
                return Ok(());
            }
        }
        self.domains.forget(app).await;
        self.apps.forget(app);
        Ok(())
    }

    /// Whether more is left of the app. Many that are destroyed at once take turns, and leave the database
    /// to writers between them.
    async fn purge_step(&self, app: AppId) -> Result<bool> {
        let _turn = self.purging.lock().await;
        let began = Instant::now();
        let is_more = apps::purge::step(&self.db, app).await?;
        if is_more {
            tokio::select! {
                () = yield_to_writers(began) => {}
                () = self.apps.inner.stopping.cancelled() => {}
            }
        }
        Ok(is_more)
    }
}
