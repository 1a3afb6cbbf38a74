//! The owner's settings of an app: what has to be made ready before the app's actor decides.

use std::sync::Arc;

use rookery_domain::{
    Result, app::AppRecord, field_patch::FieldPatch, id::OrgId, manifest::Visibility,
    principal::Caller, timezone::Zone,
};

use super::Control;
use crate::{
    app::message::{AppOp, Op, Reply},
    registry::AppHandle,
};

/// Settings to be changed; what is not named stays.
#[derive(Debug, Clone, Default)]
pub struct SettingsPatch {
    /// Who reaches the app.
    pub visibility: Option<Visibility>,
    /// An IANA name.
    pub timezone: Option<String>,
    /// The organization that it is to belong to.
    pub org: FieldPatch<OrgId>,
}

impl Control {
    /// Changes settings, all of them or none.
    ///
    /// # Errors
    /// `invalid_request` for an unknown timezone; `forbidden` for an organization that the caller
    /// is no admin of; `conflict` when an unrestricted app would not be private any more;
    /// `soft_deleted`, `app_closed`.
    pub async fn set(
        &self,
        app: &AppHandle,
        caller: Caller,
        patch: SettingsPatch,
    ) -> Result<Arc<AppRecord>> {
        let SettingsPatch { visibility, timezone, org } = patch;
        let zone = timezone.as_deref().map(Zone::parse).transpose()?;
        let timezone = zone.map(|zone| zone.name().into());
        let share = Some(self.share_token(app.id()));
        if let FieldPatch::Set(_) = org {
            // What an admin of this organization offered before the app left it does not come back.
            self.pending_offer(app).await?;
        }
        let op = Op::App(AppOp::Settings { visibility, share, timezone, org });
        match app.apply(caller, op).await? {
            Reply::App(record) => Ok(record),
            other => Err(other.unexpected()),
        }
    }
}
