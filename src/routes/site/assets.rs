//! `/static/:file`: style and scripts of the site's pages, compiled in.
//!
//! A name holds what tells one content from another (a package's version, else a digest), so
//! browsers keep these files for ever.

use std::sync::LazyLock;

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, header};
use rookery_domain::text::hex;
use sha2::{Digest as _, Sha256};

use crate::{
    error::{ApiError, ApiResult},
    http::params::Path,
    pages::{packed::Packed, shell::STYLE},
};

/// How long browsers keep a file: a year, as long as caches look ahead.
const CACHE: &str = "public, max-age=31536000, immutable";

/// The addresses that pages load.
#[derive(Debug, Clone)]
pub struct Addresses {
    /// The style of all pages.
    pub style: String,
    /// The script of all pages.
    pub script: String,
    /// The icon of the site.
    pub icon: String,
    /// htmx.
    pub htmx: &'static str,
    /// uPlot.
    pub uplot: &'static str,
    /// The style of uPlot.
    pub uplot_style: &'static str,
}

struct File {
    name: String,
    kind: &'static str,
    content: Packed,
}

impl File {
    fn new(name: String, kind: &'static str, plain: Vec<u8>) -> Self {
        Self { name, kind, content: Packed::new(plain) }
    }

    /// A file of ours: its name says what it holds.
    fn own(stem: &str, extension: &str, kind: &'static str, text: String) -> Self {
        let digest = Sha256::digest(text.as_bytes());
        let tag = hex(&digest[..6]);
        Self::new(format!("{stem}-{tag}.{extension}"), kind, text.into_bytes())
    }

    /// A file of a package.
    fn vendored(name: &str, kind: &'static str, text: &str) -> Self {
        Self::new(name.to_owned(), kind, text.as_bytes().to_vec())
    }

    fn address(&self) -> String {
        format!("{BASE}{}", self.name)
    }
}

/// Where the files are.
const BASE: &str = "/static/";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

static STYLE_FILE: LazyLock<File> = LazyLock::new(|| {
    let text = format!("{STYLE}{}", include_str!("../../../assets/site.css"));
    File::own("site", "css", CSS, text)
});
static SCRIPT_FILE: LazyLock<File> = LazyLock::new(|| {
    File::own("site", "js", JAVASCRIPT, include_str!("../../../assets/site.js").to_owned())
});
static ICON_FILE: LazyLock<File> = LazyLock::new(|| {
    let text = include_str!("../../../assets/icon.svg").to_owned();
    File::own("icon", "svg", "image/svg+xml", text)
});
static VENDORED: LazyLock<[File; 3]> = LazyLock::new(|| {
    [
        File::vendored(
            "htmx-2.0.11.js",
            JAVASCRIPT,
            include_str!("../../../assets/vendor/htmx-2.0.11/htmx.min.js"),
        ),
        File::vendored(
            "uplot-1.6.32.js",
            JAVASCRIPT,
            include_str!("../../../assets/vendor/uplot-1.6.32/uPlot.iife.min.js"),
        ),
        File::vendored(
            "uplot-1.6.32.css",
            CSS,
            include_str!("../../../assets/vendor/uplot-1.6.32/uPlot.min.css"),
        ),
    ]
});

static ADDRESSES: LazyLock<Addresses> = LazyLock::new(|| Addresses {
    style: STYLE_FILE.address(),
    script: SCRIPT_FILE.address(),
    icon: ICON_FILE.address(),
    htmx: "/static/htmx-2.0.11.js",
    uplot: "/static/uplot-1.6.32.js",
    uplot_style: "/static/uplot-1.6.32.css",
});

/// The addresses of this build.
#[must_use]
pub fn addresses() -> &'static Addresses {
    &ADDRESSES
}

/// One file.
///
/// # Errors
/// `not_found`.
pub async fn file(headers: HeaderMap, Path(name): Path<String>) -> ApiResult<Response> {
    let own = [&*STYLE_FILE, &*SCRIPT_FILE, &*ICON_FILE];
    let mut files = own.into_iter().chain(VENDORED.iter());
    let file = files.find(|file| file.name == name).ok_or_else(ApiError::unknown_path)?;
    let chosen = file.content.chosen(&headers);
    let mut response = Body::from(chosen.bytes.clone()).into_response();
    let set = response.headers_mut();
    set.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.kind));
    set.insert(header::CACHE_CONTROL, HeaderValue::from_static(CACHE));
    chosen.describe(set);
    Ok(response)
}

/// The worker that shows push messages. A worker's scope is the folder it lies in, so this one lies
/// at the root, under a name that stays.
pub async fn push_worker() -> Response {
    let mut response = include_str!("../../../assets/push-worker.js").into_response();
    let set = response.headers_mut();
    set.insert(header::CONTENT_TYPE, HeaderValue::from_static(JAVASCRIPT));
    set.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
