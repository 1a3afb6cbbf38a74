//! A deploy as a zip of a folder with `index.html`, `manifest.json` and assets.
//!
//! What an archive says about itself is not believed: entries are counted, and reading stops at
//! the first byte above a limit, however small the archive is.

use std::{
    collections::BTreeSet,
    io::{Cursor, Read as _},
};

use bytes::Bytes;
use rookery_domain::{Error, ErrorCode, Result, limits::Limits, manifest, text::quoted};
use zip::{CompressionMethod, ZipArchive};

use super::{Raw, RawAsset};
use crate::{http::body::budget::BodyShare, pages::paths::INDEX};

/// The entry that is the manifest.
const MANIFEST: &str = "manifest.json";
/// Files beside the assets: document and manifest.
const OTHER_FILES: usize = 2;
/// Entries of an archive, folders and what is left out of the app among them: what a zip without
/// extensions can list (APPNOTE.TXT, 4.4.22).
const ENTRIES_MAX: usize = 65_535;

/// Reads an archive; `share` grows by what it unpacks to.
pub(super) fn read(bytes: Bytes, limits: &Limits, share: &mut BodyShare) -> Result<Raw> {
    let mut archive = ZipArchive::new(Cursor::new(bytes.clone())).map_err(|_| unreadable())?;
    if archive.has_duplicate_names() {
        let name = repeated_name(&bytes, archive.central_directory_start());
        let named =
            name.map_or_else(|| "of the same name".to_owned(), |name| format!("named {name}"));
        return Err(Error::invalid(format!("the zip holds two entries {named}")));
    }
    if archive.len() > ENTRIES_MAX {
        return Err(too_large(format!("the zip has more than {ENTRIES_MAX} entries")));
    }
    let names = names(&mut archive, bytes.len())?;
    if names.len() > limits.asset_files_max + OTHER_FILES {
        let (files, max) = (names.len(), limits.asset_files_max);
        return Err(too_large(format!(
            "the zip has {files} files that are not hidden, an app at most {max} beside its document \
             and its manifest"
        )));
    }
    let folder = top_folder(&names);
    let mut raw = Raw::default();
    let mut assets = Vec::new();
    let mut left = limits.asset_bytes_max;
    for (index, name) in names {
        let name = name.strip_prefix(folder.as_str()).unwrap_or(&name);
        match name {
            INDEX => {
                let bytes =
                    inflate(&mut archive, index, limits.html_bytes_max)?.ok_or_else(|| {
                        let max = limits.html_bytes_max;
                        too_large(format!("`{INDEX}` has more than {max} bytes"))
                    })?;
                share.grow(bytes.len())?;
                raw.html = Some(text(INDEX, bytes)?);
            }
            MANIFEST => {
                let max = limits.max_manifest_bytes;
                let Some(bytes) = inflate(&mut archive, index, max)? else {
                    return Err(manifest::too_large(limits));
                };
                raw.manifest = Some(text(MANIFEST, bytes)?);
            }
            name => {
                let bytes = inflate(&mut archive, index, left)?.ok_or_else(|| {
                    let max = limits.asset_bytes_max;
                    too_large(format!("the assets have more than {max} bytes together"))
                })?;
                share.grow(bytes.len())?;
                left -= bytes.len();
                assets.push(RawAsset { path: name.to_owned(), content_type: None, bytes });
            }
        }
    }
    if raw.html.is_none() {
        return Err(Error::invalid(format!("the zip holds no `{INDEX}`")));
    }
    // A redeploy carries over what a bundle leaves out; a folder without assets is one too.
    raw.assets = Some(assets);
    Ok(raw)
}

/// The first name, quoted, that a second entry of the central directory has too (APPNOTE.TXT, 4.3.12).
/// Of such entries the library keeps one, so the bytes themselves are read.
fn repeated_name(bytes: &[u8], start: u64) -> Option<String> {
    const SIGNATURE: &[u8] = b"PK\x01\x02";
    const HEADER_BYTES: usize = 46;
    let mut entries = bytes.get(usize::try_from(start).ok()?..)?;
    let mut seen = BTreeSet::new();
    while entries.starts_with(SIGNATURE) {
        let length = |at: usize| {
            let bytes = entries.get(at..)?.first_chunk()?;
            Some(usize::from(u16::from_le_bytes(*bytes)))
        };
        let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
        let behind = HEADER_BYTES + name;
        let name = entries.get(HEADER_BYTES..behind)?;
        if !seen.insert(name) {
            return Some(quoted(&String::from_utf8_lossy(name)));
        }
        entries = entries.get(behind + extra + comment..)?;
    }
    None
}

/// The files of an archive, by index. A name must mean the same to everybody: it is checked as it
/// stands, not cleaned. Entries that share content would have the same bytes inflated again and again:
/// together they have no more than the archive.
fn names(archive: &mut ZipArchive<Cursor<Bytes>>, bytes: usize) -> Result<Vec<(usize, String)>> {
    let mut names = Vec::new();
    let mut left = bytes as u64;
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(|_| unreadable())?;
        let name = entry.name().map_err(|_| unreadable())?.into_owned();
        if entry.is_dir() || is_litter(&name) || is_hidden(&name) {
            continue;
        }
        let shown = quoted(&name);
        if entry.encrypted() {
            return Err(Error::invalid(format!("the zip's entry {shown} is encrypted")));
        }
        if !matches!(entry.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
            return Err(Error::invalid(format!(
                "the zip's entry {shown} is compressed in a way that is not read here: use deflate"
            )));
        }
        if entry.is_symlink() {
            return Err(Error::invalid(format!("the zip's entry {shown} is a symbolic link")));
        }
        left = left.checked_sub(entry.compressed_size()).ok_or_else(|| {
            Error::invalid(format!("the zip's entry {shown} shares its content with others"))
        })?;
        names.push((index, name));
    }
    Ok(names)
}

/// What macOS puts into every archive it makes.
fn is_litter(name: &str) -> bool {
    name.starts_with("__MACOSX/") || name.rsplit('/').next() == Some(".DS_Store")
}

/// What a project's folder holds that is not for visitors: `.env`, `.git/`. Of the hidden names only
/// `.well-known` (RFC 8615) is for them.
fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('.') && ![".", "..", ".well-known"].contains(&part))
}

/// The folder that holds everything, with its slash: many tools zip the folder itself.
fn top_folder(names: &[(usize, String)]) -> String {
    let folder = names.first().and_then(|(_, name)| name.split_once('/'));
    let Some(folder) = folder.map(|(folder, _)| format!("{folder}/")) else {
        return String::new();
    };
    let index = format!("{folder}{INDEX}");
    let all_in = names.iter().all(|(_, name)| name.starts_with(&folder));
    let has_index = names.iter().any(|(_, name)| *name == index);
    if all_in && has_index { folder } else { String::new() }
}

/// The content of an entry, or `None` when it has more than `max` bytes.
fn inflate(
    archive: &mut ZipArchive<Cursor<Bytes>>,
    index: usize,
    max: usize,
) -> Result<Option<Vec<u8>>> {
    let entry = archive.by_index(index).map_err(|_| unreadable())?;
    let mut bytes = Vec::new();
    entry.take(max as u64 + 1).read_to_end(&mut bytes).map_err(|_| unreadable())?;
    Ok((bytes.len() <= max).then_some(bytes))
}

fn text(name: &str, bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| Error::invalid(format!("`{name}`: must be UTF-8")))
}

fn too_large(message: String) -> Error {
    Error::new(ErrorCode::PayloadTooLarge, message)
}

fn unreadable() -> Error {
    Error::invalid("the body is not a zip that can be read")
}
