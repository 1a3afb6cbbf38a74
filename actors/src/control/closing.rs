//! The apps of closed accounts: taken down at once, destroyed after the time in the trash.

use rookery_domain::{Result, principal::Caller};
use rookery_storage::closing;
use tracing::warn;

use super::{Control, to_the_end};
use crate::{
    app::message::{AppOp, Op},
    registry::failed,
};

/// Apps that storage is asked for at a time.
const PAGE: u32 = 100;

impl Control {
    /// Takes down every app whose account is closed; how many there were. What a crash cuts short
    /// the sweeper finishes, by this same function.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn abandon_orphans(&self) -> Result<u64> {
        let control = self.clone();
        to_the_end(async move {
            let mut done = 0;
            loop {
                let page = closing::orphans(&control.db, PAGE).await.map_err(failed)?;
                let mut taken = 0;
                for app in &page {
                    match control.abandon(*app).await {
                        Ok(()) => taken += 1,
                        // One app that cannot be loaded must not keep the others.
                        Err(error) => warn!(app.id = %app, %error, "could not be taken down"),
                    }
                }
                done += taken;
                if page.len() < PAGE as usize || taken == 0 {
                    return Ok(done);
                }
            }
        })
        .await
    }

    async fn abandon(&self, app: rookery_domain::id::AppId) -> Result<()> {
        let app = self.apps.by_id(app).await?;
        app.apply(Caller::System, Op::App(AppOp::Abandon), None, 0).await?;
        Ok(())
    }
}
