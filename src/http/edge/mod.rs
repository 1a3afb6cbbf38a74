//! The boundary that every request passes, on the way in and on the way out.
//!
//! One plain function instead of a stack of layers: a request costs a few microseconds in all, and
//! each boxed layer would cost some of them. In: request id, client address, CLI version, rate
//! limit. Out: the error envelope, the headers of every answer, the log line. Credentials, bodies
//! and everything behind them belong to extractors (docs/ARCHITECTURE.md, "How a request gets in").

mod cli_version;
pub mod figures;
pub mod headers;
pub mod metering;
mod operators;
mod origin;
mod passing;
pub mod rate_limit;
mod refused;
pub mod request_id;
pub mod request_log;
pub mod route_table;
mod undeclared_proxy;
pub mod waiters;

use std::{
    convert::Infallible, net::SocketAddr, panic::AssertUnwindSafe, sync::Arc, time::Instant,
};

use axum::{
    Router,
    body::Body,
    response::{IntoResponse, Response},
};
use futures::FutureExt as _;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Version, header, request::Parts};
use http_body::Body as _;
use rookery_actors::AppHandle;
use rookery_domain::{
    Error,
    cli_version::CliVersion,
    trace::{Trace, TraceParent},
};
use rookery_storage::trace;
use tower::Service as _;

use self::{
    figures::OpenConnection,
    operators::Operators,
    origin::Origin,
    passing::{PARTICIPANT, Passing, is_below},
    rate_limit::Limiter,
    request_id::RequestIds,
    request_log::{Line, RequestLog, Streaming},
    route_table::RouteTable,
    undeclared_proxy::UndeclaredProxy,
};
use crate::{
    error::{ApiError, Told},
    http::{
        accept::{self, is_navigation},
        body::drain,
        client,
        conditional::ReadConditions,
        cookie,
    },
    pages::policy::sandbox_preflight_headers,
    routes::site::api::InnerRoutes,
    state::AppState,
    traces,
};

/// Below it are the paths of the operators' listener that no page is at.
const OPERATORS_API: &str = "/ops/api";

/// The boundary of one listener.
pub struct Edge {
    routes: RouteTable,
    /// The routes of apps' own origins.
    app_routes: Option<RouteTable>,
    state: AppState,
    request_ids: RequestIds,
    log: Arc<RequestLog>,
    limiter: Option<Limiter>,
    undeclared_proxy: UndeclaredProxy,
    min_cli_version: Option<CliVersion>,
    /// Whom the operators' listener lets in.
    operators: Option<Operators>,
}

impl Edge {
    /// The boundary of the public listener.
    #[must_use]
    pub fn site(state: AppState, routes: RouteTable, apps: RouteTable) -> Self {
        let config = &state.config;
        let limiter = Limiter::new(&config.rate_limit);
        let min_cli_version = CliVersion::parse(&config.server.min_cli_version).ok();
        state.ops.http.add(apps.figures().clone());
        UndeclaredProxy::look_at_settings(state.is_https(), config.server.trusted_proxies.len());
        Self { app_routes: Some(apps), limiter, min_cli_version, ..Self::bare(state, routes) }
    }

    /// The boundary of the operator's listener: no rate limit, but the token where one is set.
    #[must_use]
    pub fn ops(state: AppState, routes: RouteTable) -> Self {
        let operators = Some(Operators::of(&state.config.ops));
        Self { operators, ..Self::bare(state, routes) }
    }

    fn bare(state: AppState, routes: RouteTable) -> Self {
        state.ops.http.add(routes.figures().clone());
        Self {
            routes,
            app_routes: None,
            request_ids: RequestIds::new(),
            log: Arc::new(RequestLog::new(state.config.log.requests_per_second_max)),
            limiter: None,
            undeclared_proxy: UndeclaredProxy::default(),
            min_cli_version: None,
            operators: None,
            state,
        }
    }

