//! Whether the settings are what they have to be, and fit together. How large numbers may be is told
//! in [`bounds`](super::bounds).

mod outside;

use std::net::SocketAddr;

use rookery_domain::{cli_version::CliVersion, email::Email};
use secrecy::ExposeSecret as _;
use url::Url;

use self::outside::{challenge, database, domains, idp, push, traces};
use super::{AppsMode, Config, ConfigError};
use crate::http::body::BodyBound;

/// Shortest accepted `ops.token`, in characters.
const OPS_TOKEN_LEN_MIN: usize = 16;

pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    if config.data_dir.as_os_str().is_empty() {
        return fail("data_dir: must name a folder");
    }
    server(config)?;
    apps(config)?;
    ops(config)?;
    database(config.storage.database_url.expose_secret())?;
    mail(config)?;
    push(config)?;
    idp(config)?;
    challenge(config)?;
    domains(config)?;
    for address in &config.community.review_operator_emails {
        if Email::parse(address).is_err() {
            let name = "community.review_operator_emails";
            return fail(&format!("{name}: {address:?} is not an e-mail address"));
        }
    }
    if !config.rate_limit.counters.is_power_of_two() {
        return fail("rate_limit.counters: must be a power of two");
    }
    if !config.meters.country_header.is_empty() && config.server.trusted_proxies.is_empty() {
        return fail(
            "meters.country_header: needs server.trusted_proxies, which alone are believed",
        );
    }
    if crate::log::filter(&config.log.level).is_none() {
        return fail("log.level: must be a level or filter directives");
    }
    traces(config)
}

fn ops(config: &Config) -> Result<(), ConfigError> {
    let token = config.ops.token.expose_secret();
    if token.is_empty() && !config.ops.listen.ip().is_loopback() {
        return fail("ops.token: needed, because ops.listen is not a loopback address");
    }
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return fail("ops.token: must be ASCII without spaces, as a header carries it");
    }
    if !token.is_empty() && token.len() < OPS_TOKEN_LEN_MIN {
        return fail(&format!("ops.token: needs at least {OPS_TOKEN_LEN_MIN} characters"));
    }
    if is_same_place(config.server.listen, config.ops.listen) {
        return fail(
            "ops.listen: must differ from server.listen (0.0.0.0 and [::] are every address: take \
             another port)",
        );
    }
    Ok(())
}

fn mail(config: &Config) -> Result<(), ConfigError> {
    let smtp = config.mail.smtp_url.expose_secret();
    if let Some(line) = Some(smtp).filter(|url| !url.is_empty()).and_then(crate::mail::problem) {
        return fail(line);
    }
    if config.mail.from.parse::<lettre::message::Mailbox>().is_err() {
        return fail("mail.from: must be an address such as Rookery <rookery@example.org>");
    }
    Ok(())
}

/// Whether two listeners surely cannot have both. `[::]` takes IPv4's addresses as well where the system is
/// not set otherwise, which a start finds out.
fn is_same_place(one: SocketAddr, other: SocketAddr) -> bool {
    let (ours, theirs) = (one.ip(), other.ip());
    let is_any = ours.is_unspecified() || theirs.is_unspecified();
    one.port() == other.port()
        && one.port() != 0
        && (ours == theirs || (is_any && ours.is_ipv4() == theirs.is_ipv4()))
}

fn server(config: &Config) -> Result<(), ConfigError> {
    let server = &config.server;
    let key = server.key.expose_secret();
    if !key.is_empty() && crate::boot::parse_key(key).is_none() {
        return fail("server.key: must have 64 hexadecimal digits");
    }
    let largest = BodyBound::Deploy.bytes_max(&config.limits).saturating_mul(2);
    if server.bodies_bytes_max < largest {
        let name = "server.bodies_bytes_max";
        return fail(&format!("{name}: must be at least {largest}, twice the largest deploy"));
    }
    for (name, text) in [("public_url", &server.public_url), ("docs_url", &server.docs_url)] {
        if text.is_empty() {
            continue;
        }
        let url = Url::parse(text).ok().filter(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && url.query().is_none()
                && url.fragment().is_none()
                && url.username().is_empty()
                && !text.ends_with('/')
        });
        let Some(url) = url else {
            return fail(&format!(
                "server.{name}: must be an http or https address without a slash at the end"
            ));
        };
        if name == "public_url" && url.path() != "/" {
            return fail("server.public_url: must be an origin, without a path");
        }
    }
    if !server.min_cli_version.is_empty() && CliVersion::parse(&server.min_cli_version).is_err() {
        return fail("server.min_cli_version: must be a version such as 1.4.0");
    }
    Ok(())
}

fn apps(config: &Config) -> Result<(), ConfigError> {
    let domain = &config.apps_domain;
    if !domain.is_empty() && !is_host_name(domain) {
        return fail("apps_domain: must be a host name, such as rookery-apps.example");
    }
    if config.apps_mode == AppsMode::Subdomain && is_among_apps(&config.server.public_url, domain) {
        return fail(
            "apps_domain: must not be the domain of server.public_url nor above it: apps would share \
             cookies with the site, or take its name",
        );
    }
    Ok(())
}

/// Whether `text` is a name that hosts can be below of: no address, no wildcard, no empty label.
fn is_host_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        !label.is_empty() && label.bytes().all(is_word)
    };
    match url::Host::parse(text) {
        Ok(url::Host::Domain(name)) => name.split('.').all(is_label),
        _ => false,
    }
}

/// Whether the site would stand at the domain of the apps, or below it as they do. On `localhost`,
/// where nobody is to be kept apart, it stands at it.
fn is_among_apps(public_url: &str, apps_domain: &str) -> bool {
    let site = Url::parse(public_url).ok().and_then(|url| url.host_str().map(str::to_owned));
    let (Some(site), apps) = (site, apps_domain.to_ascii_lowercase()) else { return false };
    let apps = if apps.is_empty() { "localhost".to_owned() } else { apps };
    (site == apps && apps != "localhost") || site.ends_with(&format!(".{apps}"))
}

fn fail(line: &str) -> Result<(), ConfigError> {
    Err(ConfigError(line.to_owned()))
}
