//! The service's own pages: what they escape, and what their policy admits.

use http::{HeaderMap, StatusCode};
use rookery::pages::{
    shell::{STYLE, Shell, page_headers, render},
    site::{
        ConfirmPage, DevicePage, DeviceStep, MailView, MailboxPage, SignInPage, SignInSentPage,
        WelcomePage,
    },
    status::StatusPage,
};

const EVIL: &str = "\"><script>alert(1)</script><b x='";

fn shell() -> Shell {
    Shell::new("http://localhost:8080", Some(EVIL.to_owned()))
}

fn device(step: DeviceStep) -> String {
    render(&DevicePage { shell: shell(), step }).unwrap()
}

/// Every page with hostile values in every place that takes one.
fn all_pages() -> Vec<(&'static str, String)> {
    let evil = || EVIL.to_owned();
    let mail = MailView {
        to: evil(),
        subject: evil(),
        text: format!("{EVIL} javascript:alert(1) http://localhost:8080/x?a=1&b={EVIL}"),
        sent_at: evil(),
    };
    let mut pages = vec![
        (
            "welcome",
            render(&WelcomePage {
                shell: shell(),
                dev_mailbox: true,
                takes_agents: true,
                is_lost: false,
                idp_href: Some("/v1/auth/idp".to_owned()),
            })
            .unwrap(),
        ),
        (
            "sign-in",
            render(&SignInPage {
                shell: shell(),
                email: evil(),
                redirect_to: evil(),
                app_name: Some(evil()),
                error: Some(evil()),
                idp_href: Some("/v1/auth/idp".to_owned()),
                is_lost: false,
            })
            .unwrap(),
        ),
        (
            "sign-in-sent",
            render(&SignInSentPage {
                shell: shell(),
                again: evil(),
                email: evil(),
                valid_minutes: 15,
                dev_mailbox: true,
                is_lost: false,
            })
            .unwrap(),
        ),
        (
            "confirm",
            render(&ConfirmPage { shell: shell(), token: evil(), address: evil() }).unwrap(),
        ),
        ("device-enter", device(DeviceStep::Enter { user_code: evil(), error: Some(evil()) })),
        (
            "device-review",
            device(DeviceStep::Review {
                user_code: evil(),
                agent_name: evil(),
                started_at: evil(),
            }),
        ),
        ("device-approved", device(DeviceStep::Approved { agent_name: evil() })),
        ("device-denied", device(DeviceStep::Denied { agent_name: evil() })),
        (
            "mailbox",
            render(&MailboxPage { shell: shell(), to: evil(), items: vec![mail] }).unwrap(),
        ),
    ];
    for (name, page) in statuses() {
        pages.push((name, render(&page).unwrap()));
    }
    pages
}

fn statuses() -> Vec<(&'static str, StatusPage)> {
    let evil = || EVIL.to_owned();
    vec![
        ("waking", StatusPage::waking(shell())),
        ("not-found", StatusPage::not_found(shell(), evil())),
        ("no-app", StatusPage::no_app(shell())),
        ("deleted", StatusPage::deleted(shell())),
        ("closed", StatusPage::closed(shell())),
        ("private", StatusPage::private(shell(), evil())),
        ("needs-link", StatusPage::needs_link(shell(), evil())),
        ("not-let-in", StatusPage::not_let_in(shell(), evil())),
        ("not-let-in-without-link", StatusPage::not_let_in_without_link(shell(), evil())),
        ("spent-link", StatusPage::spent_link(shell(), evil())),
        ("forbidden", StatusPage::forbidden(shell())),
        ("rate-limited", StatusPage::rate_limited(shell())),
        ("failed", StatusPage::failed(shell(), Some(evil()))),
        ("unavailable", StatusPage::unavailable(shell(), Some(evil()))),
    ]
}

#[test]
fn no_page_has_script_or_lets_a_value_out_of_its_place() {
    for (name, html) in all_pages() {
        for forbidden in ["<script", "<b x=", "href=\"javascript:", " style=", " onclick="] {
            assert!(!html.contains(forbidden), "{forbidden} in {name}:\n{html}");
        }
        assert_eq!(html.matches("<h1").count(), 1, "{name}");
        assert!(html.starts_with("<!doctype html>\n<html lang=\"en\">"), "{name}");
    }
}

#[test]
fn the_policy_admits_the_one_style_and_nothing_else() {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use sha2::{Digest, Sha256};
    let html = render(&StatusPage::no_app(shell())).unwrap();
    let style = html.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    assert_eq!(style, STYLE);
    let hash = STANDARD.encode(Sha256::digest(style.as_bytes()));
    let headers = page_headers(&["http://*.localhost:8080"]);
    let csp = headers["content-security-policy"].to_str().unwrap();
    assert!(csp.contains(&format!("style-src 'sha256-{hash}';")), "{csp}");
    assert!(csp.starts_with("default-src 'none';"), "{csp}");
    assert!(csp.ends_with("form-action 'self' http://*.localhost:8080"), "{csp}");
    assert!(!csp.contains("script-src") && !csp.contains("unsafe"), "{csp}");
    assert_eq!(headers["cache-control"], "no-store");
    assert_eq!(headers["referrer-policy"], "same-origin");
    assert_eq!(headers["x-frame-options"], "DENY");
}

