//! A request on its way through the boundary: what the way out has to know of it, and which part of
//! the service it is for. Deciding anything by that is the boundary's.

use std::{net::IpAddr, time::Instant};

use http::{HeaderMap, HeaderValue, Method, Uri};
use rookery_domain::trace::{Trace, TraceParent};

use super::route_table::{Route, RouteTable};
use crate::{gcra::Allowance, http::conditional::ReadConditions};

/// Below it are the API's paths.
const API: &str = "/v1";
/// Where browsers are led while somebody signs in, below the API's paths.
const SIGN_IN: &[&str] = &["/v1/auth/verify", "/v1/auth/idp"];
/// Below it are the paths by which an app's page speaks to its app.
pub(super) const PARTICIPANT: &str = "/s";
/// Where browsers are led to come into an app, below those paths.
const WAYS_IN: &[&str] = &["/s/share", "/s/grant", "/s/preview", "/s/sign-in", "/s/callback"];

/// A request on its way through: what the way out has to know of it.
pub(super) struct Passing<'a> {
    pub(super) began: Instant,
    pub(super) address: IpAddr,
    pub(super) by_proxy: bool,
    pub(super) request_id: HeaderValue,
    /// Whether its client knows no chunks.
    pub(super) is_http_10: bool,
    /// Where its address stands with the rate limit.
    pub(super) allowance: Option<Allowance>,
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) routes: &'a RouteTable,
    /// The one of them that its path belongs to, if any does.
    pub(super) route: Option<&'a Route>,
    /// Whether it is for an app's own origin.
    pub(super) is_app: bool,
    /// Whether a machine asks how the service is; on an app's origin that path is a page like any.
    pub(super) is_health: bool,
    /// The trace that it says it belongs to.
    pub(super) caller: Option<TraceParent>,
    /// The trace that is kept of it.
    pub(super) trace: Option<Trace>,
    /// What it demands of the answer's entity tag.
    pub(super) conditions: Option<ReadConditions>,
    /// The headers of a request of the site with a cookie, whose session may have to be renewed.
    pub(super) cookies: Option<HeaderMap>,
    /// Whether a browser loads a page: an error is one to it, and to everything else the envelope.
    pub(super) loads_page: bool,
    /// The path of the site that the app lives at, where it lives at one.
    pub(super) base: Option<String>,
}

impl Passing<'_> {
    /// Whether it is for the API. What an app has below that path is a file of its own.
    pub(super) fn is_api(&self) -> bool {
        !self.is_app && is_below(self.uri.path(), API)
    }

    /// Whether it is a program's to make: its answer is one caller's alone, and the version of a CLI is
    /// looked at.
    pub(super) fn is_private(&self) -> bool {
        self.is_api() || is_below(self.uri.path(), PARTICIPANT)
    }

    /// Whether a browser may load it as a page.
    pub(super) fn may_be_page(&self) -> bool {
        let path = self.uri.path();
        let followed = if self.is_app { WAYS_IN } else { SIGN_IN };
        !self.is_private() || followed.iter().any(|root| is_below(path, root))
    }
}

/// Whether the path is `root` or below it.
pub(super) fn is_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
