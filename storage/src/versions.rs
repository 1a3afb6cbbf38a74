//! Deployed versions of apps: HTML, manifest and assets. The content of an asset is stored once
//! for all versions of all apps, by its SHA-256. Later versions are written with their group.

use std::{fmt, sync::Arc};

use rookery_domain::{Principal, Timestamp, id::AppId};
use sha2::{Digest as _, Sha256};

use crate::{
    columns::record,
    db::{Args, Db, Tx, args},
    error::Result,
};

/// A version without its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionInfo {
    /// Its number, from 1.
    pub number: u32,
    /// Who deployed it.
    pub by: Principal,
    /// When.
    pub created_at: Timestamp,
}

record!(VersionInfo: number, by, created_at);

/// An asset without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetInfo {
    /// Its path below the app's origin, without a leading slash.
    pub path: String,
    /// Its media type.
    pub content_type: String,
    /// SHA-256 of its content.
    pub sha256: [u8; 32],
    /// Bytes of its content.
    pub size: u64,
}

record!(AssetInfo: path, content_type, sha256, size);

/// A deployed version.
#[derive(Clone)]
pub struct NewVersion {
    /// Its number, from 1.
    pub number: u32,
    /// The authored HTML.
    pub html: Arc<str>,
    /// The manifest's text (`{}` when none was given).
    pub manifest: Arc<str>,
    /// Its assets. Their contents are stored once by SHA-256.
    pub assets: Arc<[VersionAsset]>,
    /// Who deployed it.
    pub by: Principal,
    /// When.
    pub created_at: Timestamp,
    /// Versions up to this number are dropped.
    pub drop_through: u32,
}

impl NewVersion {
    /// Bytes of content that are written with it: of its documents and its new assets.
    #[must_use]
    pub fn content_bytes(&self) -> usize {
        let assets = self.assets.iter().map(VersionAsset::new_bytes);
        self.html.len() + self.manifest.len() + assets.sum::<usize>()
    }
}

impl fmt::Debug for NewVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewVersion")
            .field("number", &self.number)
            .field("assets", &self.assets.len())
            .finish_non_exhaustive()
    }
}

/// One file of a version that is deployed.
#[derive(Debug, Clone)]
pub enum VersionAsset {
    /// It came with the deploy.
    New(Asset),
    /// An earlier version of the app has it: storage holds its content, which need not travel. If
    /// storage holds it no longer, the group is refused.
    Stored(AssetInfo),
}

impl VersionAsset {
    /// Bytes of content that come with it.
    #[must_use]
    pub fn new_bytes(&self) -> usize {
        match self {
            Self::New(asset) => asset.bytes.len(),
            Self::Stored(_) => 0,
        }
    }

    /// Its path below the app's origin, without a leading slash.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::New(asset) => &asset.path,
            Self::Stored(asset) => &asset.path,
        }
    }

    /// Its media type.
    #[must_use]
    pub fn content_type(&self) -> &str {
        match self {
            Self::New(asset) => &asset.content_type,
            Self::Stored(asset) => &asset.content_type,
        }
    }

    /// SHA-256 of its content.
    #[must_use]
    pub const fn sha256(&self) -> &[u8; 32] {
        match self {
            Self::New(asset) => &asset.sha256,
            Self::Stored(asset) => &asset.sha256,
        }
    }

    /// Bytes of its content.
    #[must_use]
    pub fn size(&self) -> u64 {
        match self {
            Self::New(asset) => asset.bytes.len() as u64,
            Self::Stored(asset) => asset.size,
        }
    }
}

/// One file of a version with its content.
#[derive(Clone, PartialEq, Eq)]
pub struct Asset {
    /// Its path below the app's origin, without a leading slash.
    pub path: String,
    /// Its media type.
    pub content_type: String,
    /// Its content.
    pub bytes: Arc<[u8]>,
    /// SHA-256 of the content: its address in storage. Made with the asset, so that no lane of
    /// the writer spends its time on it.
    pub sha256: [u8; 32],
}

record!(Asset: path, content_type, bytes, sha256);

impl Asset {
    /// An asset with this content.
    #[must_use]
    pub fn new(path: String, content_type: String, bytes: Arc<[u8]>) -> Self {
        let sha256 = Sha256::digest(&bytes).into();
        Self { path, content_type, bytes, sha256 }
    }
}

