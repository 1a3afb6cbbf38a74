//! `Idempotency-Key` (contract part 1): the header, the answer that is given once, and the one that is
//! given again. Whoever does what is asked remembers it.

use std::{future::Future, sync::Arc};

use axum::{
    Json,
    body::Body,
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use http::{HeaderName, HeaderValue, StatusCode, header, request::Parts};
use rookery_domain::{
    Error, Principal, Result,
    idempotency::{Idempotent, IdempotentRequest, Kept, StoredResponse},
};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use utoipa::{
    IntoParams,
    openapi::{
        ObjectBuilder, Type,
        path::{Parameter, ParameterIn},
    },
};

use crate::{
    error::{ApiError, ApiResult},
    http::{
        params::optional_header,
        reply::{self, Created, JSON},
        single_header::SingleHeader,
    },
    state::AppState,
};

/// The header of a request.
pub const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
/// The header of an answer that was given before.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Longest key, in characters.
const LEN_MAX: usize = 255;

/// The caller's key for this request, if it sent one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(pub Option<String>);

impl IntoParams for IdempotencyKey {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let what = "The same key and body within 24 hours answer as the first time, with \
                    `Idempotent-Replayed: true`. Other bodies are `conflict`. A refusal is not \
                    kept, nor a visitor's answer when nothing was written.";
        let mut key = optional_header("Idempotency-Key", what);
        let text = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1));
        key.schema = Some(text.max_length(Some(LEN_MAX)).into());
        vec![key]
    }
}

impl FromRequestParts<AppState> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        let value = match SingleHeader::of(&parts.headers, HEADER) {
            SingleHeader::Absent => return Ok(Self(None)),
            SingleHeader::Once(value) => value,
            SingleHeader::Repeated => {
                return Err(Error::invalid("Idempotency-Key: is there twice").into());
            }
        };
        let key = value.to_str().ok().filter(|key| (1..=LEN_MAX).contains(&key.len()));
        let key = key.ok_or_else(|| {
            Error::invalid(format!("Idempotency-Key: must be 1 to {LEN_MAX} printable characters"))
        })?;
        Ok(Self(Some(key.to_owned())))
    }
}

impl IdempotencyKey {
    /// What makes the request of `principal` the same one again; nothing, when it has no key. `what` is
    /// its route (verb and path), with the ids that are in it.
    #[must_use]
    pub fn request(
        self,
        principal: Principal,
        what: &[&str],
        body: &impl Serialize,
    ) -> Option<IdempotentRequest> {
        self.request_hashed(principal, what, || hash_json(body))
    }

    /// As [`Self::request`], for a body that is told from others by a hash of its own.
    #[must_use]
    pub fn request_hashed(
        self,
        principal: Principal,
        what: &[&str],
        body_hash: impl FnOnce() -> [u8; 32],
    ) -> Option<IdempotentRequest> {
        let key = self.0?;
        Some(IdempotentRequest::new(principal, &[what, &[&key]].concat(), body_hash()))
    }
}

/// The response that was given before.
#[must_use]
pub fn replay(StoredResponse { status, location, body }: StoredResponse) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, JSON);
    if let Some(location) = location.and_then(|path| HeaderValue::try_from(path).ok()) {
        headers.insert(header::LOCATION, location);
    }
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

/// SHA-256 of a body as it was understood: spaces and the order of members make no difference.
#[must_use]
pub fn hash_json(body: &impl Serialize) -> [u8; 32] {
    Sha256::digest(reply::to_json(body)).into()
}

/// A record that may hold a secret, which is shown once and never kept.
pub trait ShownOnce: Serialize {
    /// The record as it may be kept.
    #[must_use]
    fn without_secrets(self) -> Self;
}

/// How a request is answered the first time: 201 with the path of what it made, 200 where that was
/// there before.
#[derive(Debug)]
pub struct Answer<R> {
    /// The path of the record that was made, for `Location`.
    pub location: Option<String>,
    /// The record.
    pub record: R,
}

impl<R> From<Created<R>> for Answer<R> {
    fn from(Created { location, record }: Created<R>) -> Self {
        Self { location: Some(location), record }
    }
}

impl<R: Serialize> IntoResponse for Answer<R> {
    fn into_response(self) -> Response {
        let Self { location, record } = self;
        match location {
            Some(location) => Created { location, record }.into_response(),
            None => Json(record).into_response(),
        }
    }
}

impl<R: ShownOnce> Answer<R> {
    fn kept(self) -> StoredResponse {
        let Self { location, record } = self;
        let status = if location.is_some() { StatusCode::CREATED } else { StatusCode::OK };
        let body = reply::to_json(&record.without_secrets());
        StoredResponse { status: status.as_u16(), location, body }
    }
}

/// Answers a request once: with what it did, as `shown`; when it comes again the same, without
/// secrets. `ask` has it done by whoever remembers the answer: the app, of what its actor decides;
/// `Control`, of a new app; the directory, of everything else.
///
/// # Errors
/// `conflict`, when the key was used with another body; whatever else `ask` answers.
pub async fn answer_once<T, A, R, F>(
    shown: impl Fn(&T) -> A + Send + Sync + 'static,
    ask: impl FnOnce(Kept<T>) -> F,
) -> ApiResult<Response>
where
    A: Into<Answer<R>>,
    R: ShownOnce,
    F: Future<Output = Result<Idempotent<T>>>,
{
    Ok(match ask_once(shown, ask).await? {
        Idempotent::Fresh(answer) => answer.into_response(),
        Idempotent::Replayed(kept) => replay(kept),
    })
}

/// As [`answer_once`], for a handler that completes the answer that is given again.
///
/// # Errors
/// Those of [`answer_once`].
pub async fn ask_once<T, A, R, F>(
    shown: impl Fn(&T) -> A + Send + Sync + 'static,
    ask: impl FnOnce(Kept<T>) -> F,
) -> Result<Idempotent<Answer<R>>>
where
    A: Into<Answer<R>>,
    R: ShownOnce,
    F: Future<Output = Result<Idempotent<T>>>,
{
    let shown = Arc::new(shown);
    let first = shown.clone();
    let kept = Box::new(move |done: &T| shown(done).into().kept());
    Ok(match ask(kept).await? {
        Idempotent::Fresh(done) => Idempotent::Fresh(first(&done).into()),
        Idempotent::Replayed(kept) => Idempotent::Replayed(kept),
    })
}
