//! The versions that are kept of an app: what they hold, and going back to one of them.

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result, id::AppId, idempotency::Idempotent, manifest::Manifest,
    principal::Caller,
};
use rookery_storage::versions::{self, AssetInfo, Content, VersionAsset, VersionInfo};

use super::{Bundle, Control, Deployed, Hold, Redeploy};
use crate::{
    app::{deploy::Expected, idempotency::Lookup, message::Idempotency},
    registry::AppHandle,
};

/// One kept version with what it holds; of its assets only what they are.
#[derive(Debug)]
pub struct VersionContent {
    /// Its number, who deployed it, and when.
    pub info: VersionInfo,
    /// The authored HTML.
    pub html: Arc<str>,
    /// The manifest, as it was sent.
    pub manifest_text: Arc<str>,
    /// The manifest, read.
    pub manifest: Arc<Manifest>,
    /// The assets, in the order of their paths.
    pub assets: Vec<AssetInfo>,
}

/// A request to deploy the content of an earlier version anew.
#[derive(Debug, Clone)]
pub struct RollBack {
    /// Who asks; acts as the owner.
    pub caller: Caller,
    /// The version to go back to.
    pub number: u32,
    /// How the app has to stand, where it depends on that.
    pub expected: Option<Expected>,
    /// Go on in spite of breaks.
    pub force: bool,
    /// Check everything and change nothing.
    pub dry_run: bool,
    /// What makes it the same request as an earlier one, if it brought a key.
    pub idempotency: Option<Idempotency>,
}

impl Control {
    /// The kept versions of an app, newest first.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn versions(&self, app: AppId) -> Result<Vec<VersionInfo>> {
        versions::list(&self.db, app).await.map_err(Error::from)
    }

    /// One of them.
    ///
    /// # Errors
    /// `not_found` for one that is not kept; `unavailable` when storage does not answer.
    pub async fn version(&self, app: AppId, number: u32) -> Result<VersionContent> {
        let kept = self.versions(app).await?;
        let info = kept.into_iter().find(|info| info.number == number);
        let content = versions::content(&self.db, app, number).await?;
        let (info, content) = info.zip(content).ok_or_else(|| not_kept(number))?;
        let Content { html, manifest: manifest_text, assets } = content;
        let manifest = self.read_manifest(app, Arc::clone(&manifest_text)).await.map(Arc::new)?;
        Ok(VersionContent { info, html, manifest_text, manifest, assets })
    }

    /// Deploys the document, manifest and assets of an earlier version as a new version, through
    /// the same checks as any deploy. A visibility or timezone that the manifest names is set
    /// again, as with any deploy of it.
    ///
    /// # Errors
    /// Those of a deploy; `not_found` for a version that is not kept; `conflict` for the current
    /// one.
    pub async fn roll_back(
        &self,
        app: &AppHandle,
        request: RollBack,
    ) -> Result<Idempotent<Deployed>> {
        let RollBack { caller, number, expected, force, dry_run, idempotency } = request;
        let (id, current) = (app.id(), app.record().version);
        if number == current {
            let message = format!("version {number} is the current one");
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        let Some(content) = versions::content(&self.db, id, number).await? else {
            // Going back to the oldest version drops it: the same request again has its first answer.
            if let Some(request) = &idempotency
                && let Lookup::Found(answer) = app.look_up(request).await?
            {
                return Ok(Idempotent::Replayed(answer));
            }
            return Err(not_kept(number));
        };
        let Content { html, manifest, assets } = content;
        let bundle = Bundle {
            html,
            manifest: Some(manifest.to_string()),
            assets: Some(assets.into_iter().map(VersionAsset::Stored).collect()),
            visibility: None,
            timezone: None,
            hold: Hold::default(),
        };
        self.deploy(app, Redeploy { caller, bundle, expected, force, dry_run, idempotency }).await
    }
}

pub(super) fn not_kept(number: u32) -> Error {
    Error::new(ErrorCode::NotFound, format!("version {number} of the app is not kept"))
}
