//! The pages of versions, ready to be sent, kept within a bound of bytes. A version never changes,
//! so nothing here is ever out of date; what is not asked for goes.

use std::sync::Arc;

use bytes::Bytes;
use rookery_actors::{Control, control::PageSource};
use rookery_domain::{Error, Result, app::AppRecord, id::AppId, manifest::Manifest};
use rookery_storage::versions::AssetInfo;

use crate::pages::document;

/// Bytes of all versions that are kept together.
const CACHE_BYTES_MAX: u64 = 64 << 20;
/// Bytes that a version costs beside its HTML and its assets' records.
const ENTRY_BYTES: usize = 1 << 10;
/// Bytes that the record of an asset costs beside its path.
const ASSET_BYTES: usize = 160;

/// One version, ready to be sent.
#[derive(Debug)]
pub struct ReadyPages {
    /// The document with the SDK.
    pub html: Bytes,
    /// Its strong entity tag.
    pub etag: String,
    /// What the version discloses.
    pub manifest: Manifest,
    assets: Vec<AssetInfo>,
}

/// The versions that were asked for lately.
pub struct PageCache(moka::sync::Cache<(AppId, u32), Arc<ReadyPages>>);

impl Default for PageCache {
    fn default() -> Self {
        let weight = |_: &(AppId, u32), pages: &Arc<ReadyPages>| {
            u32::try_from(pages.weight_bytes()).unwrap_or(u32::MAX)
        };
        Self(moka::sync::Cache::builder().max_capacity(CACHE_BYTES_MAX).weigher(weight).build())
    }
}

impl PageCache {
    /// The current pages of an app. `sdk_src` is the address of the SDK in its document.
    ///
    /// # Errors
    /// Those of [`Control::page_source`].
    pub async fn get(
        &self,
        control: &Control,
        app: &AppRecord,
        sdk_src: &str,
    ) -> Result<Arc<ReadyPages>> {
        let key = (app.id, app.version);
        if let Some(ready) = self.0.get(&key) {
            return Ok(ready);
        }
        let source = control.page_source(app.id, app.version).await?;
        let sdk_src = sdk_src.to_owned();
        // Rewriting a large document takes milliseconds.
        let ready = tokio::task::spawn_blocking(move || ReadyPages::new(source, &sdk_src));
        let ready = Arc::new(ready.await.map_err(|_| Error::internal(false))??);
        self.0.insert(key, Arc::clone(&ready));
        Ok(ready)
    }
}

impl ReadyPages {
    fn new(source: PageSource, sdk_src: &str) -> Result<Self> {
        let served = document::serve(&source.html, sdk_src)?;
        Ok(Self {
            html: served.html.into(),
            etag: served.etag,
            manifest: source.manifest,
            assets: source.assets,
        })
    }

    /// The record of the asset stored under `path`.
    #[must_use]
    pub fn asset(&self, path: &str) -> Option<&AssetInfo> {
        let found = self.assets.binary_search_by(|asset| asset.path.as_str().cmp(path));
        found.ok().map(|i| &self.assets[i])
    }

    fn weight_bytes(&self) -> usize {
        let assets: usize =
            self.assets.iter().map(|a| ASSET_BYTES + a.path.len() + a.content_type.len()).sum();
        ENTRY_BYTES + self.html.len() + assets
    }
}
