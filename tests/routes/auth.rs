//! Browser sign-in: links, sessions, the development mailbox and the pages around them.

use std::os::unix::fs::PermissionsExt as _;

use futures::future::join_all;
use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::json;

use crate::harness::{Answer, START, TestServer, encoded, rounds};

/// Clicks that race for one link.
const RACERS: usize = 64;
/// Races in turn.
const ROUNDS: usize = 16;
const LINK: &str = "/v1/auth/request-link";
/// Return paths that lead elsewhere, or might.
const BAD_PATHS: &[&str] = &[
    "//evil.example",
    "/\\evil.example",
    "https://evil.example",
    "https://app@evil.example",
    "javascript:alert(1)",
    "evil.example",
    "/%2f/evil.example",
    "/a/../../x",
    "/a\nb",
    // What signs somebody in by being opened.
    "/v1/auth/verify?token=x",
    "/a/garden/s/callback?grant=x",
];

/// Checks that a link signed nobody in, and that no key is advised, which would not help.
#[track_caller]
fn refuses_link(answer: &Answer) {
    let error = answer.error_of_its_own(ErrorCode::Unauthorized);
    let hint = error["hint"].as_str().expect("a hint");
    assert!(hint.contains("/v1/auth/request-link") && !hint.contains("Bearer"), "{hint}");
}

#[tokio::test]
async fn whoever_is_not_signed_in_is_not_advised_a_key_where_none_does() {
    let server = TestServer::start().await;
    for path in ["/v1/self/profile", "/v1/self/usage"] {
        refuses_link(&Answer::of(server.request(Method::GET, path)).await);
    }
}

#[tokio::test]
async fn a_mailed_link_signs_in_and_leads_on() {
    let server = TestServer::start().await;
    let token = server.link_token("Ada@Example.org", Some("/device?user_code=X#here")).await;
    let mail = server.mails("ada@example.org").await.remove(0);
    assert_eq!(mail["to"], "ada@example.org");
    assert_eq!(mail["subject"], "Your sign-in link");
    let link = format!("{}/sign-in/confirm?token={token}", server.public_url());
    assert!(mail["text"].as_str().unwrap().contains(&link));
    assert!(mail["html"].as_str().unwrap().contains(&format!("href=\"{link}\"")));

    let page = server.get(&format!("/sign-in/confirm?token={token}")).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains(&token) && !page.text.contains("<script"));
    assert_eq!(page.header("cache-control"), "no-store");

    let answer = server.get(&format!("/v1/auth/verify?token={token}")).await;
    assert_eq!(answer.status, 303);
    assert_eq!(answer.header("location"), "/device?user_code=X#here");
    let cookie = answer.header("set-cookie");
    let (_, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax");
    assert!(cookie.starts_with("service_session=rk_sess_"), "{cookie}");
    let agents = server.request(Method::GET, "/v1/self/agents").header("cookie", answer.cookie());
    Answer::of(agents).await.expect(200);
}

#[tokio::test]
async fn who_is_led_to_a_link_from_elsewhere_is_asked_first() {
    let server = TestServer::start().await;
    let token = server.link_token("eve@example.org", Some("/device")).await;
    let path = format!("/v1/auth/verify?token={token}");
    let led_from = |site: &'static str| {
        let request = server.request(Method::GET, &path).header("sec-fetch-mode", "navigate");
        Answer::of(request.header("sec-fetch-site", site))
    };
    // What came by mail or by chat, and what was typed, look the same: `none`.
    for site in ["same-site", "cross-site", "none"] {
        let asked = led_from(site).await;
        assert_eq!(asked.status, 303, "{site}: {}", asked.text);
        assert!(!asked.headers.contains_key("set-cookie"), "{site} signs in");
        let page = server.get(asked.header("location")).await;
        assert_eq!(page.status, 200);
        assert!(page.text.contains("eve@example.org"), "whom it signs in: {}", page.text);
    }
    // What is no token at all cannot lead anywhere else.
    let strange = server.request(Method::GET, "/v1/auth/verify?token=%0d%0a%26x%23");
    let strange = Answer::of(strange.header("sec-fetch-site", "cross-site")).await;
    assert_eq!(strange.header("location"), "/sign-in/confirm?token=%0D%0A%26x%23");
    // Nothing was spent, and the button of the page works.
    let signed_in = led_from("same-origin").await;
    assert_eq!((signed_in.status, signed_in.header("location")), (303, "/device"));
    assert!(signed_in.cookie().starts_with("service_session=rk_sess_"));
}

