//! The headers that fence an app in: Content-Security-Policy and Permissions-Policy from its
//! manifest, and the others that a page of an app's origin needs.
//!
//! An app's page is hostile to the site and to the other apps: its scripts were written by
//! somebody else. So it may talk to its own origin and to what its manifest discloses. What is not
//! here: CORS of the API (there is none to grant), cookies, and the policy of the site's own pages
//! (`shell`).

use http::{HeaderMap, HeaderName, HeaderValue, header};
use rookery_domain::manifest::{Capability, Manifest};

/// Public CDNs that `"cdn": true` admits as sources of scripts, styles and fonts. The list is
/// fixed and documented (`docs/SDK.md`); a new entry widens what every such app may load.
pub const CDN_SOURCES: &[&str] = &[
    "https://cdn.jsdelivr.net",
    "https://cdnjs.cloudflare.com",
    "https://unpkg.com",
    "https://esm.sh",
    "https://fonts.googleapis.com",
    "https://fonts.gstatic.com",
];

/// What the sandbox of path mode leaves to a page. Not `allow-same-origin`: the page would then be
/// the site.
const SANDBOX: &str = "sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads allow-pointer-lock";

/// Browser features that a manifest can ask for, by their names in Permissions-Policy.
const ASKABLE: &[(Capability, &str)] = &[
    (Capability::Camera, "camera"),
    (Capability::Microphone, "microphone"),
    (Capability::Geolocation, "geolocation"),
];

/// Browser features that no app gets, because no manifest discloses them.
const NEVER: &[&str] = &[
    "accelerometer",
    "browsing-topics",
    "display-capture",
    "gyroscope",
    "hid",
    "identity-credentials-get",
    "magnetometer",
    "midi",
    "payment",
    "publickey-credentials-create",
    "publickey-credentials-get",
    "serial",
    "usb",
];

/// What an app's pages may do.
#[derive(Debug, Clone, Copy)]
pub struct PagePolicy<'a> {
    /// Capabilities the manifest declares.
    pub capabilities: &'a [Capability],
    /// Origins the page fetches from, as the manifest check normalised them.
    pub external_hosts: &'a [String],
    /// Origins the page embeds.
    pub embeds: &'a [String],
    /// Whether the public CDNs are admitted.
    pub cdn: bool,
    /// Sources of the challenge provider's widget, where a collection asks for a challenge.
    pub challenge_sources: &'a [String],
    /// Whether the owner lifted the limits on connections, images and frames.
    pub unrestricted: bool,
    /// In path mode the app's address with its trailing slash: the page is put into a sandbox and
    /// "itself" is that address alone, so that neither the site nor a sibling can be reached.
    pub sandbox_base: Option<&'a str>,
}

impl<'a> PagePolicy<'a> {
    /// The policy that `manifest` asks for, on an origin of its own.
    #[must_use]
    pub fn of_manifest(manifest: &'a Manifest) -> Self {
        Self {
            capabilities: &manifest.capabilities,
            external_hosts: &manifest.external_hosts,
            embeds: &manifest.embeds,
            cdn: manifest.cdn,
            challenge_sources: &[],
            unrestricted: false,
            sandbox_base: None,
        }
    }

    /// The same with what a challenge provider's widget loads and frames.
    #[must_use]
    pub const fn with_challenge(mut self, sources: &'a [String]) -> Self {
        self.challenge_sources = sources;
        self
    }

    /// The same for path mode: `base` is the app's whole address, `https://site/a/<slug>/`.
    #[must_use]
    pub const fn in_sandbox(mut self, base: &'a str) -> Self {
        self.sandbox_base = Some(base);
        self
    }

