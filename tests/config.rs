//! Settings: where they come from, which one wins, and how a wrong one stops the start.

use std::io::Write as _;

use rookery::{
    boot,
    config::{self, Environment},
};
use rookery_actors::{AppHosts, RuntimeOptions};
use rookery_domain::limits::Limits;
use secrecy::ExposeSecret as _;

/// More bytes than any setting may name.
const BYTES_TOO_MANY: u64 = (1 << 50) + 1;

fn load(pairs: &[(&str, &str)]) -> Result<config::Config, String> {
    let environment: Environment = pairs.iter().copied().collect();
    config::load(None, &environment).map_err(|error| error.to_string())
}

#[test]
fn the_documented_defaults_are_the_rules_own() {
    let config = load(&[]).unwrap();
    assert_eq!(config.limits, Limits::default());
    let hosts = AppHosts::Below("localhost".to_owned());
    let shown = |options: RuntimeOptions| format!("{options:#?}");
    assert_eq!(shown(boot::runtime_options(&config, hosts)), shown(RuntimeOptions::default()));
    assert_eq!(config.log.level, config::Log::LEVEL_AS_SHIPPED);
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.ops.listen.to_string(), "127.0.0.1:8081");
    assert_eq!(config.server.drain_timeout_s, 10);
    assert_eq!((config.rate_limit.per_minute, config.rate_limit.burst), (1_200, 200));
    assert_eq!(config.feed.waiters_per_ip_max, 2_000);
}

#[test]
fn the_environment_wins_over_the_file_and_the_file_over_the_defaults() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "[limits]\nmax_embeds = 7\nmax_rows_per_app = 8\n[log]\nformat = \"json\"")
        .unwrap();
    let environment: Environment =
        [("MAX_ROWS_PER_APP", "9"), ("MAX_EMBEDS_UNRELATED", "x")].into_iter().collect();
    let config = config::load(Some(file.path()), &environment).unwrap();
    assert_eq!((config.limits.max_embeds, config.limits.max_rows_per_app), (7, 9));
    assert_eq!(config.log.format, config::LogFormat::Json);
    let named = file.path().to_str().unwrap();
    assert_eq!(load(&[("ROOKERY_CONFIG", named)]).unwrap().limits.max_embeds, 7);
}