#[tokio::test]
async fn over_https_the_cookie_is_bound_to_the_host() {
    let server = TestServer::builder()
        .set("ROOKERY__SERVER__PUBLIC_URL", "https://example.org")
        .set("ROOKERY__APPS_DOMAIN", "apps.example.org")
        .start()
        .await;
    let out = Answer::of(server.request(Method::POST, "/v1/auth/logout")).await;
    let cookie = out.header("set-cookie");
    assert!(cookie.starts_with("__Host-service_session=; Path=/; Max-Age=0;"), "{cookie}");
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    // Nobody reads the mail of a public server over HTTP, and nothing says that a link arrives.
    server.get("/dev/mailbox").await.error(ErrorCode::NotFound);
    let status = server.get("/v1/auth/status").await.expect(200);
    assert_eq!(status, json!({"magic_link": false, "idp": false}));
    let form = server.request(Method::POST, "/sign-in").form(&[("email", "ada@example.org")]);
    let page = server.get(Answer::of(form).await.header("location")).await;
    assert!(page.text.contains("<h1>No mail can be sent</h1>"), "{}", page.text);
}

#[tokio::test]
async fn known_and_unknown_addresses_get_the_same_answer() {
    let server = TestServer::start().await;
    server.human("known@example.org").await;
    let mut answers = Vec::new();
    for email in ["known@example.org", "unknown@example.org"] {
        let request = server.request(Method::POST, LINK).json(&json!({"email": email}));
        let answer = Answer::of(request.header("x-request-id", "same")).await;
        answers.push((answer.status, answer.text));
    }
    assert_eq!(answers[0].0, 202);
    assert_eq!(answers[0], answers[1]);
    for bad in ["", "nobody", "a b@example.org", "a@[127.0.0.1]", "a@b@c d"] {
        let request = server.request(Method::POST, LINK).json(&json!({"email": bad}));
        Answer::of(request).await.error(ErrorCode::InvalidRequest);
    }
}

#[tokio::test]
async fn a_link_is_built_from_the_settings_whatever_the_request_says() {
    let server = TestServer::start().await;
    let request = server.request(Method::POST, LINK).json(&json!({"email": "ada@example.org"}));
    let request = request.header("x-forwarded-host", "evil.example");
    let request = request.header("forwarded", "host=evil.example;proto=https");
    Answer::of(request.header("x-original-host", "evil.example")).await.expect(202);
    let request = server.request(Method::POST, LINK).json(&json!({"email": "ada@example.org"}));
    Answer::of(request.header("host", "evil.example")).await.expect(202);
    let form = server.request(Method::POST, "/sign-in").header("host", "evil.example");
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(Answer::of(form.body("email=ada%40example.org")).await.status, 303);
    let mails = server.mails("ada@example.org").await;
    assert_eq!(mails.len(), 3);
    for mail in mails {
        let mail = mail.to_string();
        assert!(!mail.contains("evil"), "{mail}");
        assert!(mail.contains(&format!("{}/sign-in/confirm", server.public_url())));
    }
}

#[tokio::test]
async fn a_link_signs_in_once_however_many_click() {
    let server = TestServer::start().await;
    let mut path = String::new();
    for _ in 0..rounds(ROUNDS) {
        let token = server.link_token("ada@example.org", None).await;
        path = format!("/v1/auth/verify?token={token}");
        let answers = join_all((0..RACERS).map(|_| server.get(&path))).await;
        let won = answers.iter().filter(|answer| answer.status == 303).count();
        assert_eq!(won, 1);
        for late in answers.iter().filter(|answer| answer.status != 303) {
            refuses_link(late);
            assert!(!late.headers.contains_key("set-cookie"));
        }
    }
    let browser = server.request(Method::GET, &path).header("accept", "text/html");
    let page = Answer::of(browser).await;
    assert_eq!(page.status, 401);
    assert!(page.text.contains("no longer works"), "{}", page.text);
}

#[tokio::test]
async fn neither_head_nor_a_prefetch_nor_the_confirm_page_spends_a_link() {
    let server = TestServer::start().await;
    let token = server.link_token("ada@example.org", None).await;
    let path = format!("/v1/auth/verify?token={token}");
    let head = Answer::of(server.request(Method::HEAD, &path)).await;
    assert!(!head.headers.contains_key("set-cookie"));
    let prefetch = server.request(Method::GET, &path).header("sec-purpose", "prefetch;prerender");
    assert_eq!(Answer::of(prefetch).await.status, 204);
    for method in [Method::GET, Method::HEAD] {
        Answer::of(server.request(method, &format!("/sign-in/confirm?token={token}"))).await;
    }
    assert_eq!(server.get(&path).await.status, 303);
}

