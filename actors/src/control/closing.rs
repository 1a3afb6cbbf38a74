//! What closed accounts leave behind: their apps are taken down at once and destroyed after the
//! time in the trash, and they are members of others' apps no more.

use rookery_domain::{
    ErrorCode, Result,
    id::{AppId, HumanId},
    principal::Caller,
};
use rookery_storage::closing;
use tracing::warn;

use super::{Control, to_the_end};
use crate::{
    app::{
        access_ops::AccessOp,
        message::{AppOp, Op},
    },
    registry::AppHandle,
};

/// Apps, and places in apps, that storage is asked for at a time.
const PAGE: u32 = 100;

/// What came of taking down the apps of closed accounts.
#[derive(Debug, Default)]
pub struct Abandoned {
    /// The apps that were.
    pub apps: Vec<AppId>,
    /// Others could not be, for now.
    pub is_left: bool,
}

impl Control {
    /// Brings an app back from the trash, without the members whose accounts were closed meanwhile.
    ///
    /// # Errors
    /// `account_quota_exceeded`; those of a write to the app.
    pub async fn restore(&self, app: &AppHandle, caller: Caller) -> Result<()> {
        app.apply(caller, Op::App(AppOp::Restore)).await?;
        if let Err(error) = self.end_memberships().await {
            warn!(app.id = %app.id(), %error, "closed accounts may be members still");
        }
        Ok(())
    }

    /// Takes down every app whose account is closed. What a failure or a crash cuts short the sweeper
    /// finishes, by this same function.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn abandon_orphans(&self) -> Result<Abandoned> {
        let control = self.clone();
        to_the_end(async move {
            let (mut done, mut after) = (Abandoned::default(), None);
            loop {
                let page = closing::orphans(&control.db, after, PAGE).await?;
                for (app, account) in &page {
                    if control.apps.is_stopping() {
                        return Ok(done);
                    }
                    match control.abandon(*app, *account).await {
                        Ok(()) => done.apps.push(*app),
                        // One app that cannot be loaded must not hold up the others.
                        Err(error) => {
                            done.is_left = true;
                            warn!(app.id = %app, %error, "could not be taken down");
                        }
                    }
                }
                after = page.last().map(|(app, _)| *app);
                if page.len() < PAGE as usize {
                    return Ok(done);
                }
            }
        })
        .await
    }

    /// Ends every place that a closed account has in the app of somebody else; whether some could not
    /// be ended, for now. Apps in the trash are looked at by [`Control::restore`]. What a failure or a
    /// crash cuts short the sweeper finishes, by this same function.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn end_memberships(&self) -> Result<bool> {
        let control = self.clone();
        to_the_end(async move {
            let (mut is_left, mut after) = (false, None);
            loop {
                let page = closing::memberships(&control.db, after, PAGE).await?;
                for (app, human) in &page {
                    if control.apps.is_stopping() {
                        return Ok(is_left);
                    }
                    match control.end_membership(*app, *human).await {
                        Ok(()) => {}
                        // Somebody else has ended it, or the app, since the list was made.
                        Err(error)
                            if matches!(
                                error.code,
                                ErrorCode::NotFound | ErrorCode::AppNotFound
                            ) => {}
                        // One app that cannot be loaded must not hold up the others.
                        Err(error) => {
                            is_left = true;
                            warn!(app.id = %app, %error, "a membership could not be ended");
                        }
                    }
                }
                after = page.last().copied();
                if page.len() < PAGE as usize {
                    return Ok(is_left);
                }
            }
        })
        .await
    }

    async fn abandon(&self, app: AppId, account: HumanId) -> Result<()> {
        self.change(app, AppOp::Abandon { account }).await
    }

    async fn end_membership(&self, app: AppId, human: HumanId) -> Result<()> {
        self.change(app, AppOp::Access(AccessOp::RemoveMember { human })).await
    }

    async fn change(&self, app: AppId, op: AppOp) -> Result<()> {
        let app = self.apps.by_id(app).await?;
        app.apply(Caller::System, Op::App(op)).await?;
        Ok(())
    }
}