#[test]
fn the_source_documents_names_work_as_they_are() {
    let config = load(&[
        ("REGISTRATION_MODE", "closed"),
        ("MAX_STORAGE_BYTES_PER_APP", "1024"),
        ("NOTIFY_EXTERNAL_ENABLED", "true"),
        ("COMMUNITY_REVIEW_OPERATOR_EMAILS", "a@example.org, b@example.org"),
        ("SMTP_URL", "smtp://mail.example.org"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
    ])
    .unwrap();
    assert_eq!(config.registration.mode, config::RegistrationMode::Closed);
    assert_eq!(config.limits.max_storage_bytes_per_app, 1024);
    assert!(config.limits.notify_external_enabled);
    assert_eq!(config.community.review_operator_emails, ["a@example.org", "b@example.org"]);
    assert_eq!(config.mail.smtp_url.expose_secret(), "smtp://mail.example.org");
    assert_eq!(config.traces.endpoint, "http://collector:4318");
}

#[test]
fn proxies_of_ipv4_are_known_however_they_are_written() {
    let written =
        "::ffff:127.0.0.1, ::ffff:10.0.0.0/104, ::ffff:0:0/96, 10.0.0.1, ::1, 2001:db8::/32";
    let config = load(&[("ROOKERY__SERVER__TRUSTED_PROXIES", written)]).unwrap();
    let read: Vec<_> = config.server.trusted_proxies.iter().map(ToString::to_string).collect();
    let meant =
        ["127.0.0.1/32", "10.0.0.0/8", "0.0.0.0/0", "10.0.0.1/32", "::1/128", "2001:db8::/32"];
    assert_eq!(read, meant);
}

#[test]
fn a_wrong_setting_is_named_in_one_line() {
    for (name, value, named) in [
        ("ROOKERY__SERVER__PORT", "1", "ROOKERY__SERVER__PORT"),
        ("ROOKERY__SERVER", "1", "ROOKERY__SERVER"),
        ("ROOKERY__LIMITS__MAX_EMBEDS", "many", "ROOKERY__LIMITS__MAX_EMBEDS"),
        ("MAX_MANIFEST_BYTES", "-1", "MAX_MANIFEST_BYTES"),
        ("REGISTRATION_MODE", "half", "(in environment: REGISTRATION_MODE)"),
        ("ROOKERY__REGISTRATION__MODE", "half", "(in environment: ROOKERY__REGISTRATION__MODE)"),
        ("ROOKERY__SERVER__LISTEN", "everywhere", "server.listen"),
        ("ROOKERY__SERVER__PUBLIC_URL", "ftp://x", "server.public_url"),
        ("ROOKERY__SERVER__PUBLIC_URL", "http://x/", "server.public_url"),
        ("ROOKERY__SERVER__PUBLIC_URL", "http://x/path", "server.public_url"),
        ("ROOKERY__SERVER__TRUSTED_PROXIES", "10.0.0.0/99", "server.trusted_proxies"),
        ("ROOKERY__SERVER__TRUSTED_PROXIES", "::ffff:10.0.0.0/95", "a prefix of 96 to 128"),
        ("ROOKERY__SERVER__IDLE_TIMEOUT_S", "0", "server.idle_timeout_s"),
        ("ROOKERY__SERVER__MIN_CLI_VERSION", "one", "server.min_cli_version"),
        ("ROOKERY__SERVER__DRAIN_TIMEOUT_S", "0", "server.drain_timeout_s"),
        ("ROOKERY__METERS__ROLLUP_INTERVAL_S", "0", "meters.rollup_interval_s"),
        ("ROOKERY__METERS__RETENTION_DAYS", "0", "meters.retention_days"),
        ("ROOKERY__METERS__COUNTRY_HEADER", "cf-ipcountry", "meters.country_header"),
        ("ROOKERY__DATA_DIR", "", "data_dir"),
        ("ROOKERY__OPS__LISTEN", "0.0.0.0:9000", "ops.token"),
        ("ROOKERY__OPS__LISTEN", "127.0.0.1:8080", "ops.listen"),
        ("ROOKERY__SERVER__LISTEN", "0.0.0.0:8081", "ops.listen"),
        ("ROOKERY__OPS__TOKEN", "short", "ops.token"),
        ("ROOKERY__STORAGE__DATABASE_URL", "mysql://x", "storage.database_url"),
        ("ROOKERY__STORAGE__DATABASE_URL", "postgres://u@db:99999/x", "storage.database_url"),
        ("ROOKERY__STORAGE__DATABASE_URL", "postgres://u@db/x?sslkey=/no/key", "sslkey names"),
        ("ROOKERY__STORAGE__DATABASE_URL", "postgres://u@db/x?pasword=y", "\"pasword\""),
        ("ROOKERY__STORAGE__DATABASE_URL", "postgres://u:1?hunter2@db/x", "? is %3F"),
        ("ROOKERY__OPS__TOKEN", "sixteen letters ü", "ops.token"),
        ("ROOKERY__RATE_LIMIT__COUNTERS", "1000", "rate_limit.counters"),
        ("ROOKERY__IDP__CLIENT_ID", "alone", "idp.issuer"),
        ("ROOKERY__CHALLENGE__SECRET", "alone", "challenge.verify_url"),
        ("ROOKERY__CHALLENGE__API", "turnstile", "challenge.verify_url"),
        ("ROOKERY__CHALLENGE__SITE_KEY", "alone", "challenge.verify_url"),
        ("ROOKERY__CHALLENGE__SCRIPT_URL", "https://a.example/x.js", "challenge.verify_url"),
        ("ROOKERY__CHALLENGE__PAGE_SOURCES", "https://a.example", "challenge.verify_url"),
        ("ROOKERY__CHALLENGE__API", "nonsense (); x", "challenge.api"),
        ("ROOKERY__CHALLENGE__PAGE_SOURCES", "x; script-src *", "challenge.page_sources"),
        ("ROOKERY__CHALLENGE__PAGE_SOURCES", "https://a.example, *", "challenge.page_sources"),
        ("ROOKERY__CHALLENGE__PAGE_SOURCES", "'unsafe-inline'", "challenge.page_sources"),
        ("ROOKERY__DOMAINS__RESOLVER", "junk", "domains.resolver"),
        ("ROOKERY__PUSH__CONTACT", "mailto:", "push.contact"),
        ("ROOKERY__PUSH__CONTACT", "https://", "push.contact"),
        ("ROOKERY__APPS_DOMAIN", "*.example.org", "apps_domain"),
        ("ROOKERY__APPS_DOMAIN", ".example.org", "apps_domain"),
        ("ROOKERY__APPS_DOMAIN", "192.0.2.1", "apps_domain"),
        (
            "ROOKERY__STORAGE__DATABASE_URL",
            "postgres://u@db/x?sslmode=bogus",
            "storage.database_url",
        ),
        ("ROOKERY__SERVER__PUBLIC_URL", "http://board.localhost", "apps_domain"),
        ("ROOKERY__LOG__LEVEL", "rookery=loud", "log.level"),
        ("ROOKERY__LOG__LEVEL", "verbose", "log.level"),
        ("SMTP_URL", "mail.example.org", "mail.smtp_url"),
        ("ROOKERY__TRACES__ENDPOINT", "collector:4317", "traces.endpoint"),
        ("ROOKERY__TRACES__ENDPOINT", "http://user:secret@collector", "traces.endpoint"),
        ("ROOKERY__TRACES__HEADERS", "no header", "traces.headers"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter2%zz", "traces.headers"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter2%2", "traces.headers"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x%20y=1", "traces.headers"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=%0D%0Ax", "traces.headers"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=%FF", "traces.headers"),
        ("ROOKERY__TRACES__REQUESTS_PER_SECOND_MAX", "0", "traces.requests_per_second_max"),
    ] {
        let line = load(&[(name, value)]).expect_err(name);
        assert!(line.contains(named), "{name}={value}: {line}");
        assert!(!line.contains('\n') && !line.contains("hunter2"), "{line}");
    }
}

#[test]
fn a_variable_with_an_underscore_too_few_is_refused_with_the_name_that_was_meant() {
    for (name, meant) in [
        ("ROOKERY_DATA_DIR", ": ROOKERY__DATA_DIR"),
        ("ROOKERY_APPS_DOMAIN", ": ROOKERY__APPS_DOMAIN"),
        ("ROOKERY_APPS_MODE", ": ROOKERY__APPS_MODE"),
        ("ROOKERY_DATABASE_URL", ": ROOKERY__STORAGE__DATABASE_URL"),
        ("ROOKERY_SERVER_LISTEN", ": ROOKERY__SERVER__LISTEN"),
        ("ROOKERY_STORAGE_DATABASE_URL", ": ROOKERY__STORAGE__DATABASE_URL"),
        ("ROOKERY_RATE__LIMIT__BURST", ": ROOKERY__RATE_LIMIT__BURST"),
        ("ROOKERY_LISTEN", ": ROOKERY__OPS__LISTEN or ROOKERY__SERVER__LISTEN"),
        ("ROOKERY_NO__SETTING", ""),
    ] {
        let line = load(&[(name, "hunter2")]).expect_err(name);
        let said = format!("{name}: settings begin with ROOKERY__ (two underscores){meant}");
        assert_eq!(line, said);
    }
    // What other programs read, and what Kubernetes sets for a service of this name.
    for name in [
        "ROOKERY_OPS_URL",
        "ROOKERY_OPS_TOKEN",
        "ROOKERY_KEY",
        "ROOKERY_SESSION",
        "ROOKERY_BIN",
        "ROOKERY_TEST_DATABASE",
        "ROOKERY_SERVICE_HOST",
        "ROOKERY_PORT_8080_TCP_ADDR",
    ] {
        load(&[(name, "hunter2")]).unwrap_or_else(|line| panic!("{line}"));
    }
}

#[test]
fn what_a_challenges_widget_needs_is_taken_as_providers_document_it() {
    let sources = "https://hcaptcha.com,https://*.hcaptcha.com,https://www.google.com/recaptcha/,\
                   challenges.cloudflare.com,wss://live.example:8443,http://127.0.0.1:9000";
    let config = load(&[
        ("ROOKERY__CHALLENGE__VERIFY_URL", "https://hcaptcha.com/siteverify"),
        ("ROOKERY__CHALLENGE__SCRIPT_URL", "https://hcaptcha.com/1/api.js"),
        ("ROOKERY__CHALLENGE__SECRET", "hunter2"),
        ("ROOKERY__CHALLENGE__SITE_KEY", "key"),
        ("ROOKERY__CHALLENGE__PAGE_SOURCES", sources),
        ("ROOKERY__CHALLENGE__API", "grecaptcha"),
    ]);
    assert_eq!(config.unwrap().challenge.page_sources.len(), 6);
}

#[test]
fn apps_and_site_have_domains_of_their_own() {
    let with = |site: &str, apps: &str| {
        load(&[("ROOKERY__SERVER__PUBLIC_URL", site), ("ROOKERY__APPS_DOMAIN", apps)])
    };
    for (site, apps) in [
        ("https://x.example", "apps.x.example"),
        ("https://x.example", "x-apps.example"),
        ("http://localhost:8080", ""),
        ("http://localhost", "localhost"),
        ("https://ax.example", "x.example"),
    ] {
        with(site, apps).unwrap_or_else(|line| panic!("{site}, {apps}: {line}"));
    }
    for (site, apps) in
        [("https://x.example", "X.example"), ("https://a.x.example:8443", "x.example")]
    {
        let line = with(site, apps).expect_err(site);
        assert!(line.starts_with("apps_domain: "), "{line}");
    }
}

#[test]
fn no_number_may_be_as_large_as_one_can_write_it() {
    let mut section = String::new();
    let mut seen = 0;
    for line in config::DEFAULTS.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name.to_owned();
        }
        let Some((key, value)) = line.split_once(" = ") else { continue };
        // Of these a u32 is taken as it is: so many in a second, or a minute.
        let is_rate = key == "requests_per_second_max" || section == "rate_limit";
        if value.parse::<u64>().is_err() {
            continue;
        }
        seen += 1;
        let variable = format!("ROOKERY__{section}__{key}").to_uppercase();
        if is_rate {
            let line = load(&[(&variable, &u64::MAX.to_string())]).expect_err(&variable);
            assert!(line.starts_with(&format!("{section}.{key}: must be at most ")), "{line}");
            continue;
        }
        let mut bounds = Vec::new();
        for largest in [u64::MAX, i64::MAX as u64, u64::from(u32::MAX) << 20, 4_000_000_000] {
            // Some bytes are more than four billion.
            if key.contains("bytes") && largest < BYTES_TOO_MANY {
                continue;
            }
            let line = load(&[(&variable, &largest.to_string())]).expect_err(&variable);
            let bound = line.strip_prefix(&format!("{section}.{key}: must be ")).expect(&line);
            let bound =
                bound.strip_prefix("at most ").or(bound.strip_prefix("1 to ")).expect(&line);
            bounds.push(bound.split(' ').next().expect("a number").to_owned());
        }
        // Also where the number does not fit into what holds the setting.
        bounds.dedup();
        assert_eq!(bounds.len(), 1, "{variable}: {bounds:?}");
    }
    assert!(seen >= 30, "{seen}");
}

