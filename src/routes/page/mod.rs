//! The pages of an app on its own origin: its document, its assets, the SDK, and a status page for
//! what cannot be shown. None of it wakes the app.
//!
//! What is not here: the rows that a page asks for, and how a visitor comes in (`visitor`).

mod personal;
mod refusal;
mod retired;
mod source;
mod view;

use axum::{
    body::Body,
    extract::{FromRequestParts, State},
    response::{IntoResponse as _, Redirect, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header, request::Parts};
use rookery_domain::{Error, Result, app::AppRecord, manifest::Visibility};
use rookery_storage::versions::AssetInfo;

pub use refusal::{Outsider, Refusal, authorize_address, sign_in_path};
pub use source::{PageCache, ReadyPages};

use crate::{
    error::ApiError,
    http::{
        accept,
        auth::visitor::{Arriving, Sender},
        client::RequestContext,
        edge::headers::Withheld,
        params::behind_path,
    },
    pages::{
        assets::{self, Cache, Reply, Representation},
        packed,
        paths::{self, Target, WITHOUT_SLASH},
        policy::{PagePolicy, base_headers},
        sdk::SdkFile,
    },
    state::AppState,
};

/// Media type of the document.
const HTML: &str = "text/html; charset=utf-8";
/// What browsers ask every origin for, with a page that names no icon.
const ICON: &str = "favicon.ico";
/// What the media types of pages begin with.
const HTML_TYPE: &str = "text/html";

/// The SDK, the same in every app.
pub async fn sdk(method: Method, headers: HeaderMap) -> Response {
    file(SdkFile::Script, &method, &headers)
}

/// What solves proofs of work for it.
pub async fn solver(method: Method, headers: HeaderMap) -> Response {
    file(SdkFile::Solver, &method, &headers)
}

/// Its declarations in TypeScript, for an editor.
pub async fn types(method: Method, headers: HeaderMap) -> Response {
    file(SdkFile::Types, &method, &headers)
}

fn file(file: SdkFile, method: &Method, headers: &HeaderMap) -> Response {
    let chosen = file.packed().chosen(headers);
    let what = Representation {
        etag: &chosen.etag,
        content_type: file.content_type(),
        len: chosen.bytes.len() as u64,
        cache: Cache::Sdk,
    };
    let reply = assets::reply(method, headers, &what);
    let mut common = HeaderMap::new();
    base_headers(&mut common);
    chosen.describe(&mut common);
    send(reply, common, what.cache, &chosen.bytes)
}

/// A request on an app's origin that a browser may load as a page.
pub struct PageRequest {
    context: RequestContext,
    method: Method,
    uri: Uri,
    /// Its headers.
    pub headers: HeaderMap,
}

impl FromRequestParts<AppState> for PageRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let context = RequestContext::from_request_parts(parts, state).await?;
        let Parts { method, uri, headers, .. } = parts;
        Ok(Self { context, method: method.clone(), uri: uri.clone(), headers: headers.clone() })
    }
}

/// Anything else on an app's origin.
pub async fn page(State(state): State<AppState>, request: PageRequest) -> Response {
    if let Some(redirect) = elsewhere(&state, &request) {
        return redirect.into_response();
    }
    match find(&state, &request).await {
        Ok(response) => response,
        Err(refusal) => request.refuse(&state, refusal),
    }
}

/// What the service keeps for itself on an app's origin, and has nothing at: but in path mode, whoever
/// left the slash behind the slug out is led to the address with it.
pub async fn reserved(
    State(state): State<AppState>,
    context: RequestContext,
    uri: Uri,
) -> Response {
    let is_bare = uri.path() == WITHOUT_SLASH && state.origins.is_path_mode();
    match context.app.as_deref().filter(|_| is_bare) {
        Some(slug) => {
            let base = state.origins.app_base_path(slug);
            Redirect::permanent(&format!("{base}{}", behind_path(uri.query()))).into_response()
        }
        None => ApiError::unknown_path().into_response(),
    }
}