impl fmt::Debug for Asset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asset({}, {} bytes)", self.path, self.bytes.len())
    }
}

pub(crate) async fn insert(tx: &mut Tx, app: AppId, version: &NewVersion) -> Result<()> {
    for (sql, args) in inserts(app, version) {
        tx.execute(sql, args).await?;
    }
    Ok(())
}

/// The statements that write a version, with their parameters. Parameters appear in the order of
/// their numbers: SQLite takes `$1` for a name and numbers names by their first appearance.
pub(crate) fn inserts(app: AppId, version: &NewVersion) -> Vec<(&'static str, Args)> {
    let (number, made) = (version.number, version.created_at);
    let mut inserts = vec![(
        "insert into versions (app_id, number, html, manifest, created_by, created_at)
         values ($1, $2, $3, $4, $5, $6)",
        args![app, number, &*version.html, &*version.manifest, version.by, made],
    )];
    // In one order for everybody, so that two deploys of the same files never wait in a ring.
    let mut files: Vec<_> = version.assets.iter().collect();
    files.sort_by_key(|file| file.sha256());
    for file in files {
        // What is there already is marked as used.
        inserts.push(match file {
            VersionAsset::New(asset) => (
                "insert into blobs (sha256, bytes, seen_at) values ($1, $2, $3)
                 on conflict (sha256) do update set seen_at = excluded.seen_at",
                args![asset.sha256, asset.bytes.clone(), made],
            ),
            VersionAsset::Stored(asset) => {
                ("update blobs set seen_at = $1 where sha256 = $2", args![made, asset.sha256])
            }
        });
        // Without its content the file has no hash either, which the table refuses.
        inserts.push((
            "insert into assets (app_id, version, path, content_type, sha256, size)
             values ($1, $2, $3, $4, (select sha256 from blobs where sha256 = $5), $6)",
            args![app, number, file.path(), file.content_type(), *file.sha256(), file.size()],
        ));
    }
    inserts
}

/// The kept versions of an app, newest first.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn list(db: &Db, app: AppId) -> Result<Vec<VersionInfo>> {
    db.all(
        "select number, created_by, created_at from versions
         where app_id = $1 order by number desc",
        args![app],
    )
    .await
}

/// What a version holds; of its files only what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The authored HTML.
    pub html: Arc<str>,
    /// The manifest's text.
    pub manifest: Arc<str>,
    /// The files, in the order of their paths.
    pub assets: Vec<AssetInfo>,
}

/// All of a version, however many others are deployed meanwhile; `None` when it is not kept.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn content(db: &Db, app: AppId, number: u32) -> Result<Option<Content>> {
    // In this order: a version goes together with its files, and its number is never another's. So
    // they were all there when it is there afterwards.
    let assets = assets(db, app, number).await?;
    let found = db
        .optional(
            "select html, manifest from versions where app_id = $1 and number = $2",
            args![app, number],
        )
        .await?;
    Ok(found.map(|(html, manifest)| Content { html, manifest, assets }))
}

/// The authored HTML of a version.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn html(db: &Db, app: AppId, number: u32) -> Result<Option<Arc<str>>> {
    db.value("select html from versions where app_id = $1 and number = $2", args![app, number])
        .await
}

/// The manifest's text of a version.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn manifest(db: &Db, app: AppId, number: u32) -> Result<Option<Arc<str>>> {
    db.value("select manifest from versions where app_id = $1 and number = $2", args![app, number])
        .await
}

/// What files a version has, in the database's order of their paths.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn assets(db: &Db, app: AppId, number: u32) -> Result<Vec<AssetInfo>> {
    db.all(
        "select path, content_type, sha256, size from assets
         where app_id = $1 and version = $2 order by path",
        args![app, number],
    )
    .await
}

/// One file of a version.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn asset(db: &Db, app: AppId, number: u32, path: &str) -> Result<Option<Asset>> {
    db.optional(
        "select a.path, a.content_type, b.bytes, a.sha256
         from assets a join blobs b on b.sha256 = a.sha256
         where a.app_id = $1 and a.version = $2 and a.path = $3",
        args![app, number, path],
    )
    .await
}
