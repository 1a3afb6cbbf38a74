//! The boundary that every request passes, on the way in and on the way out.
//!
//! One plain function instead of a stack of layers: a request costs a few microseconds in all, and
//! each boxed layer would cost some of them. In: request id, client address, CLI version, rate
//! limit. Out: the error envelope, the headers of every answer, the log line. Credentials, bodies
//! and everything behind them belong to extractors (docs/ARCHITECTURE.md, "A request's way in").

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    panic::AssertUnwindSafe,
    time::Instant,
};

use axum::{
    Router,
    body::Body,
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use futures::FutureExt as _;
use http::{
    HeaderMap, HeaderValue, Method, Request, StatusCode, header, request::Parts, uri::Authority,
};
use rookery_actors::AppHandle;
use rookery_domain::{
    Error,
    trace::{Trace, TraceParent},
};
use rookery_storage::trace;
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;
use tower::Service as _;

use super::{
    cli_version,
    client::{self, RequestContext},
    conditional::IfNoneMatch,
    headers, linger, metering,
    origin::{self, Origin},
    rate_limit::{Limiter, Standing},
    refused,
    request_id::{self, RequestIds},
    request_log::{Line, RequestLog},
    route_table::RouteTable,
    session_cookie,
};
use crate::{
    error::ApiError,
    pages::{paths::is_navigation, policy::sandbox_preflight_headers},
    routes::site::api::InnerRoutes,
    state::AppState,
    traces,
};

/// Prefix of the API's paths; the CLI version is checked there.
const API_PREFIX: &str = "/v1/";
/// Prefix of the paths by which an app's page speaks to its app.
const PARTICIPANT_PREFIX: &str = "/s/";

/// The boundary of one listener.
pub struct Edge {
    routes: RouteTable,
    /// The routes of apps' own origins.
    app_routes: Option<RouteTable>,
    state: AppState,
    request_ids: RequestIds,
    log: RequestLog,
    limiter: Option<Limiter>,
    min_cli_version: Option<semver::Version>,
    /// The bearer that the operator's listener asks for.
    token: Option<SecretString>,
    https: bool,
    /// Whether requests must name this machine: no token keeps foreign pages out.
    local_only: bool,
}

impl Edge {
    /// The boundary of the public listener.
    #[must_use]
    pub fn site(state: AppState, routes: RouteTable, apps: RouteTable) -> Self {
        let config = &state.config;
        let limiter = Limiter::new(&config.rate_limit);
        let min_cli_version = semver::Version::parse(&config.server.min_cli_version).ok();
        state.ops.http.add(apps.figures().clone());
        Self { app_routes: Some(apps), limiter, min_cli_version, ..Self::bare(state, routes) }
    }

    /// The boundary of the operator's listener: no rate limit, but the token where one is set.
    #[must_use]
    pub fn ops(state: AppState, routes: RouteTable) -> Self {
        let token = state.config.ops.token.clone();
        let token = Some(token).filter(|token| !token.expose_secret().is_empty());
        let local_only = token.is_none();
        Self { token, local_only, ..Self::bare(state, routes) }
    }

    fn bare(state: AppState, routes: RouteTable) -> Self {
        state.ops.http.add(routes.figures().clone());
        Self {
            routes,
            app_routes: None,
            request_ids: RequestIds::new(),
            log: RequestLog::new(state.config.log.requests_per_second_max),
            limiter: None,
            min_cli_version: None,
            token: None,
            https: state.public_url.starts_with("https:"),
            local_only: false,
            state,
        }
    }

    /// Answers one request of `peer`.
    pub async fn handle<B>(&self, request: Request<B>, peer: SocketAddr) -> Response
    where
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let began = Instant::now();
        let address =
            client::address(peer, request.headers(), &self.state.config.server.trusted_proxies);
        let request_id = self.request_ids.of(request.headers());
        let standing = self.limiter.as_ref().map(|limiter| limiter.count(address));
        let (mut parts, body) = request.into_parts();
        let host = origin::settle_host(&mut parts);
        let (origin, routes) = self.origin(&mut parts);
        let is_app = !matches!(origin, Origin::Site);
        let method = parts.method.clone();
        let uri = parts.uri.clone();
        let caller = request_id::trace_parent(&parts.headers);
        let trace = self.trace(caller.as_ref(), uri.path(), began);
        let api = uri.path().starts_with(API_PREFIX);

        let cached = method.is_safe().then(|| IfNoneMatch::of(&parts.headers));
        let cached = cached.filter(|cached| !cached.is_empty());
        // To a browser that loads a page an error is one; to everything else it is the envelope.
        let loads_page = self.app_routes.is_some()
            && !api
            && !uri.path().starts_with(PARTICIPANT_PREFIX)
            && is_navigation(&parts.headers);

        let with_cookie = parts.headers.contains_key(header::COOKIE).then(|| parts.headers.clone());
        let mut metered = None;
        let mut response = match self.refusal(&parts.headers, uri.path(), api, standing) {
            _ if let Err(wrong) = host => ApiError::from(Error::invalid(wrong)).into_response(),
            Some(refusal) if routes.has(&method, uri.path()) => refusal.into_response(),
            _ if let Origin::Alias { serving } = &origin => {
                origin::to_serving(serving, &uri, &self.state)
            }
            _ if is_app && self.is_preflight(&method, uri.path()) => preflight(),
            // Nothing refuses it; or no such route, which the router says better.
            _ => {
                let by_proxy = client::is_trusted(peer, &self.state.config.server.trusted_proxies);
                let request_id = request_id.clone();
                let (app, domain) = origin.into_parts();
                let query = uri.query().filter(|query| !query.is_empty());
                let stray = query.and_then(|query| routes.stray(&method, uri.path(), query));
                let context = RequestContext { request_id, address, by_proxy, app, domain, stray };
                parts.extensions.insert(context);
                if !api && !is_app {
                    // A page asks the API what it shows.
                    parts.extensions.insert(InnerRoutes(routes.handlers()));
                }
                let (body, leftover) = linger::watch(&parts.headers, Body::new(body));
                let request = Request::from_parts(parts, body);
                let work = trace::within(trace.clone(), route(routes.handlers(), request));
                let (response, app) = metering::run(work).await;
                metered = app;
                leftover.drain().await;
                response
            }
        };

        if let Some(cached) = cached {
            cached.settle(&mut response);
        }
        let code = match loads_page {
            true => refused::show(&self.state, &mut response, &request_id),
            false => self.state.envelope.seal(&mut response, &request_id),
        };
        if self.token.is_some() && response.status() == StatusCode::UNAUTHORIZED {
            let browsers = HeaderValue::from_static("Basic realm=\"rookery operators\"");
            response.headers_mut().append(header::WWW_AUTHENTICATE, browsers);
        }
        if let (Some(limiter), Some(standing)) = (&self.limiter, standing) {
            limiter.write_headers(standing, response.headers_mut());
        }
        if let Some(request) = &with_cookie
            && !is_app
        {
            session_cookie::renew(request, response.headers_mut(), &self.state);
        }
        let private = api || uri.path().starts_with(PARTICIPANT_PREFIX);
        if is_app {
            headers::write_app(&mut response, self.state.origins.is_path_mode());
        }
        headers::write(&mut response, request_id.clone(), private, self.https);
        let status = response.status();
        let now = Instant::now();
        let took = now.saturating_duration_since(began);
        let route = routes.number(uri.path());
        routes.figures().record(route, &method, status, took);
        if let Some(code) = code {
            self.state.ops.http.count_error(code);
        }
        let line = Line {
            method: &method,
            route: routes.figures().template(route),
            status,
            code,
            request_id: &request_id,
            trace_id: caller.map(|it| it.trace).or_else(|| Some(trace.as_ref()?.trace_id())),
            client: address,
            took,
        };
        if let Some(trace) = &trace {
            let app = metered.as_ref().map(AppHandle::id);
            traces::end_request(trace, (began, now), &line, app);
        }
        if self.log.wants(status, now) {
            self.log.write(&line);
        }
        match metered {
            Some(app) => metering::count_bytes(response, app),
            None => response,
        }
    }

    /// The request's trace, if it is traced: only where requests do something for somebody.
    fn trace(&self, caller: Option<&TraceParent>, path: &str, began: Instant) -> Option<Trace> {
        // The operator's listener has no apps, and is asked every few seconds by machines.
        let traces = self.state.traces.as_ref().filter(|_| self.app_routes.is_some())?;
        if is_health(path) { None } else { traces.enter(caller, began) }
    }

    /// The first refusal in the order of precedence that needs no handler.
    fn refusal(
        &self,
        headers: &HeaderMap,
        path: &str,
        api: bool,
        standing: Option<Standing>,
    ) -> Option<ApiError> {
        if let Some(token) = &self.token
            && !bears(headers, token)
        {
            let message = "the operator's listener asks for its bearer token";
            return Some(Error::new(rookery_domain::ErrorCode::Unauthorized, message).into());
        }
        if self.local_only && !names_this_machine(headers) && !is_health(path) {
            // A foreign page can have a name of its own lead here, and then read the answers.
            let message = "without ops.token this listener answers under localhost or an IP only";
            return Some(Error::new(rookery_domain::ErrorCode::Forbidden, message).into());
        }
        if api && let Err(error) = cli_version::check(headers, self.min_cli_version.as_ref()) {
            return Some(error.into());
        }
        // A crowded address must not make a healthy service look dead to its load balancer.
        if is_health(path) {
            return None;
        }
        standing.and_then(Standing::refusal)
    }

    /// Whose origin the request is for, and the routes there.
    fn origin(&self, parts: &mut Parts) -> (Origin, &RouteTable) {
        let Some(apps) = &self.app_routes else { return (Origin::Site, &self.routes) };
        match Origin::of(parts, &self.state) {
            Origin::Site => (Origin::Site, &self.routes),
            of_app => (of_app, apps),
        }
    }

    /// Whether a sandboxed page asks if it may call its own app: only path mode has such pages.
    fn is_preflight(&self, method: &Method, path: &str) -> bool {
        *method == Method::OPTIONS
            && self.state.origins.is_path_mode()
            && path.starts_with(PARTICIPANT_PREFIX)
    }
}

