//! The one place that turns a row of the error table into an HTTP answer (contract part 1).
//!
//! A handler returns [`ApiError`]. Its response carries the error itself; the envelope is written
//! at the boundary ([`Envelope`]), which alone knows the request id and where the reference is.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use rookery_domain::{Error, ErrorCode};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::{
    http::reply::{JSON, NO_STORE},
    openapi::shapes::AnyObject,
};

/// What is said of a path that no route has.
pub const UNKNOWN_PATH: &str = "nothing is at this path";

/// Seconds in `Retry-After` where the cause does not say.
const RETRY_AFTER_S_DEFAULT: u32 = 1;

/// What handlers answer.
pub type ApiResult<T> = Result<T, ApiError>;

/// An error on its way to the boundary.
#[derive(Debug, Clone)]
pub struct ApiError {
    /// The row of the table and what this request adds to it.
    pub error: Error,
    /// Seconds after which to try again, where the cause knows them.
    pub retry_after_s: Option<u32>,
}

impl ApiError {
    /// Says when to try again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(u32::try_from(seconds).unwrap_or(u32::MAX));
        self
    }

    /// The error that an answer carries, which takes it out: for who calls a route inside the
    /// process.
    #[must_use]
    pub fn take(response: &mut Response) -> Option<Self> {
        let Failure(failure) = response.extensions_mut().remove()?;
        Some(*failure)
    }

    /// `not_found`, for a path that no route has.
    #[must_use]
    pub fn unknown_path() -> Self {
        Error::new(ErrorCode::NotFound, UNKNOWN_PATH).into()
    }

    /// `method_not_allowed`; axum adds `Allow` from the routes of the path.
    #[must_use]
    pub fn unknown_verb() -> Self {
        Error::new(ErrorCode::MethodNotAllowed, "this path does not take this method").into()
    }

    /// Has a `method_not_allowed` say in words what `Allow` of its `response` says.
    fn name_verbs(&mut self, response: &Response) {
        let allowed = response.headers().get(header::ALLOW).and_then(|verbs| verbs.to_str().ok());
        if let (ErrorCode::MethodNotAllowed, Some(verbs)) = (self.error.code, allowed) {
            self.error.message = format!("this path takes {}", verbs.replace(',', ", "));
        }
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let details = error.details.as_deref();
        let retry_after_s = details.and_then(|details| details.get("retry_after_s")?.as_u64());
        let retry_after_s = retry_after_s.and_then(|seconds| seconds.try_into().ok());
        Self { error, retry_after_s }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status(self.error.code);
        response.extensions_mut().insert(Failure(Box::new(self)));
        response
    }
}

/// The error that a response carries to the boundary.
#[derive(Debug, Clone)]
struct Failure(Box<ApiError>);

/// What an answer failed with, for the log and the figures: the answer itself, envelope or page,
/// tells no cause.
#[derive(Debug, Clone)]
pub struct Told {
    /// The row of the table.
    pub code: ErrorCode,
    /// What failed beneath.
    pub cause: Option<Box<str>>,
}

impl Told {
    /// Takes what was noted, where the response tells of an error.
    #[must_use]
    pub fn take(response: &mut Response) -> Option<Self> {
        response.extensions_mut().remove()
    }
}

/// Says on `response`, envelope or page, what every answer with this error says: when to try again;
/// and, to the log and the figures alone, what failed.
pub fn tell(failed: &ApiError, response: &mut Response) {
    let ApiError { error, retry_after_s } = failed;
    let told = Told { code: error.code, cause: error.cause.clone() };
    response.extensions_mut().insert(told);
    if error.code.retryable() && !response.headers().contains_key(header::RETRY_AFTER) {
        let seconds = retry_after_s.unwrap_or(RETRY_AFTER_S_DEFAULT);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
}

/// The status of `code`. Every row of the table holds a valid one.
#[must_use]
pub fn status(code: ErrorCode) -> StatusCode {
    StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The body of every error answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorEnvelope {
    /// What went wrong.
    pub error: ErrorBody,
}

/// What went wrong, for programs (`code`, `retryable`) and for people.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBody {
    /// A stable code of the error reference.
    #[schema(value_type = String, example = "invalid_request")]
    pub code: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong with this request: names the field, collection or value.
    pub message: String,
    /// What the code means and what to do about it.
    #[schema(value_type = String)]
    pub hint: &'static str,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// The code's entry in the error reference.
    pub docs_url: String,
    /// The id of this request, as in `X-Request-Id`.
    // Left out of a batch's entry, whose schema is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = true)]
    pub request_id: Option<String>,
    /// More about this request, for codes that have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<AnyObject>)]
    pub details: Option<Box<RawValue>>,
    /// The subjects that were consulted, for role refusals.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub required: Option<Box<[String]>>,
}

/// Writes envelopes: knows the address of the error reference.
#[derive(Debug, Clone)]
pub struct Envelope {
    docs_url: String,
}

impl Envelope {
    /// Envelopes whose `docs_url` begins with `docs_url` (no slash at the end).
    #[must_use]
    pub const fn new(docs_url: String) -> Self {
        Self { docs_url }
    }

    /// Gives `response` its body, if it carries an error.
    pub fn seal(&self, response: &mut Response, request_id: &HeaderValue) {
        let Some(mut failed) = ApiError::take(response) else { return };
        failed.name_verbs(response);
        tell(&failed, response);
        let envelope = ErrorEnvelope { error: self.body(&failed.error, Some(request_id)) };
        // Serializing strings and what is JSON already cannot fail.
        let body = serde_json::to_vec(&envelope).unwrap_or_default();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, JSON);
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        // Below /v1 every answer has it; what an app's own origin refuses is not to be kept either.
        headers.entry(header::CACHE_CONTROL).or_insert(NO_STORE);
        *response.body_mut() = Body::from(body);
    }

    /// The entry of `code` in the error reference.
    #[must_use]
    pub fn docs_url(&self, code: ErrorCode) -> String {
        format!("{}/reference/errors#{code}", self.docs_url)
    }

    /// What is told of an error: in an envelope with the id of its request, and without it of one
    /// entry of a batch, whose request has not failed.
    #[must_use]
    pub fn body(&self, error: &Error, request_id: Option<&HeaderValue>) -> ErrorBody {
        // What is JSON already is a raw value.
        let details = error.details_json().and_then(|json| RawValue::from_string(json).ok());
        let code = error.code;
        ErrorBody {
            code: code.as_str(),
            status: code.status(),
            message: error.message.clone(),
            hint: error.hint.unwrap_or_else(|| code.hint()),
            retryable: code.retryable(),
            docs_url: self.docs_url(code),
            request_id: request_id.map(|id| id.to_str().unwrap_or_default().to_owned()),
            details,
            required: error.required.clone(),
        }
    }
}
