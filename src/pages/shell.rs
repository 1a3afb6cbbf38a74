//! The shell that all pages of the service share: one style, one strict policy, no script at all.
//!
//! What is not here: the pages themselves (`site`, `status`), and anything an app's author wrote.

use std::{fmt::Write as _, sync::LazyLock};

use askama::Template;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use rookery_domain::{Error, Result};
use sha2::{Digest, Sha256};

use super::{assets::Cache, policy::base_headers};

/// The one style of all pages. It stands in each page, so that a status page on an app's origin
/// needs no second request, and the policy admits it by its hash.
pub const STYLE: &str = include_str!("../../templates/style.css");

/// What a page of ours tells of its address, which may hold a token. Not `no-referrer`: its forms would
/// then be posted with `Origin: null`, which whoever checks that they are our own refuses.
pub const REFERRER_POLICY: &str = "same-origin";

static STYLE_SOURCE: LazyLock<String> =
    LazyLock::new(|| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(STYLE.as_bytes()))));

/// What the frame of a page shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shell {
    /// The site's address with a trailing slash; the brand links there.
    pub site_url: String,
    /// The address of the signed-in human, shown at the top.
    pub signed_in_as: Option<String>,
}

impl Shell {
    /// A frame for a site at `site_origin` (without a trailing slash).
    #[must_use]
    pub fn new(site_origin: &str, signed_in_as: Option<String>) -> Self {
        Self { site_url: format!("{site_origin}/"), signed_in_as }
    }

    /// [`STYLE`], for the template.
    #[must_use]
    pub const fn style(&self) -> &'static str {
        STYLE
    }
}

/// The headers of every page of the service, on the site and on app origins. `form_targets` are
/// further sources that a form of this page may lead to: Chromium checks redirects of a form as
/// well, so a sign-in page has to name the apps it may return to.
#[must_use]
pub fn page_headers(form_targets: &[&str]) -> HeaderMap {
    let csp = format!(
        "default-src 'none'; style-src {}; img-src 'self' data:; base-uri 'none'; \
         frame-ancestors 'none'; form-action 'self'",
        *STYLE_SOURCE
    );
    headers(csp, form_targets)
}

/// The same for the pages of who is signed in: style and scripts are files of the site, and no
/// other. Nothing inline, no eval.
#[must_use]
pub fn site_headers(form_targets: &[&str]) -> HeaderMap {
    let csp = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
         worker-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'";
    headers(csp.to_owned(), form_targets)
}

fn headers(mut csp: String, form_targets: &[&str]) -> HeaderMap {
    for target in form_targets {
        let _ = write!(csp, " {target}");
    }
    let mut headers = HeaderMap::new();
    base_headers(&mut headers);
    let fixed = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, Cache::Never.as_str()),
        (header::REFERRER_POLICY, REFERRER_POLICY),
        (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Form targets come from the settings, where they were parsed as host names. One that is no
    // header value all the same leaves the page without any right rather than without a policy.
    let csp = HeaderValue::from_str(&csp)
        .unwrap_or(HeaderValue::from_static("default-src 'none'; sandbox"));
    headers.insert(header::CONTENT_SECURITY_POLICY, csp);
    headers
}

/// The HTML of a page.
///
/// # Errors
/// `internal` if the template fails, which no value can make it do.
pub fn render(page: &impl Template) -> Result<String> {
    page.render().map_err(|error| Error::internal().caused_by(error))
}
