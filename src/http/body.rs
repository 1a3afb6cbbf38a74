//! Request bodies: bounded in bytes and in time, strict JSON, unknown members refused by name.

use std::time::Duration;

use axum::{
    body::Body,
    extract::{FromRequest, Request},
};
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body_util::{BodyExt as _, Limited};
use rookery_domain::{Error, ErrorCode, Result, limits::Limits};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::{error::ApiError, state::AppState};

/// Bytes of JSON around what a limit counts: member names, punctuation, escapes of a row's data.
const ENVELOPE_BYTES: usize = 16 << 10;
/// JSON may need six bytes for one (`\u0041`).
const ESCAPE_FACTOR: usize = 6;
/// Bytes of a body that only carries names, codes and flags.
const SMALL_BYTES_MAX: usize = 32 << 10;
/// Bytes of a whole batch, however large its rows may be alone.
const BATCH_BYTES_MAX: usize = 8 << 20;

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

/// Bytes of JSON that may hold a value of `bytes`.
const fn json_bytes(bytes: usize) -> usize {
    bytes.saturating_mul(ESCAPE_FACTOR).saturating_add(ENVELOPE_BYTES)
}

/// A request body of the API.
pub trait RequestBody: DeserializeOwned {
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
        let (parts, body) = request.into_parts();
        require_json(&parts.headers)?;
        let bytes = read(&parts.headers, body, T::BOUND, state).await?;
        let value: T = parse(&bytes)?;
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
        let (parts, body) = request.into_parts();
        let bytes = read(&parts.headers, body, T::BOUND, state).await?;
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

/// A body as it came, read within the bounds of `bound`.
///
/// # Errors
/// `payload_too_large`; `invalid_request` for a body that breaks off or comes too slowly.
pub async fn read(
    headers: &HeaderMap,
    body: Body,
    bound: BodyBound,
    state: &AppState,
) -> Result<Bytes> {
    let max = bound.bytes_max(&state.config.limits);
    let too_large = || {
        let message = format!("the request body is larger than {max} bytes");
        Error::new(ErrorCode::PayloadTooLarge, message)
    };
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if announced.and_then(|text| text.parse::<u64>().ok()).is_some_and(|n| n > max as u64) {
        return Err(too_large());
    }
    let seconds = state.config.server.body_timeout_s;
    let collected = timeout(Duration::from_secs(seconds), Limited::new(body, max).collect()).await;
    match collected {
        Err(_) => Err(Error::invalid(format!("the request body took longer than {seconds} s"))),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Error::invalid("the request body broke off")),
    }
}

/// Refuses a body that does not call itself JSON.
///
/// # Errors
/// `invalid_request`, naming `Content-Type`.
pub fn require_json(headers: &HeaderMap) -> Result<()> {
    let declared = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = declared.and_then(|text| text.split(';').next()).map(str::trim);
    match essence {
        Some(kind) if kind.eq_ignore_ascii_case("application/json") => Ok(()),
        _ => Err(Error::invalid("Content-Type: must be application/json")),
    }
}

/// A member whose absence and whose `null` mean different things: with `#[serde(default)]`, `None`
/// is absent and `Some(None)` is `null`.
///
/// # Errors
/// Those of `T`.
pub fn nullable<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Reads `bytes` as a `T`, strictly.
///
/// # Errors
/// `invalid_request`, naming the member.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    if bytes.is_empty() {
        return Err(Error::invalid("body: a JSON object is needed"));
    }
    // Serde would read an array as the members of an object in their order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        rookery_domain::json::parse(bytes)?;
        return Err(Error::invalid("body: a JSON object is needed"));
    }
    rookery_domain::json::from_slice(bytes)
}
