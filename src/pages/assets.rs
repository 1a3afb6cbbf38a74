//! How stored bytes are sent (RFC 9110): content type, entity tag, cache headers, and what the
//! request's conditions and range make of them. HEAD is GET without the body.
//!
//! What is not here: which path means which bytes (`paths`) and where the bytes are kept.

use std::ops::Range;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use sha2::{Digest, Sha256};

/// Bytes of a declared content type that are taken over.
const CONTENT_TYPE_BYTES_MAX: usize = 127;

/// A strong entity tag of `bytes`, quotes included: 128 bits of their SHA-256.
#[must_use]
pub fn strong_etag(bytes: &[u8]) -> String {
    etag(Sha256::digest(bytes).into())
}

/// The same of a file whose SHA-256 is known. Its type is part of what a browser keeps, and would stay the
/// old one with the tag (RFC 9110, section 8.8.1).
#[must_use]
pub fn etag_of_file(digest: &[u8; 32], content_type: &str) -> String {
    etag(Sha256::new().chain_update(digest).chain_update(content_type).finalize().into())
}

fn etag(digest: [u8; 32]) -> String {
    format!("\"{}\"", URL_SAFE_NO_PAD.encode(&digest[..16]))
}

/// The entity tag of the compressed content whose plain one has `etag`.
#[must_use]
pub fn etag_of_gzip(etag: &str) -> String {
    format!("{}-gzip\"", etag.trim_end_matches('"'))
}

/// Whether lines of `If-None-Match` name `etag` (with its quotes). The comparison is weak, as the
/// RFC has it for this header: a proxy may have added `W/`.
pub fn is_held<'a>(lines: impl IntoIterator<Item = &'a HeaderValue>, etag: &str) -> bool {
    let texts = lines.into_iter().filter_map(|line| line.to_str().ok());
    let mut tags = texts.flat_map(|text| text.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

/// The content type an asset is sent with: the declared one where it is well-formed, else the one
/// its path's extension has, else `application/octet-stream`. Text without a charset is UTF-8.
#[must_use]
pub fn content_type(path: &str, declared: Option<&str>) -> String {
    let declared = declared.map(str::trim).filter(|value| is_media_type(value));
    let value = match declared {
        Some(value) => value.to_owned(),
        None => by_extension(path),
    };
    let lower = value.to_ascii_lowercase();
    let textual = lower.starts_with("text/")
        || matches!(
            lower.split(';').next().map(str::trim),
            Some("application/javascript" | "application/json" | "application/manifest+json")
        );
    if textual && !lower.contains("charset") {
        format!("{}; charset=utf-8", value.trim_end_matches([' ', ';']))
    } else {
        value
    }
}

fn by_extension(path: &str) -> String {
    // The registered type where the library still has an older or a missing one.
    match path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "js" | "mjs" => "text/javascript".to_owned(),
        "webmanifest" => "application/manifest+json".to_owned(),
        "ico" => "image/x-icon".to_owned(),
        _ => mime_guess::from_path(path).first_or_octet_stream().essence_str().to_owned(),
    }
}

/// Whether `value` is a `type/subtype` with its parameters, each `name=value` (RFC 9110, 8.3.1), of
/// visible ASCII and short enough to be taken over.
#[must_use]
pub fn is_media_type(value: &str) -> bool {
    let (essence, parameters) = value
        .split_once(';')
        .map_or((value, None), |(essence, rest)| (essence.trim_end_matches(' '), Some(rest)));
    value.len() <= CONTENT_TYPE_BYTES_MAX
        && value.bytes().all(|b| b == b' ' || b.is_ascii_graphic())
        && essence.split_once('/').is_some_and(|(kind, sub)| is_token(kind) && is_token(sub))
        && parameters.is_none_or(are_parameters)
}

/// Whether `text`, which is behind a semicolon, is parameters with semicolons between them; there may
/// be none between two.
fn are_parameters(mut text: &str) -> bool {
    loop {
        text = text.trim_start_matches([' ', ';']);
        if text.is_empty() {
            return true;
        }
        let Some((name, rest)) = text.split_once('=') else { return false };
        let behind = match rest.strip_prefix('"') {
            Some(quoted) => behind_quoted(quoted),
            None => {
                let (value, behind) = rest.split_at(rest.find([' ', ';']).unwrap_or(rest.len()));
                is_token(value).then_some(behind)
            }
        };
        let Some(behind) = behind.filter(|_| is_token(name)) else { return false };
        text = behind.trim_start_matches(' ');
        if !text.is_empty() && !text.starts_with(';') {
            return false;
        }
    }
}

/// What is behind the quote that ends a text (RFC 9110, 5.6.4), in which a backslash takes away the
/// meaning of what follows it.
fn behind_quoted(text: &str) -> Option<&str> {
    let mut escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    Some(&text[end + 1..])
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Who may keep an answer, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Of a public app: everybody may keep it, and asks each time whether it is still the one
    /// (addresses do not change between versions).
    Public,
    /// Of a private or link app: only the browser that asked.
    Private,
    /// The SDK: a page must not wait for a round trip for it on every load.
    Sdk,
    /// Nobody, ever.
    Never,
}

impl Cache {
    /// The value of `Cache-Control`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public, no-cache",
            Self::Private => "private, no-cache",
            Self::Sdk => "public, max-age=300, stale-while-revalidate=86400",
            Self::Never => "no-store",
        }
    }
}

