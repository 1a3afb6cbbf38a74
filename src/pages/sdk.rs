//! The SDK's files, compiled into the binary. Its source and its tests are `sdk/` and
//! `tests/browser/`; how it is sent is the business of [`super::assets::reply`].

use std::sync::LazyLock;

use super::packed::Packed;

/// The SDK's source: its parts in one function, so that nothing of them is global, which runs once
/// per page.
const SOURCE: &str = concat!(
    "(() => {\n'use strict';\nif (window[Symbol.for('rookery.sdk')]) return;\n",
    include_str!("../../sdk/1-requests.js"),
    include_str!("../../sdk/2-session.js"),
    include_str!("../../sdk/3-challenge.js"),
    include_str!("../../sdk/4-feed.js"),
    include_str!("../../sdk/5-subscription.js"),
    include_str!("../../sdk/6-app.js"),
    "})();\n",
);

/// The SDK's text as it is served: its source without indentation and the lines that are comments.
/// It is small enough without a minifier.
pub static SDK_JS: LazyLock<String> = LazyLock::new(|| as_served(SOURCE));

/// `source` without indentation and the lines that hold nothing but a comment. No text of the SDK
/// goes over lines.
#[must_use]
pub fn as_served(source: &str) -> String {
    let lines = source.split_inclusive('\n').map(str::trim_start);
    lines.filter(|line| !line.starts_with("//")).collect()
}

/// What solves proofs of work in a worker. Its own file, because few pages ever need it.
const SOLVER_JS: &str = include_str!("../../sdk/worker/solver.js");

/// The SDK's declarations in TypeScript. An app's own types merge with them.
pub const SDK_D_TS: &str = include_str!("../../sdk/app.d.ts");

/// The path of the SDK on an app's origin.
pub const SDK_PATH: &str = "/s/sdk.js";

/// The media type of declarations: there is no registered one, and browsers show a text.
pub const TYPESCRIPT: &str = "text/plain; charset=utf-8";

/// The largest size of the SDK, gzip-compressed, in bytes. A test holds the file to it.
pub const SDK_GZIP_BYTES_MAX: usize = 8 * 1024;

/// A file of the SDK. Every app has the same ones, so they are public even where the app is
/// private.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SdkFile {
    /// The SDK.
    Script,
    /// The solver of proofs of work.
    Solver,
    /// The declarations.
    Types,
}

impl SdkFile {
    /// Its text.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Script => &SDK_JS,
            Self::Solver => SOLVER_JS,
            Self::Types => SDK_D_TS,
        }
    }

    /// Its media type.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Script | Self::Solver => "text/javascript; charset=utf-8",
            Self::Types => TYPESCRIPT,
        }
    }

    /// It, as something to send.
    #[must_use]
    pub fn packed(self) -> &'static Packed {
        static FILES: LazyLock<[Packed; 3]> = LazyLock::new(|| {
            [SdkFile::Script, SdkFile::Solver, SdkFile::Types].map(|file| Packed::new(file.text()))
        });
        &FILES[self as usize]
    }
}
