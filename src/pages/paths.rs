//! Paths below an app: from the path of a request, or of a deployed asset, to the one name an
//! asset is stored under; and what a request path asks for.
//!
//! A stored path is relative, with `/` between its parts, already decoded: `css/site.css`. What is
//! not here: the bytes (`assets`) and the routes below `/s/`.

use percent_encoding::percent_decode_str;
use rookery_domain::{Error, Result};

/// Bytes of an asset's path, decoded.
const ASSET_PATH_BYTES_MAX: usize = 512;

/// The first part of every path that belongs to the service on an app's origin.
const RESERVED_DIR: &str = "s";

/// What a path-mode address without the slash behind the slug is read as: it is redirected to the
/// one with the slash. The first part of it belongs to the service, so no asset has it.
pub const WITHOUT_SLASH: &str = "/s/..";

/// The name of the document itself, by which it can be asked for too.
pub const INDEX: &str = "index.html";

/// The stored path for the path of a request as it stands in the request line (without the query;
/// in path mode without `/a/<slug>`), or `None` if no asset can have it. The empty string is the
/// app itself; a trailing slash is kept, it asks for a folder.
///
/// Percent-encoding is undone once. What looks encoded after that is a name like any other, and
/// what is a separator only after it was decoded (`%2F`, `%5C`) or climbs (`..`) is refused, so no
/// two layers can read one path differently.
#[must_use]
pub fn from_request(raw: &str) -> Option<String> {
    let relative = raw.strip_prefix('/')?;
    if relative.is_empty() {
        return Some(String::new());
    }
    let (relative, folder) = match relative.strip_suffix('/') {
        Some(rest) => (rest, true),
        None => (relative, false),
    };
    let mut path = String::with_capacity(relative.len() + 1);
    for part in relative.split('/') {
        let part = percent_decode_str(part).decode_utf8().ok()?;
        if !is_part(&part) {
            return None;
        }
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(&part);
    }
    if folder {
        path.push('/');
    }
    (path.len() <= ASSET_PATH_BYTES_MAX).then_some(path)
}

/// The stored path for the path that a deploy names (a leading `/` or `./` is taken off; nothing
/// is decoded).
///
/// # Errors
/// `invalid_request` naming the path: it is empty, too long, climbs, has an empty part or a
/// control character or a backslash, is the document's own name, or lies in `/s/`.
pub fn from_deploy(path: &str) -> Result<String> {
    let refuse = |why: &str| Err(Error::invalid(format!("assets: path {path:?} {why}")));
    let relative = path.strip_prefix("./").or_else(|| path.strip_prefix('/')).unwrap_or(path);
    if relative.is_empty() {
        return refuse("is empty");
    }
    if relative.len() > ASSET_PATH_BYTES_MAX {
        return Err(Error::invalid(format!(
            "assets: a path has {} bytes, at most {ASSET_PATH_BYTES_MAX} are allowed",
            relative.len()
        )));
    }
    if !relative.split('/').all(is_part) {
        return refuse(
            "must be parts joined by '/', none of them empty, '.' or '..', without control characters or '\\'",
        );
    }
    if relative == INDEX {
        return refuse("is the document itself; send it as html");
    }
    if relative.split('/').next() == Some(RESERVED_DIR) {
        return refuse("lies below /s/, which belongs to the service");
    }
    Ok(relative.to_owned())
}

fn is_part(part: &str) -> bool {
    !part.is_empty()
        && part != "."
        && part != ".."
        && !part.contains(['/', '\\'])
        && !part.contains(char::is_control)
}

/// What a request path asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The app's document.
    Document,
    /// The asset stored under this path.
    Asset(String),
    /// A folder with a document of its own, asked for without its slash: files beside that document
    /// would not be found.
    Folder,
    /// None of these: the 404 page.
    NotFound,
}

impl Target {
    /// Whether `path` asks for something else when no browser is loading a page.
    #[must_use]
    pub fn is_for_navigation(&self, path: &str) -> bool {
        match self {
            Self::Document => !path.is_empty() && path != INDEX,
            Self::Asset(_) => false,
            Self::Folder | Self::NotFound => true,
        }
    }
}

/// Decides what `path` (from [`from_request`]) asks for. `exists` tells whether an asset is stored
/// under a path. `navigation` tells that a browser is loading a page (see
/// [`is_navigation`](crate::http::accept::is_navigation)): then a path that names no file, such as
/// `/items/7`, is the document's, because the app itself routes it with the history API. A missing
/// file stays missing.
pub fn resolve(path: &str, navigation: bool, exists: impl Fn(&str) -> bool) -> Target {
    if path.is_empty() || path == INDEX {
        return Target::Document;
    }
    if path.ends_with('/') {
        let index = format!("{path}{INDEX}");
        if exists(&index) {
            return Target::Asset(index);
        }
    } else if exists(path) {
        return Target::Asset(path.to_owned());
    } else if navigation && exists(&format!("{path}/{INDEX}")) {
        return Target::Folder;
    }
    let mut parts = path.trim_end_matches('/').split('/');
    let reserved = parts.next() == Some(RESERVED_DIR);
    let names_file = path.rsplit('/').next().is_some_and(|last| last.contains('.'));
    if navigation && !reserved && !names_file { Target::Document } else { Target::NotFound }
}