/// Answers a preflight: it may, without credentials.
fn preflight() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.headers_mut().extend(sandbox_preflight_headers());
    response
}

/// Runs the handler; a panic becomes `internal` and takes nothing else down.
async fn route(mut handlers: Router, request: Request<Body>) -> Response {
    let changes = !request.method().is_safe();
    match AssertUnwindSafe(handlers.call(request)).catch_unwind().await {
        Ok(Ok(response)) => response,
        Ok(Err(never)) => {
            let never: Infallible = never;
            match never {}
        }
        Err(_) => ApiError::from(Error::internal(changes)).into_response(),
    }
}

fn is_health(path: &str) -> bool {
    matches!(path, "/alive" | "/ready")
}

/// Whether `Host` is an address or `localhost`: what no foreign page can claim.
fn names_this_machine(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    let host = host.and_then(|host| host.parse::<Authority>().ok());
    host.is_some_and(|host| {
        let name = host.host();
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        name == "localhost" || bare.unwrap_or(name).parse::<IpAddr>().is_ok()
    })
}

/// Whether the token is there, as a bearer or as the password that a browser asks for.
fn bears(headers: &HeaderMap, token: &SecretString) -> bool {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some(given) = given else { return false };
    let basic = given.strip_prefix("Basic ").and_then(|text| {
        let pair = String::from_utf8(BASE64.decode(text).ok()?).ok()?;
        pair.split_once(':').map(|(_, password)| password.to_owned())
    });
    let bearer = given.strip_prefix("Bearer ");
    let given = basic.as_deref().or(bearer).unwrap_or_default();
    given.as_bytes().ct_eq(token.expose_secret().as_bytes()).into()
}
