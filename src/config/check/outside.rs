//! Settings of what is elsewhere: the database, providers, push services, collectors. Whether they can
//! be right, and not whether they answer.

use std::path::Path;

use rookery_domain::email::Email;
use rookery_storage::DatabaseUrl;
use secrecy::ExposeSecret as _;
use url::Url;

use super::{fail, is_host_name};
use crate::{
    config::{AppsMode, Config, ConfigError},
    outbound::egress::trusted_origin,
};

/// What the address of a database may carry behind its question mark.
const DATABASE_PARAMETERS: [&str; 18] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

/// Those that name a file, or hold what would be in it (PEM, RFC 7468).
const DATABASE_FILES: [&str; 7] =
    ["sslrootcert", "ssl-root-cert", "ssl-ca", "sslcert", "ssl-cert", "sslkey", "ssl-key"];

fn is_missing(name: &str, file: &str) -> bool {
    let is_file = DATABASE_FILES.contains(&name) && !file.starts_with("-----BEGIN");
    // Who asks may not see what the service does.
    is_file && Path::new(file).try_exists().is_ok_and(|there| !there)
}

/// The driver would pass over a parameter that it does not know, and log its value.
pub(super) fn database(url: &str) -> Result<(), ConfigError> {
    if url.is_empty() {
        return Ok(());
    }
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return fail("storage.database_url: must be empty (SQLite) or begin with postgres://");
    }
    let address = DatabaseUrl(url.to_owned());
    let Ok(url) = Url::parse(url) else {
        return fail(
            "storage.database_url: cannot be read; in a password, percent-encode what is special \
             in an address (# is %23, / is %2F, ? is %3F)",
        );
    };
    let is_known = |name: &str| DATABASE_PARAMETERS.contains(&name) || name.starts_with("options[");
    let Some((name, _)) = url.query_pairs().find(|(name, _)| !is_known(name)) else {
        if let Some((name, _)) = url.query_pairs().find(|(name, file)| is_missing(name, file)) {
            // The value may be a key itself, with a typing mistake.
            return fail(&format!("storage.database_url: the file that {name} names is not there"));
        }
        return match address.is_readable() {
            true => Ok(()),
            false => fail(
                "storage.database_url: a parameter behind its ? has a value that it cannot have",
            ),
        };
    };
    // What follows a question mark in a password looks like one.
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_-".contains(&byte));
    fail(&match is_word {
        true => format!("storage.database_url: unknown parameter {name:?}"),
        false => "storage.database_url: unknown parameter; in a password, ? is %3F".to_owned(),
    })
}

pub(super) fn traces(config: &Config) -> Result<(), ConfigError> {
    let traces = &config.traces;
    if crate::traces::headers(traces.headers.expose_secret()).is_none() {
        return fail(
            "traces.headers: must be name=value pairs with commas between, percent-encoded (% is %25)",
        );
    }
    let sound = Url::parse(&traces.endpoint).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.query().is_none()
            && url.fragment().is_none()
            // Errors name the address; what is secret belongs into the headers.
            && url.username().is_empty()
            && url.password().is_none()
    });
    if !traces.endpoint.is_empty() && !sound {
        return fail(
            "traces.endpoint: must be an http or https address without credentials and query",
        );
    }
    Ok(())
}

pub(super) fn push(config: &Config) -> Result<(), ConfigError> {
    let contact = &config.push.contact;
    if !contact.is_empty() && !is_contact(contact) {
        return fail("push.contact: must be mailto: with an address, or an https:// address");
    }
    if config.push.trusted_origins.iter().any(|it| trusted_origin(it).is_none()) {
        return fail(
            "push.trusted_origins: must be origins such as https://push.example.org (http on loopback)",
        );
    }
    Ok(())
}

/// Whether somebody can be turned to there (RFC 8292, section 2.1).
fn is_contact(text: &str) -> bool {
    match text.strip_prefix("mailto:") {
        Some(address) => Email::parse(address).is_ok(),
        None => Url::parse(text).is_ok_and(|url| url.scheme() == "https" && url.has_host()),
    }
}

pub(super) fn idp(config: &Config) -> Result<(), ConfigError> {
    let idp = &config.idp;
    if idp.issuer.is_empty() {
        let alone = !idp.client_id.is_empty() || !idp.client_secret.expose_secret().is_empty();
        return if alone {
            fail("idp.issuer: needed, because others of idp are set")
        } else {
            Ok(())
        };
    }
    let sound = Url::parse(&idp.issuer).is_ok_and(|url| {
        let loopback =
            url.scheme() == "http" && crate::http::loopback::is_loopback_url(&idp.issuer);
        (url.scheme() == "https" || loopback)
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
    });
    if !sound {
        return fail("idp.issuer: must be an https address without query and fragment");
    }
    if idp.client_id.is_empty() {
        return fail("idp.client_id: needed, because idp.issuer is set");
    }
    Ok(())
}