#[tokio::test]
async fn a_link_ends_after_15_minutes() {
    let server = TestServer::start().await;
    let token = server.link_token("ada@example.org", None).await;
    server.state().clock.set(START.plus_seconds(900));
    let path = format!("/v1/auth/verify?token={token}");
    refuses_link(&server.get(&path).await);
    for wrong in ["nonsense", &token[1..], &token[..token.len() - 1]] {
        let answer = server.get(&format!("/v1/auth/verify?token={wrong}")).await;
        refuses_link(&answer);
    }
    server.get("/v1/auth/verify").await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn a_return_path_stays_on_the_site() {
    let server = TestServer::start().await;
    for path in BAD_PATHS {
        let body = json!({"email": "ada@example.org", "redirect_to": path});
        let answer = Answer::of(server.request(Method::POST, LINK).json(&body)).await;
        let error = answer.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().unwrap().contains("redirect_to"), "{path}");
        let page = server.get(&format!("/sign-in?redirect_to={}", encoded(path))).await;
        page.error(ErrorCode::InvalidRequest);
    }
    assert!(server.mails("ada@example.org").await.is_empty());
    // An empty one is none, and no other path can be slipped in at the end.
    let token = server.link_token("ada@example.org", Some("")).await;
    let path = format!("/v1/auth/verify?token={token}&redirect_to=//evil.example");
    server.get(&path).await.error(ErrorCode::InvalidRequest);
    assert_eq!(server.get(&format!("/v1/auth/verify?token={token}")).await.header("location"), "/");
}

#[tokio::test]
async fn a_session_slides_for_30_days_and_its_cookie_with_it() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let day = 86_400;
    let look = || Answer::of(server.by(&human, Method::GET, "/v1/self/agents"));
    assert!(!look().await.headers.contains_key("set-cookie"));
    let home = Answer::of(server.by(&human, Method::GET, "/")).await;
    let path = format!("/static/{}", home.between("href=\"/static/", "\""));
    server.state().clock.set(START.plus_seconds(29 * day));
    // Not with what a cache may keep for others.
    let style = Answer::of(server.by(&human, Method::GET, &path)).await;
    assert!(style.header("cache-control").starts_with("public"), "{path}: {}", style.status);
    assert!(!style.headers.contains_key("set-cookie"));
    assert_eq!(look().await.cookie(), human.cookie);
    server.state().clock.set(START.plus_seconds(58 * day));
    look().await.expect(200);
    let server = server.restart().await;
    let look = || Answer::of(server.by(&human, Method::GET, "/v1/self/agents"));
    server.state().clock.set(START.plus_seconds(87 * day));
    look().await.expect(200);
    server.state().clock.set(START.plus_seconds(118 * day));
    look().await.error_of_its_own(ErrorCode::Unauthorized);
}

#[tokio::test]
async fn signing_out_ends_the_session_at_once_and_only_from_the_site() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let path = "/v1/auth/logout";
    for origin in ["null", "http://evil.example"] {
        let request = server.request(Method::POST, path).header("cookie", &human.cookie);
        let answer = Answer::of(request.header("origin", origin)).await;
        answer.error(ErrorCode::CsrfOriginMismatch);
    }
    // What another site posts carries no cookie; its answer must not take it back either.
    let posted = server.request(Method::POST, path).header("origin", "http://evil.example");
    let answer = Answer::of(posted).await;
    answer.error(ErrorCode::CsrfOriginMismatch);
    assert!(!answer.headers.contains_key("set-cookie"));
    let agent = server.agent(&human).await;
    for (bearer, code) in
        [("nonsense", ErrorCode::Unauthorized), (&*agent.key, ErrorCode::Forbidden)]
    {
        // Who asks comes before what is asked.
        for path in [path.to_owned(), format!("{path}?x=1")] {
            let both = server.by(&human, Method::POST, &path).bearer_auth(bearer);
            Answer::of(both).await.error(code);
        }
    }
    let stray = server.by(&human, Method::POST, &format!("{path}?x=1"));
    Answer::of(stray).await.error(ErrorCode::InvalidRequest);
    let out = Answer::of(server.by(&human, Method::POST, path)).await;
    assert_eq!(out.status, 204);
    assert!(out.header("set-cookie").starts_with("service_session=; Path=/; Max-Age=0;"));
    let after = Answer::of(server.by(&human, Method::GET, "/v1/self/agents")).await;
    after.error_of_its_own(ErrorCode::Unauthorized);
    // With a session that has ended, and without any: nothing to do, no error.
    assert_eq!(Answer::of(server.by(&human, Method::POST, path)).await.status, 204);
    assert_eq!(Answer::of(server.request(Method::POST, path)).await.status, 204);
}

