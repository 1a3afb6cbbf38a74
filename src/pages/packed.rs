//! Fixed content that is compressed once and sent so to whoever takes it (RFC 9110, 8.4 and 12.5.3).
//!
//! It is for what is the same for everybody. Pages are never compressed: they hold secrets beside
//! text that somebody else may have chosen, and the length of the two together tells of both.

use std::io::Write as _;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, header};

use super::assets::strong_etag;

/// Content, as it is and compressed.
#[derive(Clone)]
pub struct Packed {
    plain: Encoded,
    gzip: Encoded,
}

/// One encoding of it: the bytes, and a strong entity tag that no other encoding has.
#[derive(Clone)]
pub struct Encoded {
    /// What is sent.
    pub bytes: Bytes,
    /// Its entity tag, quotes included.
    pub etag: String,
    is_gzip: bool,
}

impl Packed {
    /// Compresses `plain`.
    #[must_use]
    pub fn new(plain: impl Into<Bytes>) -> Self {
        let plain = Encoded::new(plain.into(), false);
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        // Writing into memory fails for no reason; if it did, the plain bytes are sent.
        let written = packed.write_all(&plain.bytes).and_then(|()| packed.finish());
        let gzip = match written {
            Ok(bytes) => Encoded::new(bytes.into(), true),
            Err(_) => plain.clone(),
        };
        Self { plain, gzip }
    }

    /// What to send to whoever sent `request`.
    #[must_use]
    pub fn chosen(&self, request: &HeaderMap) -> &Encoded {
        if takes_gzip(request) { &self.gzip } else { &self.plain }
    }
}

impl std::fmt::Debug for Packed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (plain, gzip) = (self.plain.bytes.len(), self.gzip.bytes.len());
        f.debug_struct("Packed").field("plain_bytes", &plain).field("gzip_bytes", &gzip).finish()
    }
}

impl Encoded {
    fn new(bytes: Bytes, is_gzip: bool) -> Self {
        Self { etag: strong_etag(&bytes), bytes, is_gzip }
    }

    /// Says in the answer's `headers` how it is encoded, and what that depends on.
    pub fn describe(&self, headers: &mut HeaderMap) {
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        if self.is_gzip {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
    }
}

/// Whether the client names gzip and does not refuse it (`q=0`).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|it| it.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        named && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}
