//! The owner's settings of an app: what has to be made ready before the app's actor decides.

use rookery_domain::{
    Error, Result, app::AppRecord, manifest::Visibility, principal::Caller, timezone::Zone,
};
use std::sync::Arc;

use super::Control;
use crate::{
    app::message::{AppOp, Op, Reply},
    registry::AppHandle,
};

impl Control {
    /// Changes visibility, timezone, or both.
    ///
    /// # Errors
    /// `invalid_request` for an unknown timezone; `conflict` when an unrestricted app would not be
    /// private any more; `soft_deleted`, `app_closed`.
    pub async fn set(
        &self,
        app: &AppHandle,
        caller: Caller,
        visibility: Option<Visibility>,
        timezone: Option<&str>,
    ) -> Result<Arc<AppRecord>> {
        let zone = timezone.map(Zone::parse).transpose()?;
        let timezone = zone.map(|zone| zone.name().into());
        let share = Some(self.share_token(app.id()));
        let op = Op::App(AppOp::Settings { visibility, share, timezone });
        match app.apply(caller, op, None, 0).await? {
            Reply::App(record) => Ok(record),
            _ => Err(Error::internal(false)),
        }
    }
}
