//! Cookies as they are read and set. All that the service sets are out of reach of scripts, and
//! sent along from other sites only when somebody follows a link here.

pub mod idp;
pub mod participant;
pub mod session;
pub mod sign_in;

use http::{HeaderMap, HeaderValue, header};

/// The value of the first cookie called `name`.
#[must_use]
pub fn read<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    all(headers).find_map(|(key, value)| (key == name).then_some(value))
}

/// All cookies that are ASCII, as the service's own are, name and value, in the order in which the browser
/// sends them. Scripts set cookies with other letters, and browsers send those in the same line.
pub fn all(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes);
    let pairs = lines.flat_map(|line| line.split(|byte| *byte == b';'));
    let pairs = pairs.filter(|pair| pair.is_ascii()).filter_map(|pair| str::from_utf8(pair).ok());
    pairs.filter_map(|pair| pair.trim_matches([' ', '\t']).split_once('='))
}

/// A cookie that a browser is to hold.
#[derive(Debug, Clone, Copy)]
pub struct Cookie<'a> {
    /// Its name.
    pub name: &'a str,
    /// The path below which it is sent.
    pub path: &'a str,
    /// Whether it goes over TLS alone.
    pub https: bool,
}

impl Cookie<'_> {
    /// Gives the browser the cookie.
    pub fn set(self, headers: &mut HeaderMap, value: &str, max_age_s: i64) {
        let Self { name, path, https } = self;
        let secure = if https { "; Secure" } else { "" };
        let cookie = format!(
            "{name}={value}; Path={path}; Max-Age={max_age_s}; HttpOnly; SameSite=Lax{secure}"
        );
        // Names, slugs and the alphabets of secrets and tokens are ASCII.
        if let Ok(mut cookie) = HeaderValue::from_str(&cookie) {
            cookie.set_sensitive(true);
            headers.append(header::SET_COOKIE, cookie);
        }
    }

    /// Takes it back.
    pub fn clear(self, headers: &mut HeaderMap) {
        self.set(headers, "", 0);
    }
}
