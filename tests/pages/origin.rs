//! Which app a host or path names, and the addresses of apps.

use proptest::prelude::*;
use rookery::{
    config::AppsMode,
    pages::origin::{HostMatch, Origins},
};
use rookery_actors::AppHosts;

fn local() -> Origins {
    Origins::new("http://localhost:8080", "", AppsMode::Subdomain).unwrap()
}

fn app(slug: &str) -> HostMatch {
    HostMatch::App(slug.to_owned())
}

#[test]
fn out_of_the_box_apps_live_below_localhost() {
    let origins = local();
    assert_eq!(origins.site_origin(), "http://localhost:8080");
    assert_eq!(origins.app_origin("my-app"), "http://my-app.localhost:8080");
    assert_eq!(origins.app_url("my-app"), "http://my-app.localhost:8080/");
    assert_eq!(origins.sdk_src("my-app"), "/s/sdk.js");
    assert_eq!(origins.any_app_source().as_deref(), Some("http://*.localhost:8080"));
    for host in [
        "my-app.localhost:8080",
        "MY-App.LocalHost:8080",
        "my-app.localhost.:8080",
        "my-app.localhost",
        "my-app.localhost:9000",
    ] {
        assert_eq!(origins.classify(host), app("my-app"), "{host}");
    }
    for host in [
        "localhost:8080",
        "LOCALHOST",
        "localhost.",
        "127.0.0.1:8080",
        "127.1.2.3",
        "[::1]:8080",
        "[0:0::1]",
    ] {
        assert_eq!(origins.classify(host), HostMatch::Site, "{host}");
    }
}

#[test]
fn in_production_apps_live_below_their_domain() {
    let origins =
        Origins::new("https://rookery.example", "Apps.Example", AppsMode::Subdomain).unwrap();
    assert!(origins.is_https());
    assert_eq!(origins.app_url("abc"), "https://abc.apps.example/");
    assert_eq!(origins.classify("abc.apps.example"), app("abc"));
    assert_eq!(origins.classify("rookery.example:443"), HostMatch::Site);
    for host in [
        "localhost",
        "127.0.0.1",
        "apps.example",
        "abc.rookery.example",
        "evilapps.example",
        "a.b.apps.example",
        "abc.apps.example.evil",
    ] {
        assert_eq!(origins.classify(host), HostMatch::Unknown, "{host}");
    }
}

#[test]
fn what_is_not_strictly_a_host_is_unknown() {
    for host in [
        "",
        ".",
        "..",
        "ab.localhost",
        "-abc.localhost",
        "xn--abc.localhost",
        "abc-.localhost",
        "a_b.localhost",
        "abc..localhost",
        ".localhost",
        "abc.localhost..",
        "abc.localhost:",
        "abc.localhost:x",
        "abc.localhost:+80",
        "abc.localhost:65536",
        "abc.localhost:80:80",
        "user@abc.localhost",
        "abc.localhost/x",
        "abc.localhost ",
        " abc.localhost",
        "abc%2elocalhost",
        "äbc.localhost",
        "abc.localhost\0",
        "[::1",
        "[::1]x",
        "[zz]",
        "::1",
        "localhost,abc.localhost",
    ] {
        assert_eq!(local().classify(host), HostMatch::Unknown, "{host:?}");
    }
    let long = format!("{}.localhost", "a".repeat(64));
    assert_eq!(local().classify(&long), HostMatch::Unknown);
    let longest = "a".repeat(63);
    assert_eq!(local().classify(&format!("{longest}.localhost")), app(&longest));
}

#[test]
fn in_path_mode_apps_live_below_the_site() {
    let origins = Origins::new("https://rookery.example", "", AppsMode::Path).unwrap();
    assert!(origins.is_path_mode());
    assert_eq!(origins.app_hosts(), AppHosts::Site("rookery.example".to_owned()));
    assert_eq!(origins.app_url("abc"), "https://rookery.example/a/abc/");
    assert_eq!(origins.sdk_src("abc"), "/a/abc/s/sdk.js");
    assert_eq!(origins.any_app_source(), None);
    assert_eq!(origins.classify("abc.rookery.example"), HostMatch::Unknown);
    assert_eq!(origins.split_path("/a/abc/"), Some(("abc", "/")));
    assert_eq!(origins.split_path("/a/abc/s/feed"), Some(("abc", "/s/feed")));
    assert_eq!(origins.split_path("/a/abc"), Some(("abc", "")));
    for path in ["/a/", "/a", "/a/ab/", "/a/ABC/", "/a/a%62c/", "/b/abc/", "/a//abc/", "/"] {
        assert_eq!(origins.split_path(path), None, "{path}");
    }
    assert_eq!(local().split_path("/a/abc/"), None);
}

#[test]
fn a_wrong_setting_is_refused_by_its_name() {
    for (url, domain, names) in [
        ("localhost:8080", "", "server.public_url"),
        ("ftp://x.example", "a.example", "server.public_url"),
        ("https://x.example/base", "a.example", "server.public_url"),
        ("https://u:p@x.example", "a.example", "server.public_url"),
        ("https://x.example/?q", "a.example", "server.public_url"),
        ("https://x.example", "", "apps_domain"),
        ("https://x.example", "127.0.0.1", "apps_domain"),
        ("https://x.example", "a b", "apps_domain"),
    ] {
        let error = Origins::new(url, domain, AppsMode::Subdomain).unwrap_err();
        assert!(error.message.contains(names), "{error}");
    }
}

proptest! {
    #[test]
    fn every_slug_finds_its_way_back(slug in "[a-z0-9][a-z0-9-]{1,61}[a-z0-9]") {
        prop_assume!(rookery_domain::slug::is_well_formed(&slug));
        for origins in [local(), Origins::new("https://s.example", "a.example", AppsMode::Subdomain).unwrap()] {
            let url = url::Url::parse(&origins.app_url(&slug)).unwrap();
            prop_assert_eq!(origins.classify(url.authority()), app(&slug));
        }
    }

    #[test]
    fn no_authority_makes_it_panic(host in "\\PC{0,40}") {
        if let HostMatch::App(slug) = local().classify(&host) {
            prop_assert!(host.to_ascii_lowercase().starts_with(&slug));
        }
    }
}
