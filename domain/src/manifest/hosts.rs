//! Hosts that an app reaches: the grammar of `externalHosts` and `embeds`, and of webhook targets.
//!
//! An entry is `https://host` or the bare `host`; both normalise to `https://host` with the host
//! in lowercase ASCII (IDNA). A port is refused even when it is 443: part 2.2 says "host only". A
//! webhook target is a whole URL and may have a port. What is not here: resolving names, and
//! refusing addresses inside a private network when a request goes out.

use std::collections::HashSet;

use serde_json::Value;
use url::{Host, Url};

use super::{
    Mode, ParseContext,
    shape::TopLevel,
    violations::{Violations, at, quoted, quoted_text},
};
use crate::{ErrorCode, Result, dns_name, public_net::is_public_name};

/// Characters of an origin, as DNS bounds a name plus the scheme.
const ORIGIN_CHARS_MAX: usize = 300;

type Checked<T> = std::result::Result<T, String>;

/// Reads `externalHosts` or `embeds`, normalised and in declared order.
///
/// # Errors
/// `code`, for entries outside the grammar, repeated, or naming the app itself.
pub(super) fn parse_list(
    top: &TopLevel<'_>,
    member: &str,
    code: ErrorCode,
    context: &ParseContext<'_>,
) -> Result<Vec<String>> {
    let mut violations = Violations::new(code);
    let mut origins: Vec<String> = Vec::new();
    let mut named = HashSet::new();
    for (index, value) in top.array(member).iter().enumerate() {
        let path = at(&at("", member), index);
        let Value::String(text) = value else {
            violations.push(path, format!("must be a string, not {}", quoted(value)));
            continue;
        };
        match origin(text) {
            // User information may be a password: such an entry is not repeated.
            Err(message) if text.contains('@') => violations.push(path, message),
            Err(message) => violations.push(path, format!("{}: {message}", quoted_text(text))),
            Ok(origin) if !named.insert(origin.clone()) => {
                violations.push(path, format!("{origin} is named twice"));
            }
            Ok(origin) => {
                let is_own = context.own_hosts.iter().any(|own| reaches(&origin, own));
                if is_own {
                    let shown = quoted_text(text);
                    violations.push(path, format!("{shown}: is the app's own origin"));
                }
                origins.push(origin);
            }
        }
    }
    top.finish(violations)?;
    Ok(origins)
}

/// Whether everything that the origin `new` admits, `old` admits too. Both are normalised entries
/// of `externalHosts` or `embeds`; `https://*.a.b` covers every name below `a.b`, not `a.b`.
#[must_use]
pub fn covers_host(old: &str, new: &str) -> bool {
    if old == new {
        return true;
    }
    let (Some(parent), Some(host)) = (old.strip_prefix("https://*"), new.strip_prefix("https://"))
    else {
        return false;
    };
    let host = host.strip_prefix('*').unwrap_or(host);
    host.len() > parent.len() && host.ends_with(parent)
}

fn reaches(origin: &str, own_host: &str) -> bool {
    covers_host(origin, &format!("https://{}", own_host.to_ascii_lowercase()))
}

fn origin(text: &str) -> Checked<String> {
    if text.chars().nth(ORIGIN_CHARS_MAX).is_some() {
        return Err(format!("has more than {ORIGIN_CHARS_MAX} characters"));
    }
    let rest = match text.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => rest,
        Some(_) => return Err("the scheme must be https".to_owned()),
        None => text,
    };
    let (wildcard, name) = match rest.strip_prefix("*.") {
        Some(name) => ("*.", name),
        None => ("", rest),
    };
    for (character, message) in [
        ('@', "must have no user information"),
        ('[', "must be a name, not an IP address"),
        (':', "must have no port"),
        ('/', "must have no path, not even /"),
        ('?', "must have no query"),
        ('#', "must have no fragment"),
        ('*', "may have one wildcard, as the first label of three or more, such as *.example.org"),
    ] {
        if name.contains(character) {
            return Err(message.to_owned());
        }
    }
    let host = domain(name)?;
    Ok(format!("https://{wildcard}{host}"))
}

/// A DNS name of two labels or more, as lowercase ASCII, and no IP address.
fn domain(name: &str) -> Checked<String> {
    let ascii = dns_name::to_ascii(name).ok_or_else(|| "is not a DNS name".to_owned())?;
    if !dns_name::is_name(&ascii) {
        return Err("must be a name, not an IP address".to_owned());
    }
    if !ascii.contains('.') {
        return Err("must have at least two labels, a wildcard aside".to_owned());
    }
    Ok(ascii)
}

/// The normalised form of a webhook target: a public https URL with no user information, no IP
/// literal and no fragment. Of a stored one the name is not judged anew.
///
/// # Errors
/// Says what the URL must not be.
pub(super) fn webhook_target(text: &str, mode: Mode) -> Checked<String> {
    if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err("must have no white space, control character or backslash".to_owned());
    }
    let url = Url::parse(text).map_err(|error| format!("is not a URL: {error}"))?;
    let authority = match text.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => {
            // A URL is read past any number of slashes there.
            rest.trim_start_matches('/').split(['/', '?', '#']).next().unwrap_or_default()
        }
        _ => return Err("must start with https://".to_owned()),
    };
    if authority.contains('@') {
        return Err("must have no user information".to_owned());
    }
    let host = match url.host() {
        Some(Host::Domain(name)) => domain(name)?,
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => {
            return Err("must be a name, not an IP address".to_owned());
        }
        None => return Err("has no host".to_owned()),
    };
    if mode == Mode::Check && !is_public_name(&host) {
        return Err("must be public".to_owned());
    }
    if url.port() == Some(0) {
        return Err("port 0 does not exist".to_owned());
    }
    if url.fragment().is_some() {
        return Err("must have no fragment".to_owned());
    }
    Ok(url.into())
}