#[test]
fn each_state_has_its_status_and_only_waking_comes_again() {
    let of = |wanted: &str| statuses().into_iter().find(|(name, _)| *name == wanted).unwrap().1;
    for (name, status) in [
        ("waking", 503),
        ("not-found", 404),
        ("no-app", 404),
        ("deleted", 410),
        ("closed", 410),
        ("private", 401),
        ("failed", 500),
        ("unavailable", 503),
    ] {
        assert_eq!(of(name).status, StatusCode::from_u16(status).unwrap(), "{name}");
    }
    for (name, page) in statuses() {
        let html = render(&page).unwrap();
        let headers: HeaderMap = page.headers();
        assert_eq!(html.contains("http-equiv=\"refresh\""), name == "waking", "{name}");
        assert_eq!(headers.contains_key("retry-after"), name == "waking", "{name}");
    }
}

#[test]
fn the_forms_say_what_the_routes_expect() {
    let review = device(DeviceStep::Review {
        user_code: "WDJB-MJHT".into(),
        agent_name: "Otto".into(),
        started_at: "now".into(),
    });
    for part in [
        "<form method=\"post\" action=\"/device?user_code=WDJB-MJHT\">",
        "name=\"user_code\" value=\"WDJB-MJHT\"",
        "name=\"decision\" value=\"approve\"",
        "name=\"decision\" value=\"deny\"",
        "Otto",
    ] {
        assert!(review.contains(part), "{part} in {review}");
    }
    let confirm =
        render(&ConfirmPage { shell: Shell::default(), token: "t".into(), address: String::new() })
            .unwrap();
    assert!(confirm.contains("<form method=\"get\" action=\"/v1/auth/verify\">"));
    assert!(confirm.contains("name=\"token\" value=\"t\""));
    assert_eq!(confirm.matches("<button").count(), 1);
}

#[test]
fn the_links_of_a_mail_are_found_in_order_and_bounded() {
    let mail = |text: &str| MailView {
        to: String::new(),
        subject: String::new(),
        text: text.to_owned(),
        sent_at: String::new(),
    };
    let links =
        mail("Open <http://a/x?t=1>, or https://b/. Not ftp://c nor javascript:d. http://a/x?t=1");
    assert_eq!(links.links(), ["http://a/x?t=1", "https://b/"]);
    let many: String = (0..9).map(|n| format!("http://x/{n} ")).collect();
    assert_eq!(mail(&many).links().len(), 5);
}

#[test]
fn everyday_pages_are_small_and_written_out_for_pictures() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&folder).unwrap();
    let guest = || Shell::new("http://localhost:8080", None);
    let ada = || Shell::new("http://localhost:8080", Some("ada@example.com".to_owned()));
    let device = |step| render(&DevicePage { shell: ada(), step }).unwrap();
    let mail = MailView {
        to: "ada@example.com".into(),
        subject: "Your sign-in link".into(),
        text: "Hello,\n\nopen this link to sign in:\n\nhttp://localhost:8080/sign-in/confirm?token=abc\n\n\
               It works once, for 15 minutes."
            .into(),
        sent_at: "2027-01-15T08:30:00.000Z".into(),
    };
    let sign_in = SignInPage {
        shell: guest(),
        email: "ada@".into(),
        redirect_to: "/".into(),
        app_name: Some("guestbook".into()),
        error: Some("email: this is not an address".into()),
        idp_href: Some("/v1/auth/idp".into()),
        is_lost: false,
    };
    let sent = SignInSentPage {
        shell: guest(),
        again: "/sign-in".into(),
        email: "ada@example.com".into(),
        valid_minutes: 15,
        dev_mailbox: true,
        is_lost: false,
    };
    let link = || "http://localhost:8080/authorize?app=guestbook".to_owned();
    let pages = [
        (
            "welcome",
            render(&WelcomePage {
                shell: ada(),
                dev_mailbox: true,
                takes_agents: true,
                is_lost: false,
                idp_href: None,
            })
            .unwrap(),
        ),
        ("sign-in", render(&sign_in).unwrap()),
        ("sign-in-sent", render(&sent).unwrap()),
        (
            "confirm",
            render(&ConfirmPage {
                shell: guest(),
                token: "abc".into(),
                address: "you@example.org".into(),
            })
            .unwrap(),
        ),
        ("device-enter", device(DeviceStep::Enter { user_code: String::new(), error: None })),
        (
            "device-review",
            device(DeviceStep::Review {
                user_code: "WDJB-MJHT".into(),
                agent_name: "Otto the gardener".into(),
                started_at: "2027-01-15 08:30 UTC".into(),
            }),
        ),
        ("device-approved", device(DeviceStep::Approved { agent_name: "Otto".into() })),
        (
            "mailbox",
            render(&MailboxPage { shell: guest(), to: String::new(), items: vec![mail] }).unwrap(),
        ),
        ("waking", render(&StatusPage::waking(guest())).unwrap()),
        ("not-found", render(&StatusPage::not_found(guest(), "/".into())).unwrap()),
        ("deleted", render(&StatusPage::deleted(guest())).unwrap()),
        ("closed", render(&StatusPage::closed(guest())).unwrap()),
        ("private", render(&StatusPage::private(guest(), link())).unwrap()),
        ("failed", render(&StatusPage::failed(guest(), Some("req_01h".into()))).unwrap()),
    ];
    for (name, html) in pages {
        assert!(html.len() < 10_000, "{name} has {} bytes", html.len());
        std::fs::write(folder.join(format!("{name}.html")), html).unwrap();
    }
}