#[tokio::test]
async fn one_address_is_one_account_and_each_sign_in_a_session_of_its_own() {
    let server = TestServer::start().await;
    let first = server.human("ada@example.org").await;
    let agent = server.agent(&first).await;
    let second = server.human("ADA@EXAMPLE.ORG").await;
    assert_ne!(first.cookie, second.cookie);
    let list = Answer::of(server.by(&second, Method::GET, "/v1/self/agents")).await.expect(200);
    assert_eq!(list["items"][0]["id"], agent.id);
    Answer::of(server.by(&first, Method::POST, "/v1/auth/logout")).await;
    Answer::of(server.by(&second, Method::GET, "/v1/self/agents")).await.expect(200);
}

#[tokio::test]
async fn the_mailbox_answers_this_machine_only() {
    let server = TestServer::start().await;
    server.link_token("ada@example.org", None).await;
    let status = server.get("/v1/auth/status").await.expect(200);
    assert_eq!(status, json!({"magic_link": true, "idp": false}));
    for header in ["x-forwarded-for", "forwarded", "x-forwarded-host", "x-forwarded-proto", "via"] {
        let request = server.request(Method::GET, "/dev/mailbox").header(header, "127.0.0.1");
        Answer::of(request).await.error(ErrorCode::Forbidden);
    }
    // As a proxy asks that is told nothing.
    let old = server.request(Method::GET, "/dev/mailbox").version(reqwest::Version::HTTP_10);
    Answer::of(old).await.error(ErrorCode::Forbidden);
    let page = server.request(Method::GET, "/dev/mailbox").header("accept", "text/html");
    let page = Answer::of(page).await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.text.contains("/sign-in/confirm?token="));
    for (accept, kind) in [
        ("TEXT/HTML", "text/html; charset=utf-8"),
        ("text/html;q=0, application/json", "application/json"),
    ] {
        let page = server.request(Method::GET, "/dev/mailbox").header("accept", accept);
        let page = Answer::of(page).await;
        assert_eq!((page.header("content-type"), page.header("vary")), (kind, "accept"));
    }
    assert!(server.mails("other@example.org").await.is_empty());
    let typo = server.get("/dev/mailbox?for=ada@example.org").await;
    typo.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn the_sign_in_form_mails_a_link_and_explains_a_wrong_address() {
    let server = TestServer::start().await;
    let post = |form: &'static str| {
        let request = server.request(Method::POST, "/sign-in");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        Answer::of(request.body(form))
    };
    let sent = post("email=ada%40example.org&redirect_to=%2Fdevice").await;
    let sent = server.get(sent.header("location")).await;
    assert!(sent.text.contains("ada@example.org") && sent.text.contains("15 minutes"));
    assert_eq!(server.mails("ada@example.org").await.len(), 1);
    let wrong = post("email=%3Cscript%3E&redirect_to=").await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.text.contains("not an e-mail address") && !wrong.text.contains("<script>"));
    post("email=a%40b.c&redirect_to=%2F%2Fevil").await.error(ErrorCode::InvalidRequest);
    let welcome = server.get("/").await;
    assert!(welcome.text.contains("/dev/mailbox"), "{}", welcome.text);
}

#[tokio::test]
async fn no_secret_is_stored_in_clear_and_the_servers_key_is_the_owners_alone() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let agent = server.agent(&human).await;
    let code = server.claim_code(&human).await;
    let link = server.link_token("ada@example.org", None).await;
    let session = human.cookie.split_once('=').unwrap().1.to_owned();
    let mut files = 0;
    for entry in std::fs::read_dir(server.data_dir()).unwrap() {
        let path = entry.unwrap().path();
        let Ok(bytes) = std::fs::read(&path) else { continue };
        files += 1;
        for secret in [&agent.key, &code, &link, &session] {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{} holds a secret", path.display());
        }
    }
    assert!(files > 0);
    let key = std::fs::metadata(server.data_dir().join("server.key")).unwrap();
    assert_eq!((key.len(), key.permissions().mode() & 0o777), (32, 0o600));
}
