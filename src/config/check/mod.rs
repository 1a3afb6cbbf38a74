//! What no single setting can tell: ranges, and settings that contradict each other.

mod outside;

use std::net::SocketAddr;

use rookery_domain::{cli_version::CliVersion, email::Email, limits::Limits, time::DAY_S};
use secrecy::ExposeSecret as _;
use url::Url;

use self::outside::{challenge, database, domains, idp, push, traces};
use super::{AppsMode, Config, ConfigError};
use crate::http::body::BodyBound;

/// Shortest accepted `ops.token`, in characters.
const OPS_TOKEN_LEN_MIN: usize = 16;
/// Longest accepted timeout, in seconds.
const TIMEOUT_S_MAX: u64 = 3_600;
/// Most rate-limit counters: 128 MiB of them.
const COUNTERS_MAX: usize = 1 << 24;
/// Largest accepted count. Every integer that counts are kept in holds it.
const COUNT_MAX: u64 = 1_000_000_000;
/// Largest accepted number of bytes: 1 PiB.
const BYTES_MAX: u64 = 1 << 50;
/// Longest accepted number of days: a century. Instants so far from now can still be written.
const DAYS_MAX: u64 = 36_500;

pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    if config.data_dir.as_os_str().is_empty() {
        return fail("data_dir: must name a folder");
    }
    server(config)?;
    for address in &config.community.review_operator_emails {
        if Email::parse(address).is_err() {
            let name = "community.review_operator_emails";
            return fail(&format!("{name}: {address:?} is not an e-mail address"));
        }
    }
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
    let key = config.server.key.expose_secret();
    if !key.is_empty() && crate::boot::parse_key(key).is_none() {
        return fail("server.key: must have 64 hexadecimal digits");
    }
    database(config.storage.database_url.expose_secret())?;
    let smtp = config.mail.smtp_url.expose_secret();
    if let Some(line) = Some(smtp).filter(|url| !url.is_empty()).and_then(crate::mail::problem) {
        return fail(line);
    }
    if config.mail.from.parse::<lettre::message::Mailbox>().is_err() {
        return fail("mail.from: must be an address such as Rookery <rookery@example.org>");
    }
    push(config)?;
    idp(config)?;
    challenge(config)?;
    domains(config)?;
    count("screenshot.concurrency", config.screenshot.concurrency as u64)?;
    timeout("screenshot.timeout_s", config.screenshot.timeout_s)?;
    let counters = config.rate_limit.counters;
    if !counters.is_power_of_two() || counters > COUNTERS_MAX {
        return fail("rate_limit.counters: must be a power of two, at most 16777216");
    }
    positive("rate_limit.per_minute", u64::from(config.rate_limit.per_minute))?;
    positive("rate_limit.burst", u64::from(config.rate_limit.burst))?;
    timeout("mail.timeout_s", config.mail.timeout_s)?;
    let links = u64::from(config.mail.sign_in_links_per_hour);
    at_most("mail.sign_in_links_per_hour", links, COUNT_MAX)?;
    let of_network = u64::from(config.mail.sign_in_links_per_network);
    at_most("mail.sign_in_links_per_network", of_network, COUNT_MAX)?;
    let notices = u64::from(config.mail.notices_per_hour);
    at_most("mail.notices_per_hour", notices, COUNT_MAX)?;
    count("apps.mailbox_limit", config.apps.mailbox_limit as u64)?;
    within("apps.idle_after_s", config.apps.idle_after_s, DAYS_MAX * DAY_S.cast_unsigned())?;
    within("apps.memory_budget_bytes", config.apps.memory_budget_bytes, BYTES_MAX)?;
    count("feed.waiters_per_ip_max", config.feed.waiters_per_ip_max as u64)?;
    count("feed.retention_events", config.feed.retention_events)?;
    within("feed.retention_days", u64::from(config.feed.retention_days), DAYS_MAX)?;
    within("feed.retention_bytes", config.feed.retention_bytes, BYTES_MAX)?;
    timeout("meters.rollup_interval_s", config.meters.rollup_interval_s)?;
    within("meters.retention_days", u64::from(config.meters.retention_days), DAYS_MAX)?;
    if !config.meters.country_header.is_empty() && config.server.trusted_proxies.is_empty() {
        return fail(
            "meters.country_header: needs server.trusted_proxies, which alone are believed",
        );
    }
    limits(&config.limits)?;
    let largest = BodyBound::Deploy.bytes_max(&config.limits).saturating_mul(2);
    if config.server.bodies_bytes_max < largest {
        let name = "server.bodies_bytes_max";
        return fail(&format!("{name}: must be at least {largest}, twice the largest deploy"));
    }
    if crate::log::filter(&config.log.level).is_none() {
        return fail("log.level: must be a level or filter directives");
    }
    traces(config)
}

