//! Who is signed in, who is not, and what keeps other sites' forms out.

use super::{GET, POST};
use crate::harness::{Answer, TestServer};

/// The pages that need a session.
const PAGES: &[&str] = &["/agents", "/usage", "/trash"];

#[tokio::test]
async fn a_page_sends_strangers_to_sign_in_and_back() {
    let server = TestServer::start().await;
    for page in PAGES {
        let answer = server.get(page).await;
        let back = format!("/sign-in?redirect_to={}", page.replace('/', "%2F"));
        assert_eq!(answer.led_to(), back);
    }
    let action = server.request(POST, "/agents").header("origin", server.public_url());
    assert_eq!(Answer::of(action.form(&[("action", "claim-code")])).await.led_to(), "/sign-in");
}

#[tokio::test]
async fn a_page_whose_session_has_ended_goes_to_sign_in_whole_and_comes_back_to_itself() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    server.submit(&ada, "/sign-out", &[]).await;
    let rows = "/apps/app_1/data/entries";
    for (part, page, back) in [
        ("/first-run/steps", "/", "/sign-in"),
        (
            &format!("{rows}/changes?since=x"),
            rows,
            "/sign-in?redirect_to=%2Fapps%2Fapp%5F1%2Fdata%2Fentries",
        ),
        (rows, "/agents?x=1#top", "/sign-in?redirect_to=%2Fagents%3Fx%3D1"),
        (rows, "//evil.example", "/sign-in"),
    ] {
        let answer = server.part(&ada, part, page).await;
        assert_eq!(answer.status, 204, "{part}");
        assert_eq!(answer.header("hx-redirect"), back, "{part} of {page}");
        assert_eq!(answer.text, "");
    }
}

#[tokio::test]
async fn a_part_of_a_page_leads_to_its_page() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    assert_eq!(server.see(&ada, "/first-run/steps").await.led_to(), "/");
    let changes = "/apps/app_1/data/entries/changes?since=x";
    assert_eq!(server.see(&ada, changes).await.led_to(), "/apps/app_1/data/entries");
}

#[tokio::test]
async fn every_page_has_a_strict_policy_and_is_kept_by_nobody() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    for page in PAGES.iter().chain(&["/"]) {
        let answer = server.see(&ada, page).await;
        assert_eq!(answer.status, 200, "{page}: {}", answer.text);
        let policy = answer.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; style-src 'self'; script-src 'self';"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("x-frame-options"), "DENY");
        answer.hides("<script>").hides(" style=").hides(" onclick=").says("ada@example.org");
        assert_eq!(answer.text.matches("<h1").count(), 1, "{page}");
    }
}

#[tokio::test]
async fn a_form_of_another_site_does_nothing() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    for origin in ["https://evil.example", "null"] {
        for path in ["/agents", "/sign-out", "/first-run"] {
            let request = server.request(POST, path).header("cookie", &ada.cookie);
            let request = request.header("origin", origin).form(&[("action", "claim-code")]);
            assert_eq!(Answer::of(request).await.status, 403, "{path} from {origin}");
        }
    }
    assert_eq!(server.see(&ada, "/").await.status, 200, "still signed in");
}

#[tokio::test]
async fn signing_out_ends_the_session_and_says_so() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let answer = server.submit(&ada, "/sign-out", &[]).await;
    assert_eq!(answer.led_to(), "/signed-out");
    assert!(answer.header("set-cookie").contains("Max-Age=0"));
    server.get("/signed-out").await.says("You are signed out");
    assert_eq!(Answer::of(server.by(&ada, GET, "/agents")).await.status, 303);
    // Once more is no error.
    assert_eq!(server.submit(&ada, "/sign-out", &[]).await.led_to(), "/signed-out");
}

#[tokio::test]
async fn a_page_that_is_not_there_is_a_page_all_the_same() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let gone = server.submit(&ada, "/apps/nobodys", &[("action", "delete")]).await;
    assert_eq!(gone.status, 404);
    gone.says("There is no such app here").says("Your apps");
    let strange = server.submit(&ada, "/apps/nobodys", &[("action", "explode")]).await;
    assert_eq!(strange.status, 400);
}
