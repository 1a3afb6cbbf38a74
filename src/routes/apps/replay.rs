//! First answers of deploys, kept for an idempotency key and given again.

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, header};
use rookery_domain::{Error, Principal, Timestamp, id::AppId};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{error::ApiError, http::idempotency::mark_replayed};

/// How long a first answer is given again.
const KEPT_FOR_S: i64 = 24 * 60 * 60;

/// Answers from before this are forgotten.
#[must_use]
pub const fn not_before(now: Timestamp) -> Timestamp {
    now.plus_seconds(-KEPT_FOR_S)
}

/// What an idempotency key is good for: this caller, this route, this app.
#[must_use]
pub fn scope(principal: Principal, route: &str, app: Option<AppId>, key: &str) -> [u8; 32] {
    let app = app.map(|app| app.uuid().into_bytes()).unwrap_or_default();
    Sha256::new()
        .chain_update([principal.kind as u8])
        .chain_update(principal.id)
        .chain_update(app)
        .chain_update(route)
        .chain_update([0])
        .chain_update(key)
        .finalize()
        .into()
}

/// The answer that was given before.
#[must_use]
pub fn again(status: u16, location: Option<&str>, body: String) -> Response {
    let Ok(status) = StatusCode::from_u16(status) else {
        return ApiError::from(Error::internal(false)).into_response();
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(location) = location.and_then(|path| HeaderValue::try_from(path).ok()) {
        headers.insert(header::LOCATION, location);
    }
    mark_replayed(&mut response);
    response
}

/// The JSON of an answer to be kept. Records serialize.
#[must_use]
pub fn to_json(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}
