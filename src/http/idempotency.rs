//! `Idempotency-Key` (contract part 1): the header, and the answer that is given again. Remembering
//! the answers of an app's routes is the app's, of everything else the directory's.

use std::future::Future;

use axum::{
    body::Body,
    extract::FromRequestParts,
    response::{IntoResponse as _, Response},
};
use http::{HeaderName, HeaderValue, StatusCode, header, request::Parts};
use rookery_domain::{
    Error, Principal, Result,
    idempotency::{Idempotent, IdempotentRequest, StoredResponse},
};
use rookery_storage::idempotency::KeepResponse;
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
        reply::{self, Created},
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
        let mut values = parts.headers.get_all(HEADER).iter();
        let Some(value) = values.next() else { return Ok(Self(None)) };
        if values.next().is_some() {
            return Err(Error::invalid("Idempotency-Key: is there twice").into());
        }
        let key = value.to_str().ok().filter(|key| (1..=LEN_MAX).contains(&key.len()));
        let key = key.ok_or_else(|| {
            Error::invalid(format!("Idempotency-Key: must be 1 to {LEN_MAX} printable characters"))
        })?;
        Ok(Self(Some(key.to_owned())))
    }
}

impl IdempotencyKey {
    /// What makes the request of `principal` at `route` (verb and path, with the ids that are in
    /// it) the same one again.
    #[must_use]
    pub fn request(
        self,
        principal: Principal,
        route: &str,
        body: &impl Serialize,
    ) -> Option<IdempotentRequest> {
        self.0.map(|key| IdempotentRequest::new(principal, &[route, &key], hash_json(body)))
    }
}

/// The response that was given before.
#[must_use]
pub fn replay(StoredResponse { status, location, body }: StoredResponse) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
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
    fn without_secrets(&self) -> Self;
}

/// A POST that creates something outside of any app.
#[derive(Debug)]
pub struct IdempotentPost<'a> {
    /// The caller's key, if it sent one.
    pub key: IdempotencyKey,
    /// Who asks.
    pub principal: Principal,
    /// Verb and path, with the ids that are in it.
    pub route: &'a str,
}

impl IdempotentPost<'_> {
    /// Answers 201 with what `make` made, as `shown`; the second time the same, without secrets.
    /// What was begun is done to its end, though the caller leaves.
    ///
    /// # Errors
    /// `conflict`, when the key was used with another body; whatever `make` refuses.
    pub async fn answer<T, R, F>(
        self,
        state: &AppState,
        body: &impl Serialize,
        shown: impl Fn(&T) -> Created<R> + Clone + Send + Sync + 'static,
        make: impl FnOnce(KeepResponse<T>) -> F + Send + 'static,
    ) -> ApiResult<Response>
    where
        T: Send + 'static,
        R: ShownOnce,
        F: Future<Output = Result<T>> + Send,
    {
        let Self { key, principal, route } = self;
        let request = key.request(principal, route, body);
        let first = shown.clone();
        let kept = move |made: &T| {
            let Created { location, record } = shown(made);
            StoredResponse {
                status: StatusCode::CREATED.as_u16(),
                location: Some(location),
                body: reply::to_json(&record.without_secrets()),
            }
        };
        match state.rooms.directory.idempotent(request, kept, make).await? {
            Idempotent::Fresh(made) => Ok(first(&made).into_response()),
            Idempotent::Replayed(kept) => Ok(replay(kept)),
        }
    }
}