/// The bound of a number that is held in 32 bits: a larger one is refused before it is looked at here.
pub(super) fn most(setting: &str) -> u64 {
    match setting {
        "feed.retention_days"
        | "meters.retention_days"
        | "limits.deleted_app_retention_days"
        | "limits.deleted_row_retention_days" => DAYS_MAX,
        "mail.sign_in_links_per_hour"
        | "mail.sign_in_links_per_network"
        | "mail.notices_per_hour" => COUNT_MAX,
        _ => u64::from(u32::MAX),
    }
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

fn limits(limits: &Limits) -> Result<(), ConfigError> {
    count("limits.versions_kept", limits.versions_kept)?;
    count("limits.max_fresh_visitors_per_app", limits.max_fresh_visitors_per_app)?;
    count("limits.batch_rows_max", limits.batch_rows_max as u64)?;
    within("limits.row_bytes_max", limits.row_bytes_max as u64, BYTES_MAX)?;
    // These may be 0: none at all.
    for (name, value, max) in [
        ("max_apps_per_account", limits.max_apps_per_account, COUNT_MAX),
        ("max_domains_per_account", limits.max_domains_per_account, COUNT_MAX),
        ("max_rows_per_account", limits.max_rows_per_account, COUNT_MAX),
        ("max_rows_per_app", limits.max_rows_per_app, COUNT_MAX),
        ("max_storage_bytes_per_app", limits.max_storage_bytes_per_app, BYTES_MAX),
        ("max_collections_per_app", limits.max_collections_per_app as u64, COUNT_MAX),
        ("max_embeds", limits.max_embeds as u64, COUNT_MAX),
        ("max_external_hosts", limits.max_external_hosts as u64, COUNT_MAX),
        ("max_manifest_bytes", limits.max_manifest_bytes as u64, BYTES_MAX),
        ("max_schema_bytes", limits.max_schema_bytes as u64, BYTES_MAX),
        ("max_event_data_bytes", limits.max_event_data_bytes as u64, BYTES_MAX),
        ("html_bytes_max", limits.html_bytes_max as u64, BYTES_MAX),
        ("asset_files_max", limits.asset_files_max as u64, COUNT_MAX),
        ("asset_bytes_max", limits.asset_bytes_max as u64, BYTES_MAX),
        ("deleted_app_retention_days", u64::from(limits.deleted_app_retention_days), DAYS_MAX),
        ("deleted_row_retention_days", u64::from(limits.deleted_row_retention_days), DAYS_MAX),
    ] {
        at_most(&format!("limits.{name}"), value, max)?;
    }
    Ok(())
}

fn server(config: &Config) -> Result<(), ConfigError> {
    let server = &config.server;
    count("server.connections_max", server.connections_max as u64)?;
    timeout("server.header_timeout_s", server.header_timeout_s)?;
    timeout("server.idle_timeout_s", server.idle_timeout_s)?;
    timeout("server.body_timeout_s", server.body_timeout_s)?;
    timeout("server.write_timeout_s", server.write_timeout_s)?;
    timeout("server.drain_timeout_s", server.drain_timeout_s)?;
    within("server.bodies_bytes_max", server.bodies_bytes_max as u64, BYTES_MAX)?;
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
    let domain = &config.apps_domain;
    if !domain.is_empty() && !is_host_name(domain) {
        return fail("apps_domain: must be a host name, such as apps.example.org");
    }
    if config.apps_mode == AppsMode::Subdomain && is_among_apps(&server.public_url, domain) {
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

fn positive(name: &str, value: u64) -> Result<(), ConfigError> {
    if value == 0 { fail(&format!("{name}: must be at least 1")) } else { Ok(()) }
}

fn at_most(name: &str, value: u64, max: u64) -> Result<(), ConfigError> {
    if value > max { fail(&format!("{name}: must be at most {max}")) } else { Ok(()) }
}

fn within(name: &str, value: u64, max: u64) -> Result<(), ConfigError> {
    positive(name, value).and_then(|()| at_most(name, value, max))
}

fn count(name: &str, value: u64) -> Result<(), ConfigError> {
    within(name, value, COUNT_MAX)
}

fn timeout(name: &str, seconds: u64) -> Result<(), ConfigError> {
    if (1..=TIMEOUT_S_MAX).contains(&seconds) {
        Ok(())
    } else {
        fail(&format!("{name}: must be 1 to {TIMEOUT_S_MAX} seconds"))
    }
}

fn fail(line: &str) -> Result<(), ConfigError> {
    Err(ConfigError(line.to_owned()))
}
