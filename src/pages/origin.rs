//! Which app a request is for, and where an app lives: host names and addresses built from the
//! settings, never from what a request says.
//!
//! What is not here: whether the app exists, and whether a path may be returned to after sign-in.

use rookery_actors::AppHosts;
use rookery_domain::{Error, Result, redirect::ReturnPath, slug};
use url::{Host as UrlHost, Url};

use crate::{
    config::AppsMode,
    http::{
        host::{self, HOST_BYTES_MAX},
        loopback::is_loopback_host,
    },
};

/// Where apps live when each has a path instead of an origin.
pub(super) const APPS_PATH: &str = "/a/";

/// Where the site and its apps live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origins {
    scheme: String,
    site_host: String,
    site_is_loopback: bool,
    /// `:8080`, or nothing for the scheme's own port.
    port: String,
    apps: Apps,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Apps {
    /// Each app has the origin `<slug>.<domain>`.
    Hosts { domain: String },
    /// Each app has the path `/a/<slug>/` of the site, in a sandbox.
    Paths,
}

/// What a `Host` header names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostMatch {
    /// The site itself.
    Site,
    /// The app that has this slug, if there is one.
    App(String),
    /// None of these: an app's, if it is a custom domain; else the site answers under it.
    Unknown,
}

impl Origins {
    /// `public_url` is `server.public_url`; `apps_domain` is the domain under which apps live
    /// (empty: `localhost`, which needs a loopback site).
    ///
    /// # Errors
    /// `invalid_request` naming the setting that is wrong.
    pub fn new(public_url: &str, apps_domain: &str, apps_mode: AppsMode) -> Result<Self> {
        let url = Url::parse(public_url)
            .map_err(|e| Error::invalid(format!("server.public_url {public_url:?}: {e}")))?;
        let bad = |why| Err(Error::invalid(format!("server.public_url {public_url:?}: {why}")));
        if !matches!(url.scheme(), "http" | "https") {
            return bad("the scheme must be http or https");
        }
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return bad("an origin has no path, query or fragment");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return bad("an origin has no user name or password");
        }
        let Some(site_host) = url.host_str().map(str::to_owned) else {
            return bad("the host is missing");
        };
        let site_is_loopback = is_loopback_host(&site_host);
        let apps = match apps_mode {
            AppsMode::Path => Apps::Paths,
            AppsMode::Subdomain => {
                Apps::Hosts { domain: apps_host(apps_domain, site_is_loopback)? }
            }
        };
        let port = url.port().map(|p| format!(":{p}")).unwrap_or_default();
        Ok(Self { scheme: url.scheme().to_owned(), site_host, site_is_loopback, port, apps })
    }

    /// Whether apps are served under `/a/<slug>/` in a sandbox.
    #[must_use]
    pub fn is_path_mode(&self) -> bool {
        self.apps == Apps::Paths
    }

    /// Whether the public address is `https`.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.scheme == "https"
    }

    /// The site's origin, without a trailing slash.
    #[must_use]
    pub fn site_origin(&self) -> String {
        format!("{}://{}{}", self.scheme, self.site_host, self.port)
    }

    /// The origin of an app's pages; in path mode that of the site.
    #[must_use]
    pub fn app_origin(&self, slug: &str) -> String {
        match &self.apps {
            Apps::Hosts { domain } => format!("{}://{slug}.{domain}{}", self.scheme, self.port),
            Apps::Paths => self.site_origin(),
        }
    }

    /// The address of an app, with a trailing slash.
    #[must_use]
    pub fn app_url(&self, slug: &str) -> String {
        format!("{}{}", self.app_origin(slug), self.app_base_path(slug))
    }

    /// The path under which an app's pages and `s/` live: `/` or `/a/<slug>/`.
    #[must_use]
    pub fn app_base_path(&self, slug: &str) -> String {
        match self.apps {
            Apps::Hosts { .. } => "/".to_owned(),
            Apps::Paths => format!("{APPS_PATH}{slug}/"),
        }
    }

    /// Where on its origin a path of the app is.
    #[must_use]
    pub fn app_path(&self, slug: &str, path: &ReturnPath) -> String {
        format!("{}{path}", self.app_base_path(slug).trim_end_matches('/'))
    }

    /// The path of the app that a browser shows as `shown`; in path mode `shown` may be one
    /// already.
    #[must_use]
    pub fn path_in_app<'p>(&self, slug: &str, shown: &'p str) -> &'p str {
        let base = self.app_base_path(slug);
        let path = shown.strip_prefix(base.trim_end_matches('/'));
        path.filter(|path| path.starts_with('/')).unwrap_or(shown)
    }

    /// What the document's script element names: `/s/sdk.js`, below the base path.
    #[must_use]
    pub fn sdk_src(&self, slug: &str) -> String {
        format!("{}s/sdk.js", self.app_base_path(slug))
    }

    /// A CSP source that covers every app, for `form-action` of pages whose form may be redirected
    /// on to an app (Chromium checks redirects of a form too). `None` where apps share the site's
    /// origin.
    #[must_use]
    pub fn any_app_source(&self) -> Option<String> {
        match &self.apps {
            Apps::Hosts { domain } => Some(format!("{}://*.{domain}{}", self.scheme, self.port)),
            Apps::Paths => None,
        }
    }

    /// What the authority of a request (`Host`, or `:authority`) names. The port must be a port,
    /// but any: a forwarded or mapped port does not change whose name it is.
    ///
    /// A site on a loopback address answers to every loopback name, so that
    /// `http://127.0.0.1:8080` works as `http://localhost:8080` does.
    #[must_use]
    pub fn classify(&self, authority: &str) -> HostMatch {
        let Some(host) = host::of_authority(authority) else {
            return HostMatch::Unknown;
        };
        if host == self.site_host || (self.site_is_loopback && is_loopback_host(&host)) {
            return HostMatch::Site;
        }
        let Apps::Hosts { domain } = &self.apps else {
            return HostMatch::Unknown;
        };
        match host.strip_suffix(domain.as_str()).and_then(|label| label.strip_suffix('.')) {
            Some(label) if slug::is_well_formed(label) => HostMatch::App(label.to_owned()),
            _ => HostMatch::Unknown,
        }
    }

    /// The origin of a custom domain, which is reached as the site is: same scheme, same port.
    #[must_use]
    pub fn domain_origin(&self, domain: &str) -> String {
        format!("{}://{domain}{}", self.scheme, self.port)
    }

    /// The names that are the service's own, with everything below them.
    #[must_use]
    pub fn own_hosts(&self) -> Vec<String> {
        let apps = match &self.apps {
            Apps::Hosts { domain } => Some(domain.clone()),
            Apps::Paths => None,
        };
        std::iter::once(self.site_host.clone()).chain(apps).collect()
    }

    /// The hosts that apps answer at.
    #[must_use]
    pub fn app_hosts(&self) -> AppHosts {
        match &self.apps {
            Apps::Hosts { domain } => AppHosts::Below(domain.clone()),
            Apps::Paths => AppHosts::Site(self.site_host.clone()),
        }
    }

    /// Whether the host name `host` (without a port) is where the app's pages are.
    #[must_use]
    pub fn is_host_of(&self, host: &str, slug: &str) -> bool {
        match (self.classify(host), &self.apps) {
            (HostMatch::App(label), _) => label == slug,
            (HostMatch::Site, Apps::Paths) => true,
            _ => false,
        }
    }

    /// In path mode, the slug of a path `/a/<slug>/...` and the rest of the path (starting with
    /// `/`; empty when the slash after the slug is missing and a redirect has to add it).
    #[must_use]
    pub fn split_path<'p>(&self, path: &'p str) -> Option<(&'p str, &'p str)> {
        if !self.is_path_mode() {
            return None;
        }
        let rest = path.strip_prefix(APPS_PATH)?;
        let (slug, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        slug::is_well_formed(slug).then_some((slug, rest))
    }
}

fn apps_host(apps_domain: &str, site_is_loopback: bool) -> Result<String> {
    if apps_domain.is_empty() {
        return if site_is_loopback {
            Ok("localhost".to_owned())
        } else {
            Err(Error::invalid(
                "apps_domain: must be set when server.public_url is not on this machine \
                 (or set apps_mode to path)",
            ))
        };
    }
    match UrlHost::parse(apps_domain) {
        Ok(UrlHost::Domain(name)) if !name.ends_with('.') && name.len() <= HOST_BYTES_MAX => {
            Ok(name)
        }
        _ => Err(Error::invalid(format!("apps_domain {apps_domain:?}: must be a DNS name"))),
    }
}
