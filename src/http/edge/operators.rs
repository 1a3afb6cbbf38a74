//! Whom the operators' listener lets in: whoever bears its token, and without one whoever is on
//! this machine. What is not here: any rule of the public listener.

use std::net::IpAddr;

use axum::response::Response;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rookery_domain::{Error, ErrorCode, Result};
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;

use crate::{
    config::Ops,
    http::{auth::scheme_and_secret, host, loopback::is_loopback_host, reply::NO_STORE},
};

/// The paths that load balancers ask, which need no name.
pub(super) fn is_health(path: &str) -> bool {
    matches!(path, "/alive" | "/ready")
}

/// Who is let in.
pub(super) enum Operators {
    /// Whoever bears this.
    Bearers(SecretString),
    /// Requests that name this machine: a foreign page can have a name of its own lead here, and
    /// would then read the answers.
    OnThisMachine,
}

impl Operators {
    pub(super) fn of(config: &Ops) -> Self {
        match config.token.expose_secret().is_empty() {
            true => Self::OnThisMachine,
            false => Self::Bearers(config.token.clone()),
        }
    }

    /// Checks that a request comes from an operator.
    ///
    /// # Errors
    /// `unauthorized`, `forbidden`.
    pub(super) fn check(&self, headers: &HeaderMap, path: &str) -> Result<()> {
        match self {
            Self::Bearers(token) if !bears(headers, token) => Err(Error::new(
                ErrorCode::Unauthorized,
                "the operator's listener asks for its bearer token",
            )),
            Self::OnThisMachine if !names_this_machine(headers) && !is_health(path) => {
                Err(Error::new(
                    ErrorCode::Forbidden,
                    "without ops.token this listener answers under localhost or an IP only",
                ))
            }
            Self::Bearers(_) | Self::OnThisMachine => Ok(()),
        }
    }

    /// Tells caches that all of this is of the moment, and browsers to ask for the token (RFC 7617).
    pub(super) fn write_headers(&self, response: &mut Response) {
        response.headers_mut().entry(header::CACHE_CONTROL).or_insert(NO_STORE);
        if matches!(self, Self::Bearers(_)) && response.status() == StatusCode::UNAUTHORIZED {
            let browsers = HeaderValue::from_static("Basic realm=\"rookery operators\"");
            response.headers_mut().append(header::WWW_AUTHENTICATE, browsers);
        }
    }
}

/// Whether `Host` is an address or `localhost`: what no foreign page can claim.
fn names_this_machine(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    let host = host.and_then(host::of_authority);
    host.is_some_and(|host| is_loopback_host(&host) || host::bare(&host).parse::<IpAddr>().is_ok())
}

/// Whether the token is there, as a bearer or as the password that a browser asks for.
fn bears(headers: &HeaderMap, token: &SecretString) -> bool {
    let given = headers.get(header::AUTHORIZATION).and_then(scheme_and_secret);
    let Some((scheme, secret)) = given else { return false };
    let given = if scheme.eq_ignore_ascii_case("basic") {
        password(secret)
    } else {
        scheme.eq_ignore_ascii_case("bearer").then(|| secret.to_owned())
    };
    given.unwrap_or_default().as_bytes().ct_eq(token.expose_secret().as_bytes()).into()
}

/// The password of a name and password as browsers send them.
fn password(encoded: &str) -> Option<String> {
    let pair = String::from_utf8(BASE64.decode(encoded).ok()?).ok()?;
    pair.split_once(':').map(|(_, password)| password.to_owned())
}
