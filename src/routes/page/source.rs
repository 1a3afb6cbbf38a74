//! The pages of versions, ready to be sent, and their files, plain and compressed; each kept within
//! a bound of bytes. A version never changes, so nothing here is ever out of date; what is not
//! asked for goes.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use moka::future::Cache;
use parking_lot::Mutex;
use rookery_actors::{AppHandle, Control, control::PageSource};
use rookery_domain::{
    Error, Result,
    app::AppRecord,
    id::AppId,
    manifest::{self, Manifest},
};
use rookery_storage::{
    offload::{Offload, Waits},
    versions::{Asset, AssetInfo},
};

use crate::pages::{
    document,
    packed::{self, Packed},
};

/// Bytes of all versions that are kept together.
const CACHE_BYTES_MAX: u64 = 64 << 20;
/// Bytes that a version costs beside its HTML, its manifest and its assets' records.
const ENTRY_BYTES: usize = 1 << 10;
/// Bytes that the record of an asset costs beside its path.
const ASSET_BYTES: usize = 160;
/// Bytes of all files that are kept together, and of all compressed ones.
const FILES_BYTES_MAX: u64 = 64 << 20;
/// Bytes of all documents without the SDK that are kept together.
const AUTHORED_BYTES_MAX: u64 = 16 << 20;

/// One version, ready to be sent.
#[derive(Debug)]
pub struct ReadyPages {
    /// The document with the SDK.
    pub document: Packed,
    /// Where in it the SDK's script stands.
    script_at: usize,
    /// What the version discloses.
    pub manifest: Manifest,
    /// Bytes that it takes in memory.
    manifest_bytes: usize,
    assets: Vec<AssetInfo>,
}

/// Contents that somebody holds, by the SHA-256 of the file: however many are reading one, it is in memory
/// once, and no longer than that.
#[derive(Default)]
struct Held(Mutex<HashMap<[u8; 32], Weak<Content>>>);

/// What stands apart from its counts, so that a `Weak` of it keeps none of its bytes in memory.
struct Content(Bytes);

/// A reader's share of a content.
struct Share(Arc<Content>);

impl AsRef<[u8]> for Share {
    fn as_ref(&self) -> &[u8] {
        &self.0.0
    }
}

impl Held {
    fn find(&self, file: [u8; 32]) -> Option<Bytes> {
        self.0.lock().get(&file)?.upgrade().map(|content| Bytes::from_owner(Share(content)))
    }

    fn keep(&self, file: [u8; 32], content: Bytes) -> Bytes {
        let content = Arc::new(Content(content));
        let mut all = self.0.lock();
        // Before it grows: so it has no more than twice as many places as there are contents.
        if all.len() == all.capacity() {
            all.retain(|_, content| content.strong_count() > 0);
        }
        all.insert(file, Arc::downgrade(&content));
        Bytes::from_owner(Share(content))
    }
}

/// What was asked for lately. What many ask for at once is made once.
pub struct PageCache {
    versions: Cache<(AppId, u32), Arc<ReadyPages>>,
    /// Documents without the SDK, for their owners.
    authored: Cache<(AppId, u32), Bytes>,
    /// Files by the SHA-256 of their content.
    plain: Cache<[u8; 32], Bytes>,
    /// The same, compressed; `None` where that makes them no smaller.
    packed: Cache<[u8; 32], Option<Bytes>>,
    /// What of the two is being read, also where it is cached no more.
    plain_held: Held,
    packed_held: Held,
    /// Where documents are rewritten and files compressed, which takes milliseconds. It goes round by
    /// the owners of apps.
    making: Offload,
}

impl PageCache {
    /// An empty cache, in which nobody waits longer than `patience` until it is the turn of a file.
    #[must_use]
    pub fn new(patience: Duration) -> Self {
        let of_pages = |_: &_, pages: &Arc<ReadyPages>| weight(pages.bytes());
        let of_authored = |_: &_, html: &Bytes| weight(ASSET_BYTES + html.len());
        let of_plain = |_: &_, file: &Bytes| weight(ASSET_BYTES + file.len());
        let of_packed =
            |_: &_, file: &Option<Bytes>| weight(ASSET_BYTES + file.as_ref().map_or(0, Bytes::len));
        let versions = Cache::builder().max_capacity(CACHE_BYTES_MAX);
        let authored = Cache::builder().max_capacity(AUTHORED_BYTES_MAX);
        let plain = Cache::builder().max_capacity(FILES_BYTES_MAX);
        let packed = Cache::builder().max_capacity(FILES_BYTES_MAX);
        Self {
            versions: versions.weigher(of_pages).build(),
            authored: authored.weigher(of_authored).build(),
            plain: plain.weigher(of_plain).build(),
            packed: packed.weigher(of_packed).build(),
            plain_held: Held::default(),
            packed_held: Held::default(),
            making: Offload::new(patience),
        }
    }
}

