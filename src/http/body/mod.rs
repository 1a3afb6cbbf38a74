//! Request bodies: bounded in bytes, alone and together, and in time; strict JSON, unknown members
//! refused by name.

pub mod budget;
pub mod coding;
pub mod drain;
pub mod strict;

use std::time::Duration;

use axum::{
    body::Body,
    extract::{FromRequest, Request},
};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header, request::Parts};
use http_body_util::BodyExt as _;
use rookery_domain::{Error, Result, limits::Limits, text::quoted};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::time::{Instant, timeout_at};
use utoipa::ToSchema;

use crate::{
    error::ApiError,
    http::{
        auth::recheck, body::budget::BodyShare, client::RequestContext, single_header::SingleHeader,
    },
    state::{AppState, State},
};

/// Bytes of JSON around what a limit counts: member names, punctuation, escapes of a row's data.
const ENVELOPE_BYTES: usize = 16 << 10;
/// JSON may need six bytes for one (`\u0041`).
const ESCAPE_FACTOR: usize = 6;
/// Bytes of a body that only carries names, codes and flags.
const SMALL_BYTES_MAX: usize = 32 << 10;
/// Bytes of a body that must come in each second, once the time that any body has is over.
const BYTES_PER_S_MIN: usize = 32 << 10;
/// Bytes of a whole batch, however large its rows may be alone.
const BATCH_BYTES_MAX: usize = 8 << 20;
/// What clients call the encoding of JSON: its name, and the label that many use for it.
const UTF_8: [&str; 2] = ["utf-8", "utf8"];

/// What some editors put in front of a text in UTF-8 (RFC 8259, section 8.1).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How large a request's body may be: each request type names its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyBound {
    /// Names, codes, flags.
    Small,
    /// One row.
    Row,
    /// Many rows.
    Batch,
    /// A custom event.
    Event,
    /// An app: document, manifest, assets, first rows.
    Deploy,
}

impl BodyBound {
    /// The bound in bytes. It is generous: the exact limit of what is inside is the rules' to
    /// check, with its own code.
    #[must_use]
    pub const fn bytes_max(self, limits: &Limits) -> usize {
        match self {
            Self::Small => SMALL_BYTES_MAX,
            Self::Row => json_bytes(limits.row_bytes_max),
            Self::Batch => BATCH_BYTES_MAX,
            Self::Event => json_bytes(limits.max_event_data_bytes),
            // Assets may be base64, four bytes for three.
            Self::Deploy => limits
                .html_bytes_max
                .saturating_add(limits.asset_bytes_max)
                .saturating_add(limits.max_manifest_bytes)
                .saturating_mul(2)
                .saturating_add(BATCH_BYTES_MAX),
        }
    }
}

/// A longer body is parsed beside the threads that serve requests.
const INLINE_BYTES_MAX: usize = 128 << 10;

/// Bytes of JSON that may hold a value of `bytes`.
const fn json_bytes(bytes: usize) -> usize {
    bytes.saturating_mul(ESCAPE_FACTOR).saturating_add(ENVELOPE_BYTES)
}

/// A request body of the API.
pub trait RequestBody: DeserializeOwned + Send + 'static {
    /// How large it may be.
    const BOUND: BodyBound;

    /// What its members' types do not say: bounds, and members that exclude each other.
    ///
    /// # Errors
    /// `invalid_request` or `payload_too_large`, naming the member.
    fn check(&self, _: &Limits) -> Result<()> {
        Ok(())
    }
}

/// A JSON body, read strictly. It runs last among a handler's extractors, so credentials and the
/// app are checked before a byte of it is read.
#[derive(Debug, Clone, Copy)]
pub struct StrictJson<T>(pub T);

impl<T: RequestBody> FromRequest<AppState> for StrictJson<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        let ExactJson { value, .. } = ExactJson::from_request(request, state).await?;
        Ok(Self(value))
    }
}

/// As [`StrictJson`], with the bytes as they came: a repeated request is known by them.
#[derive(Debug, Clone)]
pub struct ExactJson<T> {
    /// What the body says.
    pub value: T,
    /// The body.
    pub bytes: Bytes,
}

impl<T: RequestBody> FromRequest<AppState> for ExactJson<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        require_json(&parts.headers)?;
        let (bytes, share) = read(&mut parts, body, T::BOUND, state).await?;
        let value: T = if bytes.len() <= INLINE_BYTES_MAX {
            parse(&bytes)?
        } else {
            let bytes = bytes.clone();
            state.reading.run(share.network(), move || parse(&bytes)).await??
        };
        value.check(&state.config.limits)?;
        Ok(Self { value, bytes })
    }
}

/// A JSON body that may be left out, or be `{}`, when everything in it may be.
#[derive(Debug, Clone, Copy)]
pub struct OptionalJson<T>(pub T);

impl<T: RequestBody + Default> FromRequest<AppState> for OptionalJson<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let (bytes, _share) = read(&mut parts, body, T::BOUND, state).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        require_json(&parts.headers)?;
        let value: T = parse(&bytes)?;
        value.check(&state.config.limits)?;
        Ok(Self(value))
    }
}

/// The body of a request that has nothing to say: none, or `{}`.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

impl RequestBody for Nothing {
    const BOUND: BodyBound = BodyBound::Small;
}