pub(super) fn challenge(config: &Config) -> Result<(), ConfigError> {
    let challenge = &config.challenge;
    let mut api = challenge.api.bytes();
    let begins = api.next().is_none_or(|byte| byte.is_ascii_alphabetic() || b"_$".contains(&byte));
    if !begins || !api.all(|byte| byte.is_ascii_alphanumeric() || b"_$".contains(&byte)) {
        return fail("challenge.api: must be the name of an object, such as turnstile");
    }
    if let Some(source) = challenge.page_sources.iter().find(|source| !is_source(source)) {
        return fail(&format!(
            "challenge.page_sources: {source:?} is no source of a policy, such as \
             https://frames.example.org"
        ));
    }
    if challenge.verify_url.is_empty() {
        let alone = [
            challenge.secret.expose_secret(),
            &challenge.site_key,
            &challenge.script_url,
            &challenge.api,
        ];
        let alone = alone.iter().any(|it| !it.is_empty()) || !challenge.page_sources.is_empty();
        return match alone {
            true => fail("challenge.verify_url: needed, because others of challenge are set"),
            false => Ok(()),
        };
    }
    for (name, text) in
        [("verify_url", &challenge.verify_url), ("script_url", &challenge.script_url)]
    {
        if !is_outside_address(text) {
            return fail(&format!("challenge.{name}: must be an https address"));
        }
    }
    let missing = [
        ("secret", challenge.secret.expose_secret().is_empty()),
        ("site_key", challenge.site_key.is_empty()),
        ("api", challenge.api.is_empty()),
    ];
    match missing.into_iter().find(|(_, is_missing)| *is_missing) {
        Some((name, _)) => {
            fail(&format!("challenge.{name}: needed, because challenge.verify_url is set"))
        }
        None => Ok(()),
    }
}

/// Whether `text` names one host, or those below one, in a page's policy, and nothing beside it.
fn is_source(text: &str) -> bool {
    // What ends a source, a directive or a policy, or is a keyword.
    if text.bytes().any(|byte| !byte.is_ascii_graphic() || b";,'\"".contains(&byte)) {
        return false;
    }
    let (scheme, rest) = text.split_once("://").unwrap_or(("https", text));
    let Ok(url) = Url::parse(&format!("{scheme}://{}", rest.strip_prefix("*.").unwrap_or(rest)))
    else {
        return false;
    };
    let is_local = scheme == "http" && crate::http::loopback::is_loopback_url(text);
    (matches!(scheme, "https" | "wss") || is_local)
        && url.host_str().is_some_and(|host| is_local || (host.contains('.') && is_host_name(host)))
        && url.username().is_empty()
        && url.query().is_none()
        && url.fragment().is_none()
}

pub(super) fn domains(config: &Config) -> Result<(), ConfigError> {
    let domains = &config.domains;
    let resolver = &domains.resolver;
    if !resolver.is_empty() && resolver.parse::<std::net::SocketAddr>().is_err() {
        return fail("domains.resolver: must be an address with a port, such as 9.9.9.9:53");
    }
    if !is_outside_address(&domains.api_url) || domains.api_url.ends_with('/') {
        return fail("domains.api_url: must be an https address without a slash at the end");
    }
    let set = [
        ("api_token", !domains.api_token.expose_secret().is_empty()),
        ("zone_id", !domains.zone_id.is_empty()),
        ("cname_target", !domains.cname_target.is_empty()),
    ];
    if set.iter().all(|(_, is_set)| !is_set) {
        return Ok(());
    }
    if let Some((name, _)) = set.iter().find(|(_, is_set)| !is_set) {
        return fail(&format!("domains.{name}: needed, because others of domains are set"));
    }
    if config.apps_mode == AppsMode::Path {
        return fail("domains.api_token: custom domains need apps_mode = \"subdomain\"");
    }
    if !domains.zone_id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return fail("domains.zone_id: must be letters and digits");
    }
    if !matches!(url::Host::parse(&domains.cname_target), Ok(url::Host::Domain(_))) {
        return fail("domains.cname_target: must be a DNS name");
    }
    Ok(())
}

/// Whether `text` is an https address without a user; http on loopback will do, for trying it out.
fn is_outside_address(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        let loopback = url.scheme() == "http" && crate::http::loopback::is_loopback_url(text);
        (url.scheme() == "https" || loopback) && url.has_host() && url.username().is_empty()
    })
}