/// Where a request is sent that came to no page's own address in path mode, but through a page's
/// `<base>`, which is for files.
fn elsewhere(state: &AppState, request: &PageRequest) -> Option<Redirect> {
    let PageRequest { context, uri, headers, .. } = request;
    if context.pass.is_none() || !accept::is_navigation(headers) {
        return None;
    }
    let base = state.origins.app_base_path(context.app.as_deref()?);
    Some(Redirect::temporary(&below(&base, uri, "")))
}

/// The address below an app's `base` that `uri` asks for, with `end` behind its path.
fn below(base: &str, uri: &Uri, end: &str) -> String {
    format!("{base}{}{end}{}", uri.path().trim_start_matches('/'), behind_path(uri.query()))
}

async fn find(state: &AppState, request: &PageRequest) -> Result<Response, Refusal> {
    let PageRequest { context, method, uri, headers } = request;
    let slug = context.app.as_deref().ok_or_else(Error::app_not_found)?;
    let arriving = match &context.pass {
        Some(pass) => Arriving::with_pass(slug, context, pass, state).await?,
        None => Arriving::of(slug, context, headers, Sender::Browser, state).await?,
    };
    let record = arriving.app.record();
    refusal::check_state(record.status)?;
    refusal::check_visit(&arriving, record.visibility).await?;
    let pages =
        state.pages.get(state.rooms.control(), &record, &state.origins.sdk_src(slug)).await?;
    let app = ServedApp { state, record: &record, pages: &pages };
    let path = paths::from_request(uri.path()).ok_or(Refusal::NothingHere)?;
    let exists = |path: &str| pages.asset(path).is_some();
    let target = paths::resolve(&path, accept::is_navigation(headers), exists);
    let is_for_navigation = target.is_for_navigation(&path);
    let (mut sent, is_page) = match target {
        Target::Document => {
            let personal = app.personal_document(&arriving, method, headers);
            (personal.unwrap_or_else(|| app.document(method, headers)), true)
        }
        Target::Asset(path) => {
            let info = pages.asset(&path).ok_or(Refusal::NothingHere)?;
            let sent = app.asset(info, method, headers).await?;
            let content_type = assets::content_type(&info.path, Some(&info.content_type));
            (sent, content_type.starts_with(HTML_TYPE))
        }
        Target::Folder => {
            let base = state.origins.app_base_path(slug);
            (Redirect::temporary(&below(&base, uri, "/")).into_response(), false)
        }
        Target::NotFound if path == ICON && !accept::is_navigation(headers) => {
            (app.no_icon(), false)
        }
        Target::NotFound => return Err(Refusal::NothingHere),
    };
    if is_page {
        view::count(state, &arriving.app, request, sent.status()).await;
    }
    if is_for_navigation {
        accept::vary_by_navigation(sent.headers_mut());
    }
    if context.pass.is_some() {
        // It depends on nothing but its address, which only the visitor's own page knows.
        sent.extensions_mut().remove::<Withheld>();
    }
    Ok(sent)
}

/// What an app has at `uri`, for the service's own eyes: no visitor, no gate, no view counted.
pub async fn show(
    state: &AppState,
    record: &AppRecord,
    uri: &Uri,
    headers: &HeaderMap,
) -> Option<Response> {
    let sdk_src = state.origins.sdk_src(&record.slug);
    let pages = state.pages.get(state.rooms.control(), record, &sdk_src).await.ok()?;
    let app = ServedApp { state, record, pages: &pages };
    let path = paths::from_request(uri.path())?;
    let exists = |path: &str| pages.asset(path).is_some();
    match paths::resolve(&path, accept::is_navigation(headers), exists) {
        Target::Document => Some(app.document(&Method::GET, headers)),
        Target::Asset(path) => app.asset(pages.asset(&path)?, &Method::GET, headers).await.ok(),
        Target::Folder | Target::NotFound => None,
    }
}

/// An app with the version of its pages that is served.
struct ServedApp<'a> {
    state: &'a AppState,
    record: &'a AppRecord,
    pages: &'a ReadyPages,
}