/// Bytes that can be sent, without the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Representation<'a> {
    /// Strong entity tag, quotes included.
    pub etag: &'a str,
    /// The value of `Content-Type`.
    pub content_type: &'a str,
    /// How many bytes there are.
    pub len: u64,
    /// Who may keep them.
    pub cache: Cache,
}

/// What to answer: a status, headers, and which of the bytes go into the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// 200, 206, 304 or 416.
    pub status: StatusCode,
    /// `Content-Type`, `Content-Length`, `ETag`, `Cache-Control`, and those of ranges.
    pub headers: HeaderMap,
    /// The bytes of the body; empty for HEAD, 304 and 416.
    pub body: Range<u64>,
}

/// Decides the answer to a GET or HEAD of `what`, in the order of RFC 9110 section 13.2.2:
/// `If-None-Match` first, then `Range` under its `If-Range`. Several ranges, or a unit other than
/// bytes, are answered with the whole; a range on HEAD has no meaning.
#[must_use]
pub fn reply(method: &Method, request: &HeaderMap, what: &Representation<'_>) -> Reply {
    let mut headers = HeaderMap::new();
    put(&mut headers, header::ETAG, what.etag);
    put(&mut headers, header::CACHE_CONTROL, what.cache.as_str());
    put(&mut headers, header::ACCEPT_RANGES, "bytes");
    if is_held(request.get_all(header::IF_NONE_MATCH), what.etag) {
        return Reply { status: StatusCode::NOT_MODIFIED, headers, body: 0..0 };
    }
    let range = match *method {
        Method::GET => requested_range(request, what),
        _ => RequestedRange::Whole,
    };
    let (status, body) = match range {
        RequestedRange::Whole => (StatusCode::OK, 0..what.len),
        RequestedRange::Part(part) => {
            let value = format!("bytes {}-{}/{}", part.start, part.end - 1, what.len);
            put(&mut headers, header::CONTENT_RANGE, &value);
            (StatusCode::PARTIAL_CONTENT, part)
        }
        RequestedRange::Outside => {
            put(&mut headers, header::CONTENT_RANGE, &format!("bytes */{}", what.len));
            put(&mut headers, header::CONTENT_LENGTH, "0");
            return Reply { status: StatusCode::RANGE_NOT_SATISFIABLE, headers, body: 0..0 };
        }
    };
    put(&mut headers, header::CONTENT_TYPE, what.content_type);
    put(&mut headers, header::CONTENT_LENGTH, &(body.end - body.start).to_string());
    let body = if method == Method::HEAD { 0..0 } else { body };
    Reply { status, headers, body }
}

/// The answer to a GET or HEAD of what is one visitor's alone: it has no tag and no parts, and
/// nobody keeps it.
#[must_use]
pub fn unkept(method: &Method, content_type: &str, len: u64) -> Reply {
    let mut headers = HeaderMap::new();
    put(&mut headers, header::CACHE_CONTROL, Cache::Never.as_str());
    put(&mut headers, header::CONTENT_TYPE, content_type);
    put(&mut headers, header::CONTENT_LENGTH, &len.to_string());
    let body = if method == Method::HEAD { 0..0 } else { 0..len };
    Reply { status: StatusCode::OK, headers, body }
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

enum RequestedRange {
    Whole,
    Part(Range<u64>),
    Outside,
}

fn requested_range(request: &HeaderMap, what: &Representation<'_>) -> RequestedRange {
    let text = |name| request.get(name).and_then(|v: &HeaderValue| v.to_str().ok());
    let Some(range) = text(header::RANGE) else { return RequestedRange::Whole };
    // A date, a weak tag or another tag does not prove that the first part was of these bytes.
    if request.contains_key(header::IF_RANGE) && text(header::IF_RANGE) != Some(what.etag) {
        return RequestedRange::Whole;
    }
    let Some((unit, spec)) = range.split_once('=') else { return RequestedRange::Whole };
    if !unit.eq_ignore_ascii_case("bytes") || spec.contains(',') {
        return RequestedRange::Whole;
    }
    let Some((first, last)) = spec.trim().split_once('-') else { return RequestedRange::Whole };
    match (position(first), position(last)) {
        (Some(first), _) if last.is_empty() => within(first, u64::MAX, what.len),
        (Some(first), Some(last)) if first <= last => within(first, last, what.len),
        (None, Some(0)) if first.is_empty() => RequestedRange::Outside,
        (None, Some(suffix)) if first.is_empty() => {
            within(what.len.saturating_sub(suffix), u64::MAX, what.len)
        }
        _ => RequestedRange::Whole,
    }
}

/// Digits as a number; one too large for `u64` lies behind the end of everything.
fn position(digits: &str) -> Option<u64> {
    let valid = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    valid.then(|| digits.parse().unwrap_or(u64::MAX))
}

fn within(first: u64, last: u64, len: u64) -> RequestedRange {
    if first >= len {
        RequestedRange::Outside
    } else {
        RequestedRange::Part(first..last.saturating_add(1).min(len))
    }
}