    /// The value of `Content-Security-Policy`.
    #[must_use]
    pub fn content_security_policy(&self) -> String {
        let own = self.sandbox_base.unwrap_or("'self'");
        let cdn: &[&str] = if self.cdn { CDN_SOURCES } else { &[] };
        let widget = || self.challenge_sources.iter().map(String::as_str);
        let loaded = || cdn.iter().copied().chain(widget());
        let hosts = || self.external_hosts.iter().map(String::as_str).chain(widget());
        let mut csp = Csp::default();
        csp.add("default-src", [own]);
        // Authors write single files, so inline script and style are theirs to use; the origin
        // is what protects the others from them. WebAssembly is script as well; no eval.
        let script = [own, "'unsafe-inline'", "'wasm-unsafe-eval'"];
        csp.add("script-src", script.into_iter().chain(loaded()));
        csp.add("style-src", [own, "'unsafe-inline'"].into_iter().chain(loaded()));
        csp.add("font-src", [own, "data:"].into_iter().chain(cdn.iter().copied()));
        if self.unrestricted {
            csp.add("connect-src", ["*", "data:", "blob:"]);
            csp.add("img-src", ["*", "data:", "blob:"]);
            csp.add("frame-src", ["*", "data:", "blob:"]);
        } else {
            csp.add("connect-src", [own].into_iter().chain(hosts()));
            csp.add("img-src", [own, "data:", "blob:"].into_iter().chain(hosts()));
            let mut framed = self.embeds.iter().map(String::as_str).chain(widget()).peekable();
            match framed.peek() {
                None => csp.add("frame-src", ["'none'"]),
                Some(_) => csp.add("frame-src", framed),
            }
        }
        csp.add("media-src", [own, "data:", "blob:"]);
        // The SDK solves challenges in a worker that it makes from a blob.
        csp.add("worker-src", [own, "blob:"]);
        csp.add("object-src", ["'none'"]);
        csp.add("base-uri", [own]);
        csp.add("form-action", [own]);
        // Nobody frames an app: a visitor may be signed in to it, and clicks must be their own.
        csp.add("frame-ancestors", ["'none'"]);
        if self.sandbox_base.is_some() {
            csp.0.push(SANDBOX.to_owned());
        }
        csp.0.join("; ")
    }

    /// The value of `Permissions-Policy`.
    #[must_use]
    pub fn permissions_policy(&self) -> String {
        // A sandboxed page has an opaque origin, which `self` does not match.
        let grant = if self.sandbox_base.is_some() { "*" } else { "(self)" };
        let asked = ASKABLE.iter().map(|(capability, name)| {
            let allowed = self.capabilities.contains(capability);
            format!("{name}={}", if allowed { grant } else { "()" })
        });
        let never = NEVER.iter().map(|name| format!("{name}=()"));
        asked.chain(never).collect::<Vec<_>>().join(", ")
    }

    /// The headers of all that the app serves, documents and assets alike. Caching and content type are
    /// not among them, nor what every answer of the server has (`http::edge::headers`).
    #[must_use]
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let sandboxed = self.sandbox_base.is_some();
        put(&mut headers, header::CONTENT_SECURITY_POLICY, &self.content_security_policy());
        put(
            &mut headers,
            HeaderName::from_static("permissions-policy"),
            &self.permissions_policy(),
        );
        base_headers(&mut headers);
        // A sandboxed page is a stranger to its own address, so its assets must be readable by
        // strangers; the routes never hand out what needs a cookie there.
        let corp = if sandboxed { "cross-origin" } else { "same-origin" };
        put(&mut headers, HeaderName::from_static("cross-origin-resource-policy"), corp);
        if sandboxed {
            put(&mut headers, header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
        } else {
            put(&mut headers, HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
            put(&mut headers, HeaderName::from_static("origin-agent-cluster"), "?1");
        }
        if !self.unrestricted {
            // A look-up of an invented name would carry data to whoever answers for the domain.
            put(&mut headers, header::X_DNS_PREFETCH_CONTROL, "off");
        }
        headers
    }
}

/// Answers the preflight of a sandboxed page's call of its own `s/` (path mode). No credentials:
/// such a page sends its participant token as a header.
#[must_use]
pub fn sandbox_preflight_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    put(&mut headers, header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    put(&mut headers, header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PATCH, DELETE");
    put(
        &mut headers,
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        "content-type, idempotency-key, if-match, if-none-match, last-event-id, \
         x-service-challenge-token, x-service-participant-token",
    );
    put(&mut headers, header::ACCESS_CONTROL_MAX_AGE, "600");
    headers
}

/// The headers that the pages of app origins and of the site have in common.
pub fn base_headers(headers: &mut HeaderMap) {
    put(headers, header::REFERRER_POLICY, "strict-origin-when-cross-origin");
    put(headers, header::X_FRAME_OPTIONS, "DENY");
}

/// Sets a header. Values are constants, or went through [`Csp::add`], which lets only visible ASCII
/// through, so they are always valid.
fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    debug_assert!(HeaderValue::from_str(value).is_ok(), "{name}: {value}");
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[derive(Default)]
struct Csp(Vec<String>);

impl Csp {
    /// Adds a directive. A source that could end the directive is left out: the manifest check
    /// admits none, and a policy must not depend on that alone.
    fn add<'s>(&mut self, name: &str, sources: impl IntoIterator<Item = &'s str>) {
        let mut directive = name.to_owned();
        for source in sources {
            if !source.is_empty()
                && source.bytes().all(|b| b.is_ascii_graphic() && b != b';' && b != b',')
            {
                directive.push(' ');
                directive.push_str(source);
            }
        }
        self.0.push(directive);
    }
}
