//! Deployed versions of apps: HTML, manifest and assets. The content of an asset is stored once
//! for all versions of all apps, by its SHA-256. Later versions are written with their group.

use std::sync::Arc;

use rookery_domain::{Principal, Timestamp, id::AppId};

use crate::{
    codec::{principal_bytes, principal_from},
    commit::{Asset, NewVersion},
    db::{Args, Db, Tx, args},
    decode,
    error::{Result, StorageError},
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
    let by = principal_bytes(version.by);
    let mut inserts = vec![(
        "insert into versions (app_id, number, html, manifest, created_by, created_at)
         values ($1, $2, $3, $4, $5, $6)",
        args![app, number, &*version.html, &*version.manifest, by, made],
    )];
    // In one order for everybody, so that two deploys of the same files never wait in a ring.
    let mut files: Vec<_> = version.assets.iter().collect();
    files.sort_by_key(|file| file.sha256);
    for file in files {
        // Unless it is there; it is marked as used either way.
        inserts.push((
            "insert into blobs (sha256, bytes, seen_at) values ($1, $2, $3)
             on conflict (sha256) do update set seen_at = excluded.seen_at",
            args![file.sha256, file.bytes.clone(), made],
        ));
        let (path, kind, size) = (&*file.path, &*file.content_type, file.bytes.len() as u64);
        inserts.push((
            "insert into assets (app_id, version, path, content_type, sha256, size)
             values ($1, $2, $3, $4, $5, $6)",
            args![app, number, path, kind, file.sha256, size],
        ));
    }
    inserts
}

/// The kept versions of an app, newest first.
///
/// # Errors
/// Any [`StorageError`].
pub async fn list(db: &Db, app: AppId) -> Result<Vec<VersionInfo>> {
    let versions: Vec<(i64, Vec<u8>, i64)> = db
        .all(
            "select number, created_by, created_at from versions
             where app_id = $1 order by number desc",
            args![app],
        )
        .await?;
    versions
        .into_iter()
        .map(|(number, by, at)| {
            Ok(VersionInfo {
                number: decode::number("versions.number", number)?,
                by: principal_from(&by)
                    .map_err(|why| StorageError::corrupt("versions.created_by", why))?,
                created_at: Timestamp(at),
            })
        })
        .collect()
}

/// The authored HTML of a version.
///
/// # Errors
/// Any [`StorageError`].
pub async fn html(db: &Db, app: AppId, number: u32) -> Result<Option<Arc<str>>> {
    let html: Option<(String,)> = db
        .optional("select html from versions where app_id = $1 and number = $2", args![app, number])
        .await?;
    Ok(html.map(|(html,)| html.into()))
}

/// The manifest's text of a version.
///
/// # Errors
/// Any [`StorageError`].
pub async fn manifest(db: &Db, app: AppId, number: u32) -> Result<Option<Arc<str>>> {
    let manifest: Option<(String,)> = db
        .optional(
            "select manifest from versions where app_id = $1 and number = $2",
            args![app, number],
        )
        .await?;
    Ok(manifest.map(|(manifest,)| manifest.into()))
}

/// What files a version has, in the order of their paths.
///
/// # Errors
/// Any [`StorageError`].
pub async fn assets(db: &Db, app: AppId, number: u32) -> Result<Vec<AssetInfo>> {
    let assets: Vec<(String, String, Vec<u8>, i64)> = db
        .all(
            "select path, content_type, sha256, size from assets
             where app_id = $1 and version = $2 order by path",
            args![app, number],
        )
        .await?;
    assets
        .into_iter()
        .map(|(path, content_type, sha256, size)| {
            Ok(AssetInfo {
                path,
                content_type,
                sha256: decode::fixed("assets.sha256", &sha256)?,
                size: decode::number("assets.size", size)?,
            })
        })
        .collect()
}

type AssetColumns = (String, String, Vec<u8>, Vec<u8>);

fn asset_from((path, content_type, sha256, bytes): AssetColumns) -> Result<Asset> {
    let sha256 = decode::fixed("assets.sha256", &sha256)?;
    Ok(Asset { path, content_type, bytes: bytes.into(), sha256 })
}

/// One file of a version.
///
/// # Errors
/// Any [`StorageError`].
pub async fn asset(db: &Db, app: AppId, number: u32, path: &str) -> Result<Option<Asset>> {
    db.optional(
        "select a.path, a.content_type, a.sha256, b.bytes
         from assets a join blobs b on b.sha256 = a.sha256
         where a.app_id = $1 and a.version = $2 and a.path = $3",
        args![app, number, path],
    )
    .await?
    .map(asset_from)
    .transpose()
}

/// All files of a version with their content, for a deploy that carries them over; they are
/// bounded by the limits of a deploy.
///
/// # Errors
/// Any [`StorageError`].
pub async fn assets_with_content(db: &Db, app: AppId, number: u32) -> Result<Arc<[Asset]>> {
    db.all(
        "select a.path, a.content_type, a.sha256, b.bytes
         from assets a join blobs b on b.sha256 = a.sha256
         where a.app_id = $1 and a.version = $2 order by a.path",
        args![app, number],
    )
    .await?
    .into_iter()
    .map(asset_from)
    .collect()
}