/// What a failure is to everybody who waited for the same file: `None` is that it has gone.
fn failed<T>(failure: &Option<Error>) -> Result<Option<T>> {
    failure.clone().map_or(Ok(None), Err)
}

fn weight(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl PageCache {
    /// Pages and files that wait until they can be made.
    #[must_use]
    pub fn waits(&self) -> Waits {
        self.making.waits()
    }

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
        let make = async {
            let source = control.page_source(app.id, app.version).await?;
            let sdk_src = sdk_src.to_owned();
            let ready =
                self.making.run(app.owner, move || ReadyPages::new(source, &sdk_src)).await?;
            ready.map(Arc::new)
        };
        let made = self.versions.try_get_with((app.id, app.version), make).await;
        made.map_err(|error: Arc<Error>| (*error).clone())
    }

    /// The HTML of an app's current version as it was authored, in memory once however many are reading
    /// it.
    ///
    /// # Errors
    /// Those of [`Control::authored_html`].
    pub async fn authored(&self, control: &Control, app: &AppHandle) -> Result<Bytes> {
        let read = async {
            let html = control.authored_html(app).await?;
            Ok(Bytes::from_owner(Arc::<[u8]>::from(html)))
        };
        let key = (app.id(), app.record().version);
        let read = self.authored.try_get_with(key, read).await;
        read.map_err(|error: Arc<Error>| (*error).clone())
    }

    /// A file of an app's current version; `None` where the version has gone meanwhile.
    ///
    /// # Errors
    /// Those of [`Control::asset`].
    pub async fn plain(
        &self,
        control: &Control,
        app: &AppRecord,
        file: &AssetInfo,
    ) -> Result<Option<Bytes>> {
        let read = async {
            if let Some(held) = self.plain_held.find(file.sha256) {
                return Ok(held);
            }
            let found = control.asset(app.id, app.version, &file.path).await.map_err(Some)?;
            found.map(|found| self.keep_plain(file, found)).ok_or(None)
        };
        match self.plain.try_get_with(file.sha256, read).await {
            Ok(bytes) => Ok(Some(bytes)),
            // It may have gone from another app, whose request was the one that read.
            Err(failure) if failure.is_none() => {
                let found = control.asset(app.id, app.version, &file.path).await?;
                Ok(found.map(|found| self.keep_plain(file, found)))
            }
            Err(failure) => failed(&failure),
        }
    }

    fn keep_plain(&self, file: &AssetInfo, found: Asset) -> Bytes {
        self.plain_held.keep(file.sha256, Bytes::from_owner(found.bytes))
    }

    /// The same, compressed; `None` also where that makes it no smaller.
    ///
    /// # Errors
    /// As [`Self::plain`].
    pub async fn packed(
        &self,
        control: &Control,
        app: &AppRecord,
        file: &AssetInfo,
    ) -> Result<Option<Bytes>> {
        let pack = async {
            if let Some(held) = self.packed_held.find(file.sha256) {
                return Ok(Some(held));
            }
            let plain = self.plain(control, app, file).await.map_err(Some)?.ok_or(None)?;
            let pack = move || packed::gzip(&plain);
            let packed = self.making.run(app.owner, pack).await.map_err(Some)?;
            Ok(packed.map(|packed| self.packed_held.keep(file.sha256, packed)))
        };
        match self.packed.try_get_with(file.sha256, pack).await {
            Ok(packed) => Ok(packed),
            Err(failure) => failed(&failure),
        }
    }
}

impl ReadyPages {
    fn new(mut source: PageSource, sdk_src: &str) -> Result<Self> {
        // A database may sort texts by the rules of a language; they are looked up by their bytes.
        source.assets.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        let served = document::serve(&source.html, sdk_src)?;
        Ok(Self {
            document: Packed::new(served.html),
            script_at: served.script_at,
            manifest: source.manifest()?,
            manifest_bytes: manifest::weight_bytes(&source.manifest_text),
            assets: source.assets,
        })
    }

    /// The document with the token of a participant, and with the address below which its files
    /// are if that is not its own.
    #[must_use]
    pub fn document_carrying(&self, token: &str, files: Option<&str>) -> [Bytes; 3] {
        document::carrying(self.document.plain(), self.script_at, token, files)
    }

    /// The record of the asset stored under `path`.
    #[must_use]
    pub fn asset(&self, path: &str) -> Option<&AssetInfo> {
        let found = self.assets.binary_search_by(|asset| asset.path.as_str().cmp(path));
        found.ok().map(|i| &self.assets[i])
    }

    fn bytes(&self) -> usize {
        let assets: usize =
            self.assets.iter().map(|a| ASSET_BYTES + a.path.len() + a.content_type.len()).sum();
        ENTRY_BYTES + self.document.bytes() + self.manifest_bytes + assets
    }
}
