//! What an app's pages may do.

use rookery::pages::policy::{CDN_SOURCES, PagePolicy, sandbox_preflight_headers};
use rookery_domain::manifest::{Capability, Manifest};

fn directive(csp: &str, name: &str) -> String {
    csp.split("; ")
        .find_map(|d| d.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with(' ')))
        .map(|rest| rest.trim().to_owned())
        .unwrap_or_else(|| panic!("no {name} in {csp}"))
}

fn csp(manifest: &Manifest, unrestricted: bool) -> String {
    PagePolicy { unrestricted, ..PagePolicy::of_manifest(manifest) }.content_security_policy()
}

#[test]
fn an_app_that_declares_nothing_reaches_nothing_but_itself() {
    let csp = csp(&Manifest::default(), false);
    for (name, wanted) in [
        ("default-src", "'self'"),
        ("script-src", "'self' 'unsafe-inline' 'wasm-unsafe-eval'"),
        ("style-src", "'self' 'unsafe-inline'"),
        ("connect-src", "'self'"),
        ("img-src", "'self' data: blob:"),
        ("frame-src", "'none'"),
        ("worker-src", "'self' blob:"),
        ("object-src", "'none'"),
        ("form-action", "'self'"),
        ("frame-ancestors", "'none'"),
    ] {
        assert_eq!(directive(&csp, name), wanted);
    }
    assert!(!csp.contains("'unsafe-eval'") && !csp.contains("sandbox"), "{csp}");
}

#[test]
fn hosts_embeds_and_cdn_go_where_they_belong() {
    let manifest = Manifest {
        external_hosts: vec!["https://api.example".into(), "https://*.img.example".into()],
        embeds: vec!["https://video.example".into()],
        cdn: true,
        ..Manifest::default()
    };
    let csp = csp(&manifest, false);
    let hosts = "https://api.example https://*.img.example";
    assert_eq!(directive(&csp, "connect-src"), format!("'self' {hosts}"));
    assert_eq!(directive(&csp, "img-src"), format!("'self' data: blob: {hosts}"));
    assert_eq!(directive(&csp, "frame-src"), "https://video.example");
    let cdns = CDN_SOURCES.join(" ");
    assert_eq!(
        directive(&csp, "script-src"),
        format!("'self' 'unsafe-inline' 'wasm-unsafe-eval' {cdns}")
    );
    assert_eq!(directive(&csp, "style-src"), format!("'self' 'unsafe-inline' {cdns}"));
    assert_eq!(directive(&csp, "default-src"), "'self'");
}

#[test]
fn unrestricted_lifts_connections_images_and_frames_and_nothing_else() {
    let csp = csp(&Manifest::default(), true);
    for name in ["connect-src", "img-src", "frame-src"] {
        assert_eq!(directive(&csp, name), "* data: blob:");
    }
    assert_eq!(directive(&csp, "script-src"), "'self' 'unsafe-inline' 'wasm-unsafe-eval'");
    assert_eq!(directive(&csp, "frame-ancestors"), "'none'");
}

#[test]
fn only_declared_capabilities_are_granted() {
    let manifest = Manifest { capabilities: vec![Capability::Microphone], ..Manifest::default() };
    let policy = PagePolicy::of_manifest(&manifest).permissions_policy();
    let parts: Vec<_> = policy.split(", ").collect();
    for wanted in ["camera=()", "microphone=(self)", "geolocation=()", "payment=()", "usb=()"] {
        assert!(parts.contains(&wanted), "{wanted} in {policy}");
    }
}

#[test]
fn a_source_cannot_smuggle_a_directive() {
    let manifest = Manifest {
        external_hosts: vec![
            "https://a.example; script-src *".into(),
            "https://b.example,c".into(),
            "https://d.example\r\nx: y".into(),
            "https://ok.example".into(),
        ],
        ..Manifest::default()
    };
    assert_eq!(directive(&csp(&manifest, false), "connect-src"), "'self' https://ok.example");
    let headers = PagePolicy::of_manifest(&manifest).headers();
    assert!(headers.contains_key("content-security-policy"));
}

#[test]
fn path_mode_is_a_sandbox_that_reaches_only_the_apps_own_path() {
    let manifest = Manifest { capabilities: vec![Capability::Camera], ..Manifest::default() };
    let policy = PagePolicy::of_manifest(&manifest).in_sandbox("https://rookery.example/a/guest/");
    let csp = policy.content_security_policy();
    assert_eq!(directive(&csp, "connect-src"), "https://rookery.example/a/guest/");
    let sandbox = directive(&csp, "sandbox");
    assert!(sandbox.contains("allow-scripts") && !sandbox.contains("same-origin"), "{sandbox}");
    assert!(!sandbox.contains("top-navigation") && !csp.contains("'self'"), "{csp}");
    assert!(policy.permissions_policy().contains("camera=*"));
    let headers = policy.headers();
    assert_eq!(headers["cross-origin-resource-policy"], "cross-origin");
    assert_eq!(headers["access-control-allow-origin"], "*");
    let preflight = sandbox_preflight_headers();
    assert!(!preflight.contains_key("access-control-allow-credentials"));
}

#[test]
fn every_answer_of_an_app_carries_the_fence() {
    let manifest = Manifest::default();
    let headers = PagePolicy::of_manifest(&manifest).headers();
    for (name, wanted) in [
        ("x-frame-options", "DENY"),
        ("referrer-policy", "strict-origin-when-cross-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("origin-agent-cluster", "?1"),
        ("x-dns-prefetch-control", "off"),
    ] {
        assert_eq!(headers[name], wanted, "{name}");
    }
    assert!(!headers.contains_key("access-control-allow-origin"));
}