/// Why a settings file with this text is refused, in a line that names the file.
fn refused_file(text: &str) -> String {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let error = config::load(Some(file.path()), &Environment::default()).unwrap_err().to_string();
    assert!(error.contains(file.path().file_name().unwrap().to_str().unwrap()), "{error}");
    error
}

#[test]
fn an_unknown_setting_in_the_file_is_named_with_the_file() {
    let error = refused_file("[server]\nlisten = \"127.0.0.1:1\"\nport = 8080\n");
    assert!(error.starts_with("server.port: no such setting (in "), "{error}");
    assert!(load(&[("ROOKERY_CONFIG", "/no/such/file.toml")]).unwrap_err().contains("not found"));
}

#[test]
fn a_value_of_another_type_in_the_file_is_told_in_the_words_of_the_environment() {
    for (text, said) in [
        (
            "[limits]\nmax_embeds = \"many\"",
            "limits.max_embeds: expected a whole number, 0 or more",
        ),
        ("[limits]\nmax_embeds = -1", "limits.max_embeds: expected a whole number, 0 or more"),
        ("[limits]\nmax_embeds = 1.5", "limits.max_embeds: expected a whole number, 0 or more"),
        ("[rate_limit]\nburst = 5000000000", "rate_limit.burst: must be at most 4294967295"),
        ("[rate_limit]\nburst = 0", "rate_limit.burst: must be at least 1"),
        ("[server]\nidle_timeout_s = 3601", "server.idle_timeout_s: must be at most 3600"),
        ("[ops]\nactions = \"yes\"", "ops.actions: expected true or false"),
        ("server = 1", "server: expected a section"),
        ("[server]\nlisten = 80", "server.listen: expected text"),
        ("[server]\ntrusted_proxies = \"::1\"", "server.trusted_proxies: expected a list"),
        ("[server]\ntrusted_proxies = [1]", "server.trusted_proxies.0: expected text"),
        ("[ops]\ntoken = 5", "ops.token: expected text"),
        ("data_dir = 5", "data_dir: expected text"),
        ("data_dir = {}", "data_dir: expected text"),
        ("apps_mode = true", "apps_mode: expected text"),
        ("apps_mode = 7", "apps_mode: expected text"),
        ("apps_mode = \"host\"", "apps_mode: expected one of subdomain, path"),
    ] {
        let line = refused_file(text);
        assert!(line.starts_with(&format!("{said} (in ")), "{text}: {line}");
    }
}