impl ServedApp<'_> {
    fn document(&self, method: &Method, request: &HeaderMap) -> Response {
        let chosen = self.pages.document.chosen(request);
        let what = Representation {
            etag: &chosen.etag,
            content_type: HTML,
            len: chosen.bytes.len() as u64,
            cache: self.cache(),
        };
        let reply = assets::reply(method, request, &what);
        send(reply, self.common(chosen.is_gzip), what.cache, &chosen.bytes)
    }

    async fn asset(
        &self,
        info: &AssetInfo,
        method: &Method,
        request: &HeaderMap,
    ) -> Result<Response, Refusal> {
        let Self { state, record, .. } = *self;
        let content_type = assets::content_type(&info.path, Some(&info.content_type));
        let control = state.rooms.control();
        let packed = if packed::is_compressible(&content_type) && packed::takes_gzip(request) {
            state.pages.packed(control, record, info).await?
        } else {
            None
        };
        let plain_etag = assets::etag_of_file(&info.sha256, &content_type);
        let (etag, len) = match &packed {
            Some(packed) => (assets::etag_of_gzip(&plain_etag), packed.len() as u64),
            None => (plain_etag, info.size),
        };
        let cache = self.cache();
        let what = Representation { etag: &etag, content_type: &content_type, len, cache };
        let reply = assets::reply(method, request, &what);
        let common = self.common(packed.is_some());
        let content = match packed {
            Some(packed) => packed,
            None if reply.body.is_empty() => Bytes::new(),
            None => state.pages.plain(control, record, info).await?.ok_or(Refusal::NothingHere)?,
        };
        Ok(send(reply, common, what.cache, &content))
    }

    /// Who may keep what is served.
    fn cache(&self) -> Cache {
        match self.record.visibility {
            Visibility::Public => Cache::Public,
            Visibility::Link | Visibility::Private => Cache::Private,
        }
    }

    /// That it has no icon: no error, and not asked for with every page. The next version may bring one.
    fn no_icon(&self) -> Response {
        let kept = HeaderValue::from_static("private, max-age=60");
        let headers = self.common(false);
        (StatusCode::NO_CONTENT, headers, [(header::CACHE_CONTROL, kept)]).into_response()
    }

    /// The headers of everything that is served.
    fn common(&self, is_gzip: bool) -> HeaderMap {
        let mut headers = self.policy();
        // What a private app serves depends on the cookie.
        headers.insert(header::VARY, HeaderValue::from_static("cookie, accept-encoding"));
        if is_gzip {
            headers.insert(header::CONTENT_ENCODING, packed::GZIP);
        }
        headers
    }

    /// The headers that fence the app in.
    fn policy(&self) -> HeaderMap {
        let Self { state, record, pages } = *self;
        let origins = &state.origins;
        let mut policy = PagePolicy {
            unrestricted: record.unrestricted,
            ..PagePolicy::of_manifest(&pages.manifest)
        };
        if let Some(provider) = &state.siteverify
            && pages.manifest.collections.values().any(|collection| collection.challenge)
        {
            policy = policy.with_challenge(provider.page_sources());
        }
        if origins.is_path_mode() {
            policy.in_sandbox(&origins.app_url(&record.slug)).headers()
        } else {
            policy.headers()
        }
    }
}

/// An answer of `reply`, with `common` headers and what it takes of the `content`.
fn send(reply: Reply, common: HeaderMap, cache: Cache, content: &Bytes) -> Response {
    // Everything that is sent is in memory, so it fits.
    let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    let range = index(reply.body.start)..index(reply.body.end);
    let body = if range.is_empty() { Bytes::new() } else { content.slice(range) };
    respond(reply, common, cache, body.into())
}

fn respond(reply: Reply, common: HeaderMap, cache: Cache, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = reply.status;
    let headers = response.headers_mut();
    headers.extend(common);
    headers.extend(reply.headers);
    if matches!(cache, Cache::Private | Cache::Never) {
        response.extensions_mut().insert(Withheld);
    }
    response
}
