//! The SDK file, compiled into the binary. Its source and its tests are `sdk/` and
//! `tests/browser/`; how it is sent is [`super::assets::reply`]'s business.

use std::sync::LazyLock;

use super::assets::{Cache, Representation, strong_etag};

/// The SDK's text: its parts in one function, so that nothing of them is global, which runs once
/// per page. Served as it was written: it is small enough without a minifier.
pub const SDK_JS: &str = concat!(
    "(() => {\n'use strict';\nif (window[Symbol.for('rookery.sdk')]) return;\n",
    include_str!("../../sdk/1-requests.js"),
    include_str!("../../sdk/2-session.js"),
    include_str!("../../sdk/3-challenge.js"),
    include_str!("../../sdk/4-feed.js"),
    include_str!("../../sdk/5-subscription.js"),
    include_str!("../../sdk/6-app.js"),
    "})();\n",
);

/// The path of the SDK on an app's origin.
pub const SDK_PATH: &str = "/s/sdk.js";

/// The largest size of the SDK, gzip-compressed, in bytes. A test holds the file to it.
pub const SDK_GZIP_BYTES_MAX: usize = 8 * 1024;

static ETAG: LazyLock<String> = LazyLock::new(|| strong_etag(SDK_JS.as_bytes()));

/// The SDK as something to send. Every app has the same one, so it is public even where the app
/// is private.
#[must_use]
pub fn representation() -> Representation<'static> {
    Representation {
        etag: &ETAG,
        content_type: "text/javascript; charset=utf-8",
        len: SDK_JS.len() as u64,
        cache: Cache::Sdk,
    }
}
