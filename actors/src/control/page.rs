//! What an app's pages are made of. Serving a page wakes nothing: a version never changes once it
//! is deployed, so it is read from storage.

use std::sync::Arc;

use rookery_domain::{Error, Result, id::AppId, manifest::Manifest};
use rookery_storage::versions::{self, Asset, AssetInfo, Content};

use super::{Control, versions::not_kept};
use crate::{app::birth::read_manifest, registry::AppHandle};

/// The pages of one version of an app, without the content of its assets.
#[derive(Debug)]
pub struct PageSource {
    /// The authored HTML.
    pub html: Arc<str>,
    /// The manifest, as it was sent.
    pub manifest_text: Arc<str>,
    /// The assets, in the order of their paths.
    pub assets: Vec<AssetInfo>,
}

impl PageSource {
    /// The manifest. Reading a large one takes milliseconds.
    ///
    /// # Errors
    /// `internal`, when the stored text is not what was admitted.
    pub fn manifest(&self) -> Result<Manifest> {
        read_manifest(&self.manifest_text)
    }
}

impl Control {
    /// The pages of a version.
    ///
    /// # Errors
    /// `not_found` for one that is not kept; `unavailable` when storage does not answer.
    pub async fn page_source(&self, app: AppId, version: u32) -> Result<PageSource> {
        let content = versions::content(&self.db, app, version).await?;
        let Content { html, manifest, assets } = content.ok_or_else(|| not_kept(version))?;
        Ok(PageSource { html, manifest_text: manifest, assets })
    }

    /// The authored HTML of the current version.
    ///
    /// # Errors
    /// `app_not_found` when the app has gone meanwhile; `unavailable` when storage does not answer.
    pub async fn authored_html(&self, app: &AppHandle) -> Result<Arc<str>> {
        let html = versions::html(&self.db, app.id(), app.record().version).await?;
        html.ok_or_else(Error::app_not_found)
    }

    /// The manifest of the current version, as it was sent.
    ///
    /// # Errors
    /// As [`Self::authored_html`].
    pub async fn manifest_text(&self, app: &AppHandle) -> Result<Arc<str>> {
        let manifest = versions::manifest(&self.db, app.id(), app.record().version).await?;
        manifest.ok_or_else(Error::app_not_found)
    }

    /// One asset of a version with its content.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn asset(&self, app: AppId, version: u32, path: &str) -> Result<Option<Asset>> {
        versions::asset(&self.db, app, version, path).await.map_err(Error::from)
    }
}
