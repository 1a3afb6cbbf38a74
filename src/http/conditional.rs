//! Conditional requests (RFC 9110, 13): the conditions of a read against an answer's strong entity
//! tag, and `If-Match` of a write as the state of a row.

use axum::{
    body::Body,
    extract::FromRequestParts,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use rookery_domain::{Error, Result, if_match::IfMatch};

use crate::{
    error::ApiError,
    http::reply::RawJson,
    pages::assets::{is_held, strong_etag},
    state::AppState,
};

/// An answer in JSON with a strong entity tag; see [`with_etag`].
pub fn tagged(body: String) -> Response {
    let etag = strong_etag(body.as_bytes());
    with_etag(&etag, RawJson(body).into_response())
}

/// `response` with its entity tag (with its quotes). Whether the caller has it already is looked at
/// by the boundary ([`ReadConditions::apply_to`]).
pub fn with_etag(etag: &str, mut response: Response) -> Response {
    let Ok(value) = HeaderValue::try_from(etag) else {
        return ApiError::from(Error::internal()).into_response();
    };
    let headers = response.headers_mut();
    headers.insert(header::ETAG, value);
    // May be kept, but only by the caller, and only to ask again.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

/// The tags of `If-None-Match`.
#[derive(Debug, Clone, Default)]
pub struct IfNoneMatch(Vec<HeaderValue>);

impl FromRequestParts<AppState> for IfNoneMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        Ok(Self::of(&parts.headers))
    }
}

impl IfNoneMatch {
    /// The tags of a request.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        Self(headers.get_all(header::IF_NONE_MATCH).iter().cloned().collect())
    }

    /// Makes a whole answer to a read a 304, when the caller has it already. No 304 says how long
    /// it is: that would be the length of the whole answer (RFC 9110, 8.6).
    pub fn apply_to(&self, response: &mut Response) {
        let etag = response.headers().get(header::ETAG).and_then(|etag| etag.to_str().ok());
        let held = etag.is_some_and(|etag| self.holds(etag));
        if held && response.status() == StatusCode::OK {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Body::empty();
            response.headers_mut().remove(header::CONTENT_TYPE);
        }
        if response.status() == StatusCode::NOT_MODIFIED {
            response.headers_mut().remove(header::CONTENT_LENGTH);
        }
    }

    /// Whether the request carries no tag.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the request names tags. With `*` any answer is held, as soon as it is known that there is one.
    #[must_use]
    pub fn names_tags(&self) -> bool {
        !self.is_empty() && !self.holds("")
    }

    /// Whether the caller already has what `etag` (with its quotes) stands for.
    #[must_use]
    pub fn holds(&self, etag: &str) -> bool {
        is_held(&self.0, etag)
    }

    /// 304 when the caller has this answer already, else the answer that `make` builds; both with
    /// the tag.
    pub fn answer(&self, etag: &str, make: impl FnOnce() -> Response) -> Response {
        let response = match self.holds(etag) {
            true => StatusCode::NOT_MODIFIED.into_response(),
            false => make(),
        };
        with_etag(etag, response)
    }
}

/// The conditions of a request that changes nothing.
#[derive(Debug)]
pub struct ReadConditions {
    if_match: Vec<HeaderValue>,
    if_none_match: IfNoneMatch,
}

impl ReadConditions {
    /// Those of a request, if it is a read and has any.
    #[must_use]
    pub fn of(method: &Method, headers: &HeaderMap) -> Option<Self> {
        if !method.is_safe() {
            return None;
        }
        let if_match: Vec<_> = headers.get_all(header::IF_MATCH).iter().cloned().collect();
        let if_none_match = IfNoneMatch::of(headers);
        let none = if_match.is_empty() && if_none_match.is_empty();
        (!none).then_some(Self { if_match, if_none_match })
    }

    /// Holds the answer's entity tag, if it has one, against both, `If-Match` first (RFC 9110, 13.2.2).
    /// One that `If-Match` does not name is not sent, but what it is `refused` with.
    pub fn apply_to(&self, response: &mut Response, refused: impl FnOnce(Error) -> Response) {
        match self.refusal(response) {
            Some(refusal) => {
                let mut refused = refused(refusal);
                // What the boundary is to know of the answer holds for this one.
                let mut known = std::mem::take(response.extensions_mut());
                known.extend(std::mem::take(refused.extensions_mut()));
                *refused.extensions_mut() = known;
                *response = refused;
            }
            None => self.if_none_match.apply_to(response),
        }
    }

    fn refusal(&self, response: &Response) -> Option<Error> {
        if self.if_match.is_empty() {
            return None;
        }
        // An error and a redirect have none.
        let etag = response.headers().get(header::ETAG)?.to_str().ok()?;
        match if_match(&self.if_match) {
            Ok(condition) => condition?.check_etag(etag).err(),
            Err(malformed) => Some(malformed),
        }
    }
}

/// What lines of `If-Match`, at least one, say together: nothing for `*`.
fn if_match<'a>(lines: impl IntoIterator<Item = &'a HeaderValue>) -> Result<Option<IfMatch>> {
    let lines: Result<Vec<_>, _> = lines.into_iter().map(HeaderValue::to_str).collect();
    let lines = lines.map_err(|_| Error::invalid("If-Match: must be visible characters"))?;
    IfMatch::of_header(&lines.join(", "))
}

/// What `If-Match` demands of a row's version; nothing without the header, and for `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IfMatchHeader(pub Option<IfMatch>);

impl FromRequestParts<AppState> for IfMatchHeader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        if !parts.headers.contains_key(header::IF_MATCH) {
            return Ok(Self(None));
        }
        Ok(Self(if_match(parts.headers.get_all(header::IF_MATCH))?))
    }
}
