//! What the browser is shown of an app: its current version, and what anybody may read in it. It
//! looks without being a visitor: no view is counted, nobody's session is used, nothing is changed.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use axum::{Router, body::Body, response::Response};
use bytes::Bytes;
use futures::{FutureExt as _, future::BoxFuture};
use http::{HeaderMap, HeaderValue, Request, Uri};
use rookery_domain::{app::AppRecord, id::ParticipantId};
use serde_json::Value;
use tower::Service as _;
use url::Url;

use super::look::{Answer, PageSource, Served};
use crate::{
    http::{client::RequestContext, edge::headers::open_to_strangers, params::behind_path},
    routes::page,
    state::AppState,
};

const ANSWER_BYTES_MAX: usize = 8 << 20;
/// What a page may ask its app for, beside its own files: the SDK, and what anybody may read.
const OPEN: &[&str] = &["/s/sdk.js", "/s/solver.js", SESSION, "/s/access"];
/// Who a visitor is.
const SESSION: &str = "/s/session";
/// What happens from now on: nothing, until the picture is taken.
const FEED: &str = "/s/feed";
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
    pub(super) fn new(state: &AppState, app: Arc<AppRecord>, handlers: Router<AppState>) -> Self {
        Self {
            participants: handlers.with_state(state.clone()),
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
        format!("/{path}{}", behind_path(url.query())).parse().ok()
    }

    async fn participant(&self, uri: Uri) -> Option<Response> {
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
        if self.state.origins.is_path_mode() {
            open_to_strangers(&mut response);
        }
        Some(response)
    }

    async fn served(&self, method: &str, url: &str) -> Option<Served> {
        let uri = self.below(url).filter(|_| method == "GET")?;
        let is_session = uri.path() == SESSION;
        let response = if uri.path().starts_with(PARTICIPANT) {
            self.participant(uri).await?
        } else {
            let mut headers = HeaderMap::new();
            headers.insert("sec-fetch-mode", HeaderValue::from_static("no-cors"));
            page::show(&self.state, &self.app, &uri, &headers).await?
        };
        let (parts, body) = response.into_parts();
        let mut body = axum::body::to_bytes(body, ANSWER_BYTES_MAX).await.ok()?;
        if is_session && parts.status.is_success() {
            body = of_somebody(&body)?;
        }
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

    fn answer<'a>(&'a self, method: &'a str, url: &'a str) -> BoxFuture<'a, Answer> {
        let is_feed = self.below(url).is_some_and(|uri| uri.path() == FEED);
        async move {
            match self.served(method, url).await {
                _ if is_feed => Answer::Open,
                Some(served) => Answer::Served(served),
                None => Answer::Failed,
            }
        }
        .boxed()
    }
}

/// The answer to whoever asks who it is, where that is nobody: with an id that nobody has. Without one the
/// SDK would become somebody first, which is a change.
fn of_somebody(session: &[u8]) -> Option<Bytes> {
    let mut session: Value = serde_json::from_slice(session).ok()?;
    session["id"] = ParticipantId::new().to_string().into();
    serde_json::to_vec(&session).ok().map(Bytes::from)
}
