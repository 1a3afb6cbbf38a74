//! Errors as browsers see them: a page with the status that a program gets, and nothing of JSON.

use reqwest::Method;
use rookery_domain::ErrorCode;

use super::{GET, POST};
use crate::harness::{Answer, TestServer};

/// What a browser that loads a page sends along.
async fn load(server: &TestServer, method: Method, path: &str) -> Answer {
    let request = server.request(method, path).header("accept", "text/html,*/*;q=0.8");
    Answer::of(request.header("sec-fetch-mode", "navigate")).await
}

#[track_caller]
fn is_page<'a>(answer: &'a Answer, status: u16, title: &str) -> &'a Answer {
    assert_eq!(answer.status, status, "{}", answer.text);
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
    assert!(answer.header("content-security-policy").contains("default-src 'none'"));
    assert_eq!(answer.header("cache-control"), "no-store");
    answer.says(&format!("<h1>{title}</h1>")).hides("\"error\"")
}

#[tokio::test]
async fn a_browser_that_goes_astray_is_shown_a_page() {
    let server = TestServer::start().await;
    for path in ["/nothing", "/static/none.css", "/apps", "/orgs/x/y"] {
        is_page(&load(&server, GET, path).await, 404, "Nothing is here").says("Go to the start");
    }
    is_page(&load(&server, GET, "/authorize?app=none").await, 404, "No such app");
    let no_page = "/v1/auth/verify?token=x&redirect_to=%2F%2Fevil.example";
    for path in ["/authorize", "/sign-in?redirect_to=%2F%2Fevil.example", no_page] {
        is_page(&load(&server, GET, path).await, 400, "This address does not work");
    }
    is_page(&load(&server, GET, "/v1/auth/idp").await, 501, "Not offered here");
    load(&server, GET, "/v1/auth/none").await.error(ErrorCode::NotFound);
    let verb = load(&server, Method::DELETE, "/sign-in").await;
    is_page(&verb, 405, "Nothing is here");
    assert_eq!(verb.header("allow"), "GET,HEAD,POST");
    let ada = server.human("ada@example.org").await;
    let request = server.request(POST, "/orgs").header("accept", "text/html");
    let forged = request.header("cookie", ada.cookie).header("origin", "https://evil.example");
    let forged = forged.form(&[("name", "Rooks")]);
    is_page(&Answer::of(forged).await, 403, "Not allowed");
    let head = load(&server, Method::HEAD, "/nothing").await;
    assert_eq!((head.status, &*head.text), (404, ""));
}

#[tokio::test]
async fn a_program_gets_the_envelope_as_ever() {
    let server = TestServer::start().await;
    let plain = async |path: &str, headers: &[(&str, &str)]| {
        let request = server.request(GET, path);
        let request = headers.iter().fold(request, |it, (name, value)| it.header(*name, *value));
        Answer::of(request).await
    };
    plain("/nothing", &[]).await.error(ErrorCode::NotFound);
    plain("/nothing", &[("accept", "application/json")]).await.error(ErrorCode::NotFound);
    let refused = [("accept", "text/html;q=0, application/json")];
    plain("/nothing", &refused).await.error(ErrorCode::NotFound);
    let loud = plain("/nothing", &[("accept", "TEXT/HTML")]).await;
    is_page(&loud, 404, "Nothing is here");
    for either in [&loud, &plain("/nothing", &[]).await] {
        assert_eq!(either.header("vary"), "accept, sec-fetch-mode");
    }
    let script = [("accept", "text/html"), ("sec-fetch-mode", "cors")];
    plain("/nothing", &script).await.error(ErrorCode::NotFound);
    // The API is for programs, whoever looks at it.
    load(&server, GET, "/v1/nothing").await.error(ErrorCode::NotFound);
    load(&server, GET, "/v1/self/profile").await.error_of_its_own(ErrorCode::Unauthorized);
}

#[tokio::test]
async fn a_crowded_network_is_told_so_in_words() {
    let builder = TestServer::builder();
    let server = builder
        .set("ROOKERY__RATE_LIMIT__PER_MINUTE", "1")
        .set("ROOKERY__RATE_LIMIT__BURST", "1")
        .start()
        .await;
    assert_eq!(load(&server, GET, "/sign-in").await.status, 200);
    let crowded = load(&server, GET, "/sign-in").await;
    is_page(&crowded, 429, "Slow down a little");
    assert!(crowded.header("retry-after").parse::<u64>().expect("seconds") > 0);
    assert!(crowded.header("ratelimit").starts_with("\"default\""));
}

#[tokio::test]
async fn a_slash_behind_the_address_of_a_page_leads_to_the_page() {
    let server = TestServer::start().await;
    for (typed, page) in [
        ("/agents/", "/agents"),
        ("/sign-in/?redirect_to=%2Fagents", "/sign-in?redirect_to=%2Fagents"),
        ("/apps/app_1/data/entries/", "/apps/app_1/data/entries"),
        ("/docs/", "/docs"),
        ("//", "/"),
    ] {
        for method in [GET, Method::HEAD] {
            let answer = load(&server, method, typed).await;
            assert_eq!((answer.status, answer.header("location")), (308, page), "{typed}");
        }
    }
    // What is no page stays an error, and nothing leads to another host.
    for path in ["/nothing/", "/agents//", "//evil.example/", "/v1/openapi.json/", "/v1/apps/"] {
        server.get(path).await.error(ErrorCode::NotFound);
    }
    Answer::of(server.request(POST, "/agents/")).await.error(ErrorCode::NotFound);
}
