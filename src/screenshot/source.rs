//! What the browser is shown of an app: its current version, and what anybody may read in it. It
//! looks without being a visitor: no view is counted, nobody's session is used, nothing is changed.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use axum::{Router, body::Body};
use futures::{FutureExt as _, future::BoxFuture};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use rookery_domain::app::AppRecord;
use tower::Service as _;
use url::Url;
use utoipa_axum::router::OpenApiRouter;

use super::browser::{PageSource, Served};
use crate::{http::client::RequestContext, router, routes::page, state::AppState};

const ANSWER_BYTES_MAX: usize = 8 << 20;
/// What a page may ask its app for, beside its own files: the SDK, and what anybody may read. The
/// feed would never end.
const OPEN: &[&str] = &["/s/sdk.js", "/s/solver.js", "/s/session", "/s/access"];
/// The rows, too.
const OPEN_BELOW: &str = "/s/collections/";
/// Where an app's page speaks to its app.
const PARTICIPANT: &str = "/s/";

/// An app as the browser sees it.
pub(super) struct AppSource {
    state: AppState,
    app: Arc<AppRecord>,
    participants: Router,
    origin: String,
    base: String,
}

impl AppSource {
    pub(super) fn new(state: &AppState, app: Arc<AppRecord>) -> Self {
        let table = router::apps(OpenApiRouter::new()).0.into_table("screenshot", state);
        Self {
            participants: table.handlers(),
            origin: state.app_origin(app.id, &app.slug),
            base: state.origins.app_base_path(&app.slug),
            state: state.clone(),
            app,
        }
    }

    /// The path and query below the app, if the address is one of this app.
    fn below(&self, url: &str) -> Option<Uri> {
        let url = Url::parse(url).ok()?;
        if url.origin().ascii_serialization() != self.origin {
            return None;
        }
        let path = url.path().strip_prefix(&self.base)?;
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        format!("/{path}{query}").parse().ok()
    }

    async fn participant(&self, uri: Uri) -> Option<http::Response<Body>> {
        let path = uri.path();
        if !OPEN.contains(&path) && !path.starts_with(OPEN_BELOW) {
            return None;
        }
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = uri;
        let request_id = HeaderValue::from_static("screenshot");
        request.extensions_mut().insert(RequestContext {
            request_id: request_id.clone(),
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            by_proxy: false,
            app: Some(self.app.id.to_string().into()),
            domain: None,
            pass: None,
            stray: None,
            of_page: false,
        });
        let mut response = self.participants.clone().call(request).await.ok()?;
        self.state.envelope.seal(&mut response, &request_id);
        Some(response)
    }

    async fn served(&self, method: &str, url: &str) -> Option<Served> {
        let uri = self.below(url).filter(|_| method == "GET")?;
        let response = if uri.path().starts_with(PARTICIPANT) {
            self.participant(uri).await?
        } else {
            let mut headers = HeaderMap::new();
            headers.insert("sec-fetch-mode", HeaderValue::from_static("no-cors"));
            page::show(&self.state, &self.app, &Method::GET, &uri, &headers).await?
        };
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, ANSWER_BYTES_MAX).await.ok()?;
        let headers = parts.headers.iter().filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        });
        Some(Served { status: parts.status.as_u16(), headers: headers.collect(), body })
    }
}

impl PageSource for AppSource {
    fn address(&self) -> String {
        format!("{}{}", self.origin, self.base)
    }

    fn answer<'a>(&'a self, method: &'a str, url: &'a str) -> BoxFuture<'a, Option<Served>> {
        self.served(method, url).boxed()
    }
}
