//! Content that is sent compressed to whoever takes it (RFC 9110, 8.4 and 12.5.3).
//!
//! It is for what is the same for everybody who may see it: the API's documents, and what agents
//! deployed. The site's own pages are never compressed: they hold secrets beside text that somebody
//! else may have chosen, and the length of the two together tells of both.

use std::io::Write as _;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, header};

use super::assets::strong_etag;

/// Bytes below which nothing is compressed: it would fit into one packet anyway.
const PACKED_BYTES_MIN: usize = 1 << 10;

/// Content, as it is and compressed.
#[derive(Clone)]
pub struct Packed {
    plain: Encoded,
    gzip: Option<Encoded>,
}

/// One encoding of it: the bytes, and a strong entity tag that no other encoding has.
#[derive(Clone)]
pub struct Encoded {
    /// What is sent.
    pub bytes: Bytes,
    /// Its entity tag, quotes included.
    pub etag: String,
    /// Whether the bytes are compressed.
    pub is_gzip: bool,
}

impl Packed {
    /// Compresses `plain`, if that makes it smaller.
    #[must_use]
    pub fn new(plain: impl Into<Bytes>) -> Self {
        let plain = plain.into();
        let gzip = gzip(&plain).map(|bytes| Encoded::new(bytes, true));
        Self { plain: Encoded::new(plain, false), gzip }
    }

    /// It, as it is.
    #[must_use]
    pub const fn plain(&self) -> &Bytes {
        &self.plain.bytes
    }

    /// What to send to whoever sent `request`.
    #[must_use]
    pub fn chosen(&self, request: &HeaderMap) -> &Encoded {
        self.gzip.as_ref().filter(|_| takes_gzip(request)).unwrap_or(&self.plain)
    }

    /// Bytes of all encodings together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.plain.bytes.len() + self.gzip.as_ref().map_or(0, |gzip| gzip.bytes.len())
    }
}

impl std::fmt::Debug for Packed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plain = self.plain.bytes.len();
        f.debug_struct("Packed").field("plain_bytes", &plain).finish_non_exhaustive()
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
            headers.insert(header::CONTENT_ENCODING, GZIP);
        }
    }
}

/// The value of `Content-Encoding`.
pub const GZIP: HeaderValue = HeaderValue::from_static("gzip");

/// `plain`, compressed; `None` where that is not worth it.
#[must_use]
pub fn gzip(plain: &[u8]) -> Option<Bytes> {
    if plain.len() < PACKED_BYTES_MIN {
        return None;
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    // Writing into memory fails for no reason; if it did, the plain bytes are sent.
    let packed = packed.write_all(plain).and_then(|()| packed.finish()).ok()?;
    (packed.len() < plain.len()).then(|| packed.into())
}

/// Whether the client takes gzip: it names it and does not refuse it (`q=0`). Who asks for a part
/// is given a part of the plain bytes.
#[must_use]
pub fn takes_gzip(request: &HeaderMap) -> bool {
    if request.contains_key(header::RANGE) {
        return false;
    }
    let lines = request.get_all(header::ACCEPT_ENCODING).iter().filter_map(|it| it.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let refused = ["q=0", "q=0.0", "q=0.00", "q=0.000"];
        named && !parts.any(|part| refused.iter().any(|q| part.eq_ignore_ascii_case(q)))
    })
}

/// Whether content of this media type usually gets smaller: text, and what is written like it.
#[must_use]
pub fn is_compressible(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || matches!(
            &*essence,
            "application/javascript"
                | "application/json"
                | "application/wasm"
                | "application/xml"
                | "font/otf"
                | "font/ttf"
                | "image/bmp"
                | "image/x-icon"
        )
}
