//! `Idempotency-Key` (contract part 1): the header, and the mark of a replayed answer. Remembering
//! answers is the store's.

use axum::{extract::FromRequestParts, response::Response};
use http::{HeaderName, HeaderValue, request::Parts};
use rookery_domain::Error;

use crate::{error::ApiError, state::AppState};

/// The header of a request.
pub const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
/// The header of an answer that was given before.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Longest key, in characters.
const LEN_MAX: usize = 255;

/// The caller's key for this request, if it sent one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(pub Option<String>);

impl FromRequestParts<AppState> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        let Some(value) = parts.headers.get(HEADER) else { return Ok(Self(None)) };
        let key = value.to_str().ok().filter(|key| (1..=LEN_MAX).contains(&key.len()));
        let key = key.ok_or_else(|| {
            Error::invalid(format!("Idempotency-Key: must be 1 to {LEN_MAX} printable characters"))
        })?;
        Ok(Self(Some(key.to_owned())))
    }
}

/// Marks `response` as given before.
pub fn mark_replayed(response: &mut Response) {
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
}
