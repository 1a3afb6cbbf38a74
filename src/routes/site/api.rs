//! The API as the site's pages use it: the same routes, called inside the process.
//!
//! A page is a client of the API. What it asks for goes through the very handlers, permissions and
//! checks that a request from outside goes through, with the session and the `Origin` of the
//! request that the page is made for; so there is no second set of rules, and nothing that a page
//! may do and its human may not. What is not here: what the answers look like on a page.

use axum::{Router, body::Body, extract::FromRequestParts, response::Response};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header, request::Parts,
};
use http_body_util::{BodyExt as _, Limited};
use rookery_domain::Error;
use serde::{Serialize, de::DeserializeOwned};
use tower::ServiceExt as _;

use super::{form_token::FormToken, records::List};
use crate::{
    error::{ApiError, ApiResult},
    http::{client::RequestContext, edge::metering, idempotency, reply::JSON},
    state::AppState,
};

/// Bytes of an answer that a page takes: a full page of the largest rows fits.
const ANSWER_BYTES_MAX: usize = 32 << 20;

/// Items of a page of a list that is read whole: as many as the API gives.
const PAGE_ITEMS_MAX: usize = 200;

/// What of the browser's request goes along: who it is, and that it came from this site.
const PASSED_ON: &[HeaderName] = &[header::COOKIE, header::ORIGIN, header::REFERER];

/// The routes that a page may call. The boundary puts them into the requests of pages.
#[derive(Debug, Clone)]
pub struct InnerRoutes(pub Router);

/// What a form made, or had made when it was sent before: that comes without a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Made<T> {
    /// By this request.
    Now(T),
    /// By an earlier one.
    Before(T),
}

impl<T> Made<T> {
    /// It, whichever request made it.
    pub fn made(self) -> T {
        let (Self::Now(made) | Self::Before(made)) = self;
        made
    }

    /// The same about something else.
    pub fn map<U>(self, of: impl FnOnce(T) -> U) -> Made<U> {
        match self {
            Self::Now(made) => Made::Now(of(made)),
            Self::Before(made) => Made::Before(of(made)),
        }
    }
}

/// The API, for whoever looks at a page.
#[derive(Debug, Clone)]
pub struct Api {
    routes: Router,
    headers: HeaderMap,
    context: RequestContext,
}

impl FromRequestParts<AppState> for Api {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let context = RequestContext::from_request_parts(parts, state).await?;
        let context = RequestContext { of_page: true, ..context };
        let InnerRoutes(routes) =
            parts.extensions.get::<InnerRoutes>().cloned().ok_or_else(Error::internal)?;
        let mut headers = HeaderMap::new();
        for name in PASSED_ON {
            for value in parts.headers.get_all(name) {
                headers.append(name, value.clone());
            }
        }
        Ok(Self { routes, headers, context })
    }
}

impl Api {
    /// The same API for an agent: its key in place of the human's session.
    ///
    /// # Errors
    /// `internal`, for a key that is no header's value; none is.
    pub fn with_key(&self, secret: &str) -> ApiResult<Self> {
        let value = HeaderValue::from_str(&format!("Bearer {secret}"));
        let mut value = value.map_err(|_| Error::internal())?;
        value.set_sensitive(true);
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
        Ok(Self { headers, ..self.clone() })
    }

    /// Reads what is at `path`.
    ///
    /// # Errors
    /// What the route answers.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> ApiResult<T> {
        self.read(self.call(Method::GET, path, Body::empty()).await?).await
    }

    /// The same, but `None` where the caller may not, or where nothing is.
    ///
    /// # Errors
    /// Any other answer of the route.
    pub async fn get_if_allowed<T: DeserializeOwned>(&self, path: &str) -> ApiResult<Option<T>> {
        match self.get(path).await {
            Ok(found) => Ok(Some(found)),
            Err(failed) if matches!(failed.error.code.status(), 403 | 404) => Ok(None),
            Err(failed) => Err(failed),
        }
    }

    /// The items of the list at `path`, of its first `pages_max` pages.
    ///
    /// # Errors
    /// What the route answers.
    pub async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        pages_max: usize,
    ) -> ApiResult<Vec<T>> {
        let (mut items, mut cursor) = (Vec::new(), String::new());
        for _ in 0..pages_max {
            let path = format!("{path}?limit={PAGE_ITEMS_MAX}{cursor}");
            let page: List<T> = self.get(&path).await?;
            items.extend(page.items);
            let Some(next) = page.next_cursor else { break };
            cursor = format!("&cursor={next}");
        }
        Ok(items)
    }

    /// Sends `body` and reads the answer.
    ///
    /// # Errors
    /// What the route answers.
    pub async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> ApiResult<T> {
        let body = serde_json::to_vec(body).map_err(|_| Error::internal())?;
        self.read(self.call(method, path, Body::from(body)).await?).await
    }

    /// Makes something new, once for this form: a route that takes `Idempotency-Key`; `None` where what
    /// the route answers was there before.
    ///
    /// # Errors
    /// What the route answers.
    pub async fn create<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        form: &FormToken,
    ) -> ApiResult<Option<T>> {
        let response = self.post_once(path, body, form).await?;
        if response.status() != StatusCode::CREATED {
            return Ok(None);
        }
        self.read(response).await.map(Some)
    }

    /// Makes something, or a secret of it, once for this form: a route that takes `Idempotency-Key`.
    ///
    /// # Errors
    /// What the route answers.
    pub async fn make<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        form: &FormToken,
    ) -> ApiResult<Made<T>> {
        let response = self.post_once(path, body, form).await?;
        let before = response.headers().contains_key(idempotency::REPLAYED);
        let made = self.read(response).await?;
        Ok(if before { Made::Before(made) } else { Made::Now(made) })
    }

    async fn post_once(
        &self,
        path: &str,
        body: &impl Serialize,
        form: &FormToken,
    ) -> ApiResult<Response> {
        let mut keyed = self.clone();
        if let Some(key) = form.key(body)? {
            keyed.headers.insert(idempotency::HEADER, key);
        }
        let body = serde_json::to_vec(body).map_err(|_| Error::internal())?;
        keyed.call(Method::POST, path, Body::from(body)).await
    }

    /// Does something without a body whose answer no page shows.
    ///
    /// # Errors
    /// What the route answers.
    pub async fn act(&self, method: Method, path: &str) -> ApiResult<()> {
        self.call(method, path, Body::empty()).await.map(drop)
    }

    /// One request. Its bytes are the page's, not the app's.
    async fn call(&self, method: Method, path: &str, body: Body) -> ApiResult<Response> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().map_err(|_| {
            // No name that a route has makes such a path.
            ApiError::unknown_path()
        })?;
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().insert(header::CONTENT_TYPE, JSON);
        request.extensions_mut().insert(self.context.clone());
        let routes = self.routes.clone();
        let answered = async {
            match routes.oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        };
        let (mut response, _) = metering::run(answered).await;
        match ApiError::take(&mut response) {
            Some(failed) => Err(failed),
            None => Ok(response),
        }
    }

    async fn read<T: DeserializeOwned>(&self, response: Response) -> ApiResult<T> {
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
        let bytes = body.map_err(|_| Error::internal())?.to_bytes();
        // 204 has no body, which reads as nothing at all.
        let text: &[u8] = if bytes.is_empty() { b"null" } else { &bytes };
        serde_json::from_slice(text).map_err(|error| {
            tracing::error!(%error, "a page does not understand an answer of the API");
            Error::internal().into()
        })
    }
}