    /// Answers one request of `peer`.
    pub async fn handle<B>(&self, request: Request<B>, peer: SocketAddr) -> Response
    where
        B: http_body::Body<Data = bytes::Bytes> + Send + Unpin + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let began = Instant::now();
        let (mut parts, body) = request.into_parts();
        let host = origin::resolve_host(&mut parts);
        let (origin, routes) = self.origin(&mut parts);
        let mut unanswered = Unanswered {
            edge: self,
            passing: self.enter(&parts, began, peer, &origin, routes),
            is_answered: false,
        };
        let passing = &unanswered.passing;
        let (body, leftover) = drain::watch(&parts.headers, body);
        let refusal = self.refusal(&parts.headers, passing);
        // Also where the answer is another one.
        let is_over_rate = passing.allowance.is_some_and(|it| it.retry_after_s.is_some());
        let read_on_max = if is_over_rate || refusal.is_some() {
            drain::REFUSED_BYTES_MAX
        } else {
            drain::BYTES_MAX
        };
        let (response, app) = if let Err(wrong) = host {
            without(body, ApiError::from(Error::invalid(wrong)))
        } else if let Some(refusal) = refusal {
            without(body, refusal)
        } else if let Origin::Alias { serving } = &origin {
            without(body, origin::to_serving(serving, &passing.uri, &self.state))
        } else if passing.is_app && self.is_preflight(passing) {
            without(body, preflight())
        } else {
            self.answer(passing, origin, Request::from_parts(parts, body)).await
        };
        let read_on = leftover.drain(read_on_max).await;
        let mut response = self.leave(passing, response, app);
        if let Some(read_on) = read_on {
            read_on.end(&mut response);
            if passing.is_http_10 {
                *response.version_mut() = Version::HTTP_10;
            }
        }
        unanswered.is_answered = true;
        response
    }

    /// Whether this peer is one of the settings' trusted proxies.
    #[must_use]
    pub fn is_trusted(&self, peer: SocketAddr) -> bool {
        client::is_trusted(peer, &self.state.config.server.trusted_proxies)
    }

    /// Counts a connection for as long as it is there.
    pub fn open_connection(&self) -> OpenConnection<'_> {
        self.state.ops.http.open_connection()
    }

    /// Counts and logs what `peer` sent that was no request, or did not become one in time. There is
    /// nobody to ask for a method or a route, and the connection has been answered and closed.
    pub fn tell_bad_head(&self, peer: SocketAddr, why: &hyper::Error) {
        self.state.ops.http.count_bad_head();
        self.log.write_bad_head(peer.ip(), why, Instant::now());
    }

    /// What is known of a request before anything is done for it.
    fn enter<'a>(
        &self,
        parts: &Parts,
        began: Instant,
        peer: SocketAddr,
        origin: &Origin,
        routes: &'a RouteTable,
    ) -> Passing<'a> {
        let (method, uri) = (parts.method.clone(), parts.uri.clone());
        let proxies = &self.state.config.server.trusted_proxies;
        let (address, by_proxy) = client::sender(peer, &parts.headers, proxies);
        let caller = request_id::trace_parent(&parts.headers);
        let conditions = ReadConditions::of(&method, &parts.headers);
        let has_cookie = parts.headers.contains_key(header::COOKIE);
        let is_app = !matches!(origin, Origin::Site);
        let is_health = !is_app && operators::is_health(uri.path());
        let trace = if is_health { None } else { self.trace(caller.as_ref(), began) };
        // Operators are told apart by nothing, whatever stands in front of their listener.
        if self.operators.is_none() {
            if !by_proxy {
                self.undeclared_proxy.look(peer, &parts.headers);
            } else if !is_health {
                self.undeclared_proxy.look_at_trusted(peer, &parts.headers);
            }
        }
        let mut passing = Passing {
            began,
            address,
            by_proxy,
            request_id: self.request_ids.of(&parts.headers),
            allowance: self.limiter.as_ref().map(|limiter| limiter.count(address)),
            is_http_10: parts.version == Version::HTTP_10,
            route: routes.find(uri.path()),
            method,
            uri,
            routes,
            is_app,
            is_health,
            caller,
            trace,
            conditions,
            cookies: (has_cookie && !is_app).then(|| parts.headers.clone()),
            loads_page: false,
            base: origin.base_path(&self.state),
        };
        passing.loads_page = self.may_show_page(&passing) && is_navigation(&parts.headers);
        passing
    }

    /// Has a handler answer; returns the app that this was for as well.
    async fn answer(
        &self,
        passing: &Passing<'_>,
        origin: Origin,
        request: Request<Body>,
    ) -> (Response, Option<AppHandle>) {
        let Passing { routes, route, method, uri, .. } = passing;
        let (mut parts, body) = request.into_parts();
        let stray = route.and_then(|route| route.stray(method, uri, &parts.headers));
        parts.extensions.insert(origin.context(passing, stray));
        if !passing.is_api() && !passing.is_app {
            // A page asks the API what it shows.
            parts.extensions.insert(InnerRoutes(routes.handlers()));
        }
        let request = Request::from_parts(parts, body);
        let work = trace::within(passing.trace.clone(), handle(routes.handlers(), request));
        metering::run(work).await
    }

    /// Gives an answer what every answer has, and counts it.
    fn leave(
        &self,
        passing: &Passing<'_>,
        mut response: Response,
        app: Option<AppHandle>,
    ) -> Response {
        if let Some(conditions) = &passing.conditions {
            conditions.apply_to(&mut response, |refusal| match passing.is_private() {
                // As for a write.
                true => ApiError::from(refusal).into_response(),
                false => StatusCode::PRECONDITION_FAILED.into_response(),
            });
        }
        let leads_nowhere = matches!(
            response.status(),
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
        );
        match (passing.loads_page, &self.operators) {
            (true, None) => refused::show(&self.state, &mut response, &passing.request_id),
            (true, Some(_)) if leads_nowhere => refused::show_operator(&self.state, &mut response),
            _ => self.state.envelope.seal(&mut response, &passing.request_id),
        }
        let told = Told::take(&mut response);
        if told.is_some() && self.may_show_page(passing) {
            accept::vary_by_navigation(response.headers_mut());
        }
        self.write_headers(passing, &mut response);
        self.record(passing, response.status(), told.as_ref(), app.as_ref());
        let response = request_log::watch_stream(response, || Streaming {
            log: Arc::clone(&self.log),
            request_id: passing.request_id.clone(),
            client: passing.address,
            began: passing.began,
        });
        match app {
            Some(app) => metering::count_bytes(response, app),
            None => response,
        }
    }

    /// Whether a browser may load it as a page from this listener.
    fn may_show_page(&self, passing: &Passing<'_>) -> bool {
        let is_for_programs =
            self.operators.is_some() && is_below(passing.uri.path(), OPERATORS_API);
        passing.may_be_page() && !is_for_programs
    }

    fn write_headers(&self, passing: &Passing<'_>, response: &mut Response) {
        if let Some(operators) = &self.operators {
            operators.write_headers(response);
        }
        if let (Some(limiter), Some(allowance)) = (&self.limiter, passing.allowance) {
            limiter.write_headers(allowance, response.headers_mut());
        }
        if let Some(request) = &passing.cookies {
            cookie::session::renew(request, response.headers_mut(), &self.state);
        }
        if passing.is_app && self.state.origins.is_path_mode() {
            headers::open_to_strangers(response);
        }
        if let Some(base) = &passing.base {
            headers::lead_below(base, response);
        }
        if response.status() == StatusCode::NO_CONTENT {
            // Its length is none, and not zero (RFC 9110, 8.6); the answer to HEAD has one by now.
            response.headers_mut().remove(header::CONTENT_LENGTH);
        }
        if passing.is_http_10 && response.body().size_hint().exact().is_none() {
            // Its end is the connection's (RFC 9112, 6.3). In the other version hyper would promise to
            // keep the connection, as the client has asked.
            *response.version_mut() = Version::HTTP_10;
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        headers::write(response, passing.request_id.clone());
        if passing.is_private() {
            headers::keep_unstored(response.headers_mut());
        } else {
            headers::fence_page(response.headers_mut());
        }
        if self.state.is_https() {
            headers::require_https(response.headers_mut());
        }
    }

    /// The figures, the trace and the log of a request.
    fn record(
        &self,
        passing: &Passing<'_>,
        status: StatusCode,
        told: Option<&Told>,
        app: Option<&AppHandle>,
    ) {
        let Passing { routes, route, method, began, .. } = passing;
        let now = Instant::now();
        let took = now.saturating_duration_since(*began);
        let route = route.map(|route| route.number);
        routes.figures().record(route, method, status, took);
        if let Some(told) = told {
            self.state.ops.http.count_error(told.code);
        }
        let trace_id = || Some(passing.trace.as_ref()?.trace_id());
        let line = Line {
            method,
            route: routes.figures().template(route),
            status,
            code: told.map(|told| told.code),
            cause: told.and_then(|told| told.cause.as_deref()),
            request_id: &passing.request_id,
            trace_id: passing.caller.as_ref().map(|caller| caller.trace).or_else(trace_id),
            client: passing.address,
            took,
        };
        if let Some(trace) = &passing.trace {
            traces::end_request(trace, *began, now, &line, app.map(AppHandle::id));
        }
        if self.log.wants(status, now) {
            self.log.write(&line);
        }
    }

    /// The request's trace, if it is traced: only where requests do something for somebody.
    fn trace(&self, caller: Option<&TraceParent>, began: Instant) -> Option<Trace> {
        // The operator's listener has no apps, and is asked every few seconds by machines.
        let traces = self.state.traces.as_ref().filter(|_| self.app_routes.is_some())?;
        traces.enter(caller, began)
    }

    /// The first refusal in the order of precedence that needs no handler.
    fn refusal(&self, headers: &HeaderMap, passing: &Passing<'_>) -> Option<ApiError> {
        let path = passing.uri.path();
        if let Some(operators) = &self.operators
            && let Err(error) = operators.check(headers, path)
        {
            return Some(error.into());
        }
        // An unknown route is the router's to report; that wins over any other refusal.
        if !passing.route.is_some_and(|route| route.has(&passing.method)) {
            return None;
        }
        if passing.is_private()
            && let Err(error) = cli_version::check(headers, self.min_cli_version.as_ref())
        {
            return Some(error.into());
        }
        // A crowded address must not make a healthy service look dead to its load balancer.
        if passing.is_health {
            return None;
        }
        passing.allowance.and_then(rate_limit::refusal)
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
    fn is_preflight(&self, passing: &Passing<'_>) -> bool {
        passing.method == Method::OPTIONS
            && self.state.origins.is_path_mode()
            && is_below(passing.uri.path(), PARTICIPANT)
    }
}

/// A request until it has its answer. Dropped before, it is counted and logged all the same: its client has
/// left, or it was cut off, and what it asked for may have been done.
struct Unanswered<'a> {
    edge: &'a Edge,
    passing: Passing<'a>,
    is_answered: bool,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.edge.record(&self.passing, request_log::unanswered(), None, None);
        }
    }
}

/// An answer for which nobody looks at the body.
fn without(body: Body, answer: impl IntoResponse) -> (Response, Option<AppHandle>) {
    drop(body);
    (answer.into_response(), None)
}

/// Answers a preflight: it may, without credentials.
fn preflight() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.headers_mut().extend(sandbox_preflight_headers());
    response
}

/// Runs the handler; a panic becomes `internal` and takes nothing else down.
async fn handle(mut handlers: Router, request: Request<Body>) -> Response {
    let changes = !request.method().is_safe();
    match AssertUnwindSafe(handlers.call(request)).catch_unwind().await {
        Ok(Ok(response)) => response,
        Ok(Err(never)) => {
            let never: Infallible = never;
            match never {}
        }
        Err(_) if changes => ApiError::from(Error::unknown_outcome()).into_response(),
        Err(_) => ApiError::from(Error::internal()).into_response(),
    }
}