#[test]
fn a_file_that_is_no_toml_is_refused_without_what_its_lines_say() {
    for (text, place) in [
        ("[mail]\nsmtp_url = smtps://user:hunter2@mail.example.org:465\n", "line 2, column 12"),
        ("[server]\nkey = hunter2\n", "line 2, column 7"),
        ("[ops]\ntoken = \"hunter2\nactions = true\n", "line 2, column"),
        ("[ops]\ntoken = \"a\"\ntoken = \"hunter2\"\n", "line 3, column 1"),
        ("[ops]\ntoken = \"\"\"\n| hunter2\n", "line"),
        ("hunter2\n", "line 1, column"),
    ] {
        let line = refused_file(text);
        assert!(line.contains(place), "{line}");
        assert!(!line.contains("hunter2") && !line.contains('\n'), "{line}");
    }
}

#[test]
fn what_is_in_force_is_printed_without_secrets() {
    let canary = "canary-canary-canary";
    let database = format!("postgres://u:{canary}@db/x");
    let pairs = [
        ("ROOKERY__OPS__TOKEN", canary),
        ("ROOKERY__STORAGE__DATABASE_URL", &database),
        ("SMTP_URL", &format!("smtps://u:{canary}@mail")),
        ("OTEL_EXPORTER_OTLP_HEADERS", &format!("authorization=Bearer {canary}")),
        ("MAX_EMBEDS", "3"),
    ];
    let environment: Environment = pairs.into_iter().collect();
    let (config, text) = config::describe(None, &environment).unwrap();
    assert!(!text.contains(canary), "{text}");
    assert!(text.contains("token = \"***\" # environment"), "{text}");
    assert!(text.contains("max_embeds = 3 # environment"), "{text}");
    assert!(text.contains("\nmax_external_hosts = 50\n"), "{text}");
    assert!(!format!("{config:?}").contains(canary));
}

#[test]
fn every_setting_is_documented_beside_its_default() {
    let mut documented = false;
    for line in config::DEFAULTS.lines() {
        match line.trim() {
            "" => documented = false,
            line if line.starts_with('#') => documented = true,
            line if line.starts_with('[') => documented = false,
            line => assert!(documented, "no comment above {line}"),
        }
    }
}
