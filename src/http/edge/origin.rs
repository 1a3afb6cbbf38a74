//! Whose origin a request is for: the site's, or an app's by its host, by its custom domain, or in
//! path mode by its path. Names are read in `pages::origin`; whether the app exists is for
//! whoever serves it.

use axum::response::{IntoResponse as _, Response};
use http::{
    HeaderMap, HeaderValue, StatusCode, Uri, Version, header, request::Parts, uri::PathAndQuery,
};
use rookery_actors::domains::Destination;

use super::passing::Passing;
use crate::{
    http::{
        accept::is_navigation, client::RequestContext, csrf, host, params::behind_path,
        reply::NO_STORE, single_header::SingleHeader,
    },
    pages::{files_pass::FilesPass, origin::HostMatch, paths::WITHOUT_SLASH},
    state::AppState,
};

/// Whose origin a request is for.
pub(super) enum Origin {
    /// The site's: that of every host that is no app's.
    Site,
    /// The app's with this slug, and by what pass its files were asked for.
    App { slug: Box<str>, pass: Option<FilesPass> },
    /// The app's with this id, by this custom domain, which serves it.
    Domain { app: Box<str>, domain: Box<str> },
    /// An app's, by a domain that redirects to the one that serves it.
    Alias { serving: Box<str> },
}

impl Origin {
    /// By the request's host; in path mode by its path, of which is left what it is on the app's
    /// origin.
    pub(super) fn of(parts: &mut Parts, state: &AppState) -> Self {
        let origins = &state.origins;
        let host = parts.headers.get(header::HOST).and_then(|value| value.to_str().ok());
        match host.map(|authority| (authority, origins.classify(authority))) {
            Some((_, HostMatch::App(slug))) => {
                return Self::App { slug: slug.into(), pass: None };
            }
            Some((authority, HostMatch::Unknown)) => {
                if let Some(origin) = Self::custom(authority, &parts.headers, state) {
                    return origin;
                }
            }
            Some((_, HostMatch::Site)) | None => {}
        }
        let Some((slug, path)) = origins.split_path(parts.uri.path()) else { return Self::Site };
        let (pass, path) = match FilesPass::split(path) {
            Some((pass, below)) => (Some(pass), below),
            // Without the slash the app's own relative addresses would lead out of it.
            None if path.is_empty() => (None, WITHOUT_SLASH),
            None => (None, path),
        };
        let below = format!("{path}{}", behind_path(parts.uri.query()));
        let Ok(uri) = below.parse::<Uri>() else { return Self::Site };
        let slug = slug.into();
        parts.uri = uri;
        Self::App { slug, pass }
    }

    /// The app whose custom domain the authority names, if it is one that is proven. What a page asks for
    /// that is open there is served at an alias too: it may have served when the page was loaded, and a page
    /// cannot follow to another origin.
    fn custom(authority: &str, headers: &HeaderMap, state: &AppState) -> Option<Self> {
        if state.origins.is_path_mode() {
            return None;
        }
        let host = host::of_authority(authority)?;
        let Destination { app, serving } = state.rooms.domains().at(&host)?;
        let is_of_open_page = || csrf::is_led_from_here(headers) && !is_navigation(headers);
        Some(match *serving == *host || is_of_open_page() {
            true => Self::Domain { app: app.to_string().into(), domain: host.into() },
            false => Self::Alias { serving },
        })
    }

    /// The path of the site that the app lives at, where it lives at one.
    pub(super) fn base_path(&self, state: &AppState) -> Option<String> {
        match self {
            Self::App { slug, .. } if state.origins.is_path_mode() => {
                Some(state.origins.app_base_path(slug))
            }
            _ => None,
        }
    }

    /// What handlers are told of a request that came here, `stray` with what the route does not take.
    pub(super) fn context(self, passing: &Passing<'_>, stray: Option<Box<str>>) -> RequestContext {
        let (app, domain, pass) = match self {
            Self::Site | Self::Alias { .. } => (None, None, None),
            Self::App { slug, pass } => (Some(slug), None, pass),
            Self::Domain { app, domain } => (Some(app), Some(domain), None),
        };
        RequestContext {
            request_id: passing.request_id.clone(),
            address: passing.address,
            by_proxy: passing.by_proxy,
            app,
            domain,
            pass,
            stray,
            of_page: false,
        }
    }
}

/// Makes `Host` name the one host that the request is for (RFC 9112, section 3.2): that of its
/// target, where the target names one. Before HTTP/1.1 a request need not name any.
///
/// # Errors
/// What is wrong with the host that it names.
pub(super) fn resolve_host(parts: &mut Parts) -> Result<(), &'static str> {
    match SingleHeader::of(&parts.headers, header::HOST) {
        SingleHeader::Once(host) if host.to_str().ok().and_then(host::of_authority).is_none() => {
            return Err("Host: must be the name or address of a host, with a port or without");
        }
        SingleHeader::Once(_) => {}
        SingleHeader::Absent if parts.version < Version::HTTP_11 => {}
        SingleHeader::Absent | SingleHeader::Repeated => {
            return Err("Host: a request must have this header, and once");
        }
    }
    let Some(authority) = parts.uri.authority() else { return Ok(()) };
    match HeaderValue::from_str(authority.as_str()) {
        Ok(host) if host::of_authority(authority.as_str()).is_some() => {
            parts.headers.insert(header::HOST, host);
            Ok(())
        }
        _ => Err("the request's target must name a host, with a port or without"),
    }
}

/// Sends a request for an alias on to the domain that serves its app, with the same method.
pub(super) fn to_serving(serving: &str, uri: &Uri, state: &AppState) -> Response {
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let mut response = StatusCode::PERMANENT_REDIRECT.into_response();
    let location = format!("{}{path}", state.origins.domain_origin(serving));
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    // Another domain may serve the app tomorrow.
    response.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    response
}
