//! The shapes of success: a list page, 201 with `Location`, 303, raw JSON that is already text, an event
//! stream.

use std::convert::Infallible;

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};
use futures::{Stream, StreamExt as _};
use http::{HeaderName, HeaderValue, StatusCode, header};
use rookery_domain::{Error, Result};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{error::ApiError, http::conditional};

/// Of `Content-Type`: JSON.
pub const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Of `Cache-Control`: nobody keeps the answer.
pub const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// The media type of an event stream.
pub const EVENT_STREAM: &str = "text/event-stream";
/// Tells nginx and its like not to hold a stream back.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The JSON of a record of ours, all of which serialize.
#[must_use]
pub fn to_json(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

/// 303: sends the browser on to `location`.
///
/// # Errors
/// `internal` where that is no header's text.
pub fn see_other(location: &str) -> Result<Response> {
    let location = HeaderValue::from_str(location).map_err(|_| Error::internal())?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response())
}

/// An event stream (WHATWG HTML, "Server-sent events") of these frames.
pub fn event_stream(frames: impl Stream<Item = String> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(frames.map(Ok::<_, Infallible>)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

/// One page of a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Page<T> {
    /// The items, in the list's order.
    pub items: Vec<T>,
    /// Leads to the next page; null on the last one.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

impl<T: Serialize> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        match serde_json::to_string(&self) {
            Ok(body) => conditional::tagged(body),
            Err(_) => ApiError::from(Error::internal()).into_response(),
        }
    }
}

/// 201 with the record that was made and where it is.
#[derive(Debug, Clone)]
pub struct Created<T> {
    /// The path of the record, for `Location`.
    pub location: String,
    /// The record.
    pub record: T,
}

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        let mut response = (StatusCode::CREATED, Json(self.record)).into_response();
        // A path of ids, slugs and percent-encoded keys is a valid header value.
        if let Ok(location) = HeaderValue::try_from(self.location) {
            response.headers_mut().insert(header::LOCATION, location);
        }
        response
    }
}

/// An answer whose JSON is text already.
#[derive(Debug, Clone)]
pub struct RawJson(pub String);

impl IntoResponse for RawJson {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.0));
        response.headers_mut().insert(header::CONTENT_TYPE, JSON);
        response
    }
}