impl FromRequest<AppState> for Nothing {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        OptionalJson::from_request(request, state).await.map(|OptionalJson(nothing)| nothing)
    }
}

/// A body as it came, read within the bounds of `bound`, and what it holds of the bytes that the
/// server has for bodies. Whoever let it wait for the body is asked for its permission again.
///
/// # Errors
/// `payload_too_large`; `invalid_request` for a body that breaks off or comes too slowly; those of
/// [`BodyShare::grow`] and of [`recheck::check`].
pub async fn read(
    parts: &mut Parts,
    body: Body,
    bound: BodyBound,
    state: &AppState,
) -> Result<(Bytes, BodyShare), ApiError> {
    let context = parts.extensions.get::<RequestContext>();
    let share = context.ok_or_else(Error::internal)?.body_share(&state.bodies);
    let bytes_max = bound.bytes_max(&state.config.limits);
    let read = read_within(&parts.headers, share, body, bytes_max, state).await?;
    recheck::check(parts, state).await?;
    Ok(read)
}

/// The same for a body of `max` bytes at most, which is counted in `share`.
///
/// # Errors
/// As [`read`].
pub async fn read_within(
    headers: &HeaderMap,
    share: BodyShare,
    body: Body,
    max: usize,
    state: &State,
) -> Result<(Bytes, BodyShare)> {
    coding::require_none(headers)?;
    let announced = headers.get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > max as u64) {
        return Err(Error::body_too_large(max));
    }
    let patience = Duration::from_secs(state.config.server.body_timeout_s);
    collect(body, max, share, patience).await
}

/// The body, for which its client has `patience`, and a second more for each [`BYTES_PER_S_MIN`] that
/// have come: a large one may come over a slow line.
async fn collect(
    mut body: Body,
    max: usize,
    mut share: BodyShare,
    patience: Duration,
) -> Result<(Bytes, BodyShare)> {
    let began = Instant::now();
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    loop {
        let earned = Duration::from_secs(((first.len() + whole.len()) / BYTES_PER_S_MIN) as u64);
        let frame = timeout_at(began + patience + earned, body.frame()).await;
        let Some(frame) = frame.map_err(|_| too_slow(patience))? else { break };
        let frame = frame.map_err(|_| Error::invalid("the request body broke off"))?;
        // Trailers say nothing here.
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + whole.len() + data.len() > max {
            return Err(Error::body_too_large(max));
        }
        share.grow(data.len())?;
        if first.is_empty() && whole.is_empty() {
            // Most bodies are one frame, which need not be copied.
            first = data;
            continue;
        }
        whole.extend_from_slice(&std::mem::take(&mut first));
        whole.extend_from_slice(&data);
    }
    let bytes = if whole.is_empty() { first } else { whole.freeze() };
    Ok((bytes, share))
}

fn too_slow(patience: Duration) -> Error {
    let (seconds, kib) = (patience.as_secs(), BYTES_PER_S_MIN >> 10);
    Error::invalid(format!(
        "the request body came too slowly: it has {seconds} s, and one more for each {kib} KiB"
    ))
    .with_hint("Send it over a faster line, or less of it; a deploy is smallest as a zip archive.")
}

/// Refuses a body that does not call itself JSON, once, in UTF-8 (RFC 8259, section 8.1).
///
/// # Errors
/// `invalid_request`, naming `Content-Type`.
pub fn require_json(headers: &HeaderMap) -> Result<()> {
    let text = SingleHeader::of(headers, header::CONTENT_TYPE).text();
    let mut parts = text.unwrap_or_default().split(';').map(str::trim);
    if !parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        let sent = sent_type(headers);
        return Err(Error::invalid(format!("Content-Type: must be application/json, {sent}")));
    }
    let is_foreign = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let value = value.trim_matches('"');
        name.eq_ignore_ascii_case("charset")
            && !UTF_8.iter().any(|label| value.eq_ignore_ascii_case(label))
    };
    if parts.any(is_foreign) {
        let sent = sent_type(headers);
        return Err(Error::invalid(format!("Content-Type: charset must be utf-8, {sent}")));
    }
    Ok(())
}

/// What a request says instead of the `Content-Type` that it must have: the end of a refusal.
#[must_use]
pub fn sent_type(headers: &HeaderMap) -> String {
    match SingleHeader::of(headers, header::CONTENT_TYPE) {
        SingleHeader::Absent => "and there is none".to_owned(),
        SingleHeader::Once(sent) => {
            format!("not {}", quoted(&String::from_utf8_lossy(sent.as_bytes())))
        }
        SingleHeader::Repeated => "and there are several".to_owned(),
    }
}

/// Reads `bytes` as a `T`, strictly.
///
/// # Errors
/// `invalid_request`, naming the member.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    if bytes.is_empty() {
        return Err(Error::invalid("body: a JSON object is needed"));
    }
    if bytes.starts_with(BYTE_ORDER_MARK) {
        return Err(Error::invalid("body: begins with a byte order mark, which JSON has none of"));
    }
    // Serde would read an array as the members of an object in their order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        rookery_domain::json::parse(bytes)?;
        return Err(Error::invalid("body: a JSON object is needed"));
    }
    rookery_domain::json::from_slice(bytes)
}
