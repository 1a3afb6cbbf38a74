//! Who is signed in, who is not, and what keeps other sites' forms out.

use futures::future::join_all;
use rookery_actors::WorkerKind;
use rookery_domain::ErrorCode;

use super::{GET, POST};
use crate::harness::{Answer, Human, START, TestServer};

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
    // A form that comes too late leads back to the page it stands on.
    for (form, back) in [
        ("/agents", "%2Fagents"),
        ("/orgs?cursor=x", "%2Forgs%3Fcursor%3Dx"),
        ("/first-run", "%2Ffirst%2Drun"),
    ] {
        let action = server.request(POST, form).header("origin", server.public_url());
        let answer = Answer::of(action.form(&[("action", "claim-code")])).await;
        answer.says(&format!("href=\"/sign-in?redirect_to={back}\""));
    }
    let ada = server.human("ada@example.org").await;
    assert_eq!(server.see(&ada, "/first-run").await.led_to(), "/");
    // A path that no browser would be led back to is left out.
    assert_eq!(server.get("/apps/app_1/data/entries/rows/a%2Fb").await.led_to(), "/sign-in");
}

#[tokio::test]
async fn a_form_whose_session_ended_is_kept_and_sent_again() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    server.submit(&ada, "/sign-out", &[]).await;
    let fields = [("name", "Rooks & \"crows\"\n<b>")];
    let late = server.submit(&ada, "/orgs?cursor=x", &fields).await;
    assert_eq!(late.status, 401);
    assert_eq!(late.header("cache-control"), "no-store");
    late.says("Your session ended").says("Nothing was saved").says("Send it again");
    late.says("action=\"/orgs?cursor=x\"").says("name=\"name\"");
    late.says("value=\"Rooks &#38; &#34;crows&#34;\n&#60;b&#62;\"");
    assert!(!late.headers.contains_key("set-cookie"));
    // What is no form of ours is not kept, and another site's is refused as ever.
    let huge = server.submit(&ada, "/orgs", &[("name", &*"x".repeat(970 << 10))]).await;
    huge.says("Nothing was saved").hides("Send it again").hides("xxx");
    let forged = server.request(POST, "/orgs").header("origin", "https://evil.example");
    assert_eq!(Answer::of(forged.form(&fields)).await.status, 403);
}

#[tokio::test]
async fn the_button_of_a_mailed_link_says_whom_it_signs_in() {
    let server = TestServer::start().await;
    let token = server.link_token("ada@example.org", None).await;
    let confirm = format!("/sign-in/confirm?token={token}");
    for _ in 0..2 {
        server.get(&confirm).await.says("This signs you in as <strong>ada@example.org</strong>");
    }
    let bob = server.human("bob@example.org").await;
    let page = server.see(&bob, &confirm).await;
    page.says("You are signed in as <strong>bob@example.org</strong>; this will sign you in as");
    let verify = format!("/v1/auth/verify?token={token}");
    assert_eq!(server.get(&verify).await.status, 303, "looking spent nothing");
}

#[tokio::test]
async fn a_mailed_link_that_is_not_good_says_so_and_offers_another() {
    let server = TestServer::start().await;
    let used = server.link_token("ada@example.org", None).await;
    let expired = server.link_token("bob@example.org", None).await;
    server.get(&format!("/v1/auth/verify?token={used}")).await.led_to();
    server.state().clock.set(crate::harness::START.plus_seconds(900));
    let mut pages = Vec::new();
    for token in [&used, &expired, &crate::harness::forged(&used), "bogus"] {
        let page = server.get(&format!("/sign-in/confirm?token={token}")).await;
        assert_eq!(page.status, 401);
        page.says("This sign-in link no longer works").says("action=\"/sign-in\"");
        page.hides("/v1/auth/verify").hides("ada@example.org").hides("bob@example.org");
        pages.push(page.text);
    }
    assert!(pages.iter().all(|page| *page == pages[0]), "which of them it is, nobody is told");
}

#[tokio::test]
async fn the_way_back_outlives_a_mistyped_address() {
    let server = TestServer::start().await;
    let fields = [("email", "ada@exmaple.org"), ("redirect_to", "/device?user_code=X")];
    let sent = Answer::of(server.request(POST, "/sign-in").form(&fields)).await;
    assert!(!sent.led_to().contains("exmaple"), "an address that a history or a log would keep");
    // Loading the page anew sends nothing.
    server.get(sent.led_to()).await.says("ada@exmaple.org");
    let sent = server.get(sent.led_to()).await;
    assert_eq!(server.mails("ada@exmaple.org").await.len(), 1);
    // Who makes such an address up is led to the form.
    let made_up = server.get("/sign-in/sent?to=x&redirect_to=/agents").await;
    assert_eq!(made_up.led_to(), "/sign-in?redirect_to=%2Fagents");
    let again = sent.between("quiet\" href=\"", "\"");
    assert_eq!(again, "/sign-in?redirect_to=%2Fdevice%3Fuser%5Fcode%3DX");
    server.get(&again).await.says("value=\"/device?user_code=X\"");
}

#[tokio::test]
async fn what_programs_add_to_a_mailed_address_is_left_alone() {
    let server = TestServer::start().await;
    let mark = "utm_source=x";
    server.get(&format!("/sign-in?{mark}")).await.says("E-mail address");
    let token = server.link_token("ada@example.org", None).await;
    let confirm = server.get(&format!("/sign-in/confirm?token={token}&{mark}")).await;
    confirm.says(&format!("value=\"{token}\""));
    for path in ["/device?user_code=X", "/authorize?app=nobodys"] {
        let answer = server.get(&format!("{path}&{mark}")).await;
        assert_ne!(answer.status, 400, "{path}: {}", answer.text);
    }
}

#[tokio::test]
async fn a_browser_that_keeps_no_cookies_is_told_so_and_keeps_its_link() {
    let server = TestServer::start().await;
    let token = server.link_token("ada@example.org", Some("/agents")).await;
    let confirm = server.get(&format!("/sign-in/confirm?token={token}")).await;
    let probe = confirm.cookie();
    let path = format!("/v1/auth/verify?token={token}");
    let press = || {
        let request = server.request(GET, &path).header("accept", "text/html");
        request.header("sec-fetch-site", "same-origin")
    };
    let told = Answer::of(press()).await;
    assert_eq!(told.status, 401);
    told.says("This browser keeps no cookies of this site").says("it was not used up");
    told.says("name=\"redirect_to\" value=\"/agents\"");
    assert!(!told.headers.contains_key("set-cookie"));
    let signed_in = Answer::of(press().header("cookie", probe)).await;
    assert_eq!((signed_in.status, signed_in.led_to()), (303, "/agents"));
}

#[tokio::test]
async fn the_second_click_of_a_double_one_signs_in_too() {
    let server = TestServer::start().await;
    let before = server.human("ada@example.org").await;
    let token = server.link_token("ada@example.org", Some("/agents")).await;
    let probe = server.get(&format!("/sign-in/confirm?token={token}")).await.cookie();
    let verify = format!("/v1/auth/verify?token={token}");
    // The browser sends what it had when the button was pressed: the answer to the click before is lost.
    let click = async |probe: &str| {
        let cookies = format!("{}; {probe}", before.cookie);
        Answer::of(server.request(GET, &verify).header("cookie", cookies)).await
    };
    let lost = click(&probe).await.cookie();
    let kept = click(&probe).await;
    assert_eq!((kept.status, kept.led_to()), (303, "/agents"));
    let holds = async |cookie: &str| {
        let page = server.request(GET, "/agents").header("cookie", cookie);
        Answer::of(page).await.status == 200
    };
    assert!(holds(&kept.cookie()).await);
    assert!(
        !holds(&lost).await && !holds(&before.cookie).await,
        "no session is left that no browser holds"
    );
    let many = join_all((0..8).map(|_| click(&probe))).await;
    let open = join_all(many.iter().map(|answer| async { holds(&answer.cookie()).await })).await;
    assert_eq!(open.iter().filter(|open| **open).count(), 1, "the last has it");

    // Nobody else does, nor does this browser when it comes later or has signed out.
    let other = server.link_token("eve@example.org", None).await;
    let other = server.get(&format!("/sign-in/confirm?token={other}")).await.cookie();
    for probe in [&*other, "service_probe=1", "a=b"] {
        assert_eq!(click(probe).await.status, 401, "{probe}");
    }
    let last = click(&probe).await.cookie();
    server.state().clock.set(START.plus_seconds(60));
    assert_eq!(click(&probe).await.status, 401);
    assert!(holds(&last).await, "and it keeps the session that it has");
}

#[tokio::test]
async fn a_link_is_spent_for_good_by_who_signs_out() {
    let server = TestServer::start().await;
    let token = server.link_token("ada@example.org", None).await;
    let probe = server.get(&format!("/sign-in/confirm?token={token}")).await.cookie();
    let verify = format!("/v1/auth/verify?token={token}");
    let click = async || Answer::of(server.request(GET, &verify).header("cookie", &probe)).await;
    let cookie = click().await.cookie();
    let ada = Human { email: "ada@example.org".to_owned(), cookie };
    assert_eq!(server.submit(&ada, "/sign-out", &[]).await.status, 303);
    assert_eq!(click().await.status, 401);
}

#[tokio::test]
async fn a_link_used_again_by_who_is_signed_in_arrives_where_it_led() {
    let server = TestServer::start().await;
    for (to, arrives) in [(None, "/"), (Some("/orgs"), "/orgs")] {
        let token = server.link_token("ada@example.org", to).await;
        let path = format!("/v1/auth/verify?token={token}");
        let cookie = server.get(&path).await.cookie();
        let ada = Human { email: "ada@example.org".to_owned(), cookie };
        let confirm = path.replace("/v1/auth/verify", "/sign-in/confirm");
        for again in [&path, &confirm] {
            let answer = server.see(&ada, again).await;
            assert_eq!(answer.led_to(), arrives);
            assert!(!answer.headers.contains_key("set-cookie"), "signed in as before");
        }
        // Of somebody else's they are told, and stay who they are.
        let bob = server.human("bob@example.org").await;
        for again in [&path, &confirm] {
            let home = server.see(&bob, again).await;
            assert_eq!(home.led_to(), "/?done=link-of-another#notice");
            let home = server.see(&bob, home.led_to()).await;
            home.says("That sign-in link was for another account").hides("ada@example.org");
        }
        // One that nobody knows may be anybody's.
        for unknown in ["bogus", &crate::harness::forged(&token)] {
            let home = server.see(&ada, &format!("/sign-in/confirm?token={unknown}")).await;
            assert_eq!(home.led_to(), "/?done=link-over#notice");
        }
        server.see(&ada, "/sign-in").await.says("You are signed in as <strong>ada@example.org");
        server.submit(&ada, "/sign-out", &[]).await;
        let refused = server.see(&ada, &path).await;
        assert_eq!(refused.status, 401);
        refused.says("This sign-in link no longer works: it was used, has expired, or never was.");
        refused.says(&format!("name=\"redirect_to\" value=\"{arrives}\""));
    }
}

#[tokio::test]
async fn a_link_that_is_not_good_keeps_where_it_was_to_lead_for_an_hour() {
    let server = TestServer::start().await;
    let (used, expired) = (
        server.link_token("ada@example.org", Some("/orgs")).await,
        server.link_token("bob@example.org", Some("/orgs")).await,
    );
    server.get(&format!("/v1/auth/verify?token={used}")).await.led_to();
    let clock = &server.state().clock;
    let sweep = async || {
        server.round(WorkerKind::Sweeper).await;
    };
    for (seconds, leads) in [(900, "/orgs"), (900 + 3_600, "/orgs"), (901 + 3_600, "/")] {
        clock.set(crate::harness::START.plus_seconds(seconds));
        sweep().await;
        for token in [&used, &expired] {
            for path in ["/sign-in/confirm", "/v1/auth/verify"] {
                let request = server.request(GET, &format!("{path}?token={token}"));
                let page = Answer::of(request.header("accept", "text/html")).await;
                assert_eq!(page.status, 401);
                page.says(&format!("name=\"redirect_to\" value=\"{leads}\""));
            }
        }
    }
    // The clock that runs back makes no used link good again.
    clock.set(crate::harness::START);
    let again = server.link_token("ada@example.org", Some("/orgs")).await;
    clock.set(crate::harness::START.plus_seconds(500));
    server.get(&format!("/v1/auth/verify?token={again}")).await.led_to();
    clock.set(crate::harness::START.plus_seconds(-1));
    let program = server.get(&format!("/v1/auth/verify?token={again}")).await;
    program.error_of_its_own(ErrorCode::Unauthorized);
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
        // Its rows by another filter, which was typed and is not in its address yet.
        (
            &format!("{rows}?field=n&op=eq&value=1"),
            &format!("{rows}?sort=n"),
            "/sign-in?redirect_to=%2Fapps%2Fapp%5F1%2Fdata%2Fentries%3Ffield%3Dn%26op%3Deq%26value%3D1",
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
    // Nor does another site have anybody mailed, whoever looks at it.
    let form = [("email", "eve@example.org")];
    let other =
        |name: &str, value: &str| server.request(POST, "/sign-in").header(name, value).form(&form);
    for (name, value) in [("origin", "null"), ("origin", "https://evil.example"), ("cookie", "x=y")]
    {
        assert_eq!(Answer::of(other(name, value)).await.status, 403, "{name}: {value}");
    }
    let navigates = other("sec-fetch-site", "cross-site").header("sec-fetch-mode", "navigate");
    assert_eq!(Answer::of(navigates.header("accept", "text/html")).await.status, 403);
    assert!(server.mails("eve@example.org").await.is_empty());
}

#[tokio::test]
async fn a_session_ends_when_another_takes_its_place_in_the_browser() {
    let server = TestServer::start().await;
    let (first, other) =
        (server.human("ada@example.org").await, server.human("ada@example.org").await);
    let sign_in = async |human: &str, cookie: &str| {
        let token = server.link_token(human, None).await;
        let path = format!("/v1/auth/verify?token={token}");
        let arrived = Answer::of(server.request(GET, &path).header("cookie", cookie)).await;
        arrived.header("set-cookie").split(';').next().expect("a cookie").to_owned()
    };
    let is_open = async |cookie: &str| {
        let status = server.request(GET, "/v1/self/profile").header("cookie", cookie);
        Answer::of(status).await.status == 200
    };
    // The same human: the session alone; those of other browsers stay.
    let again = sign_in("ada@example.org", &first.cookie).await;
    assert!(!is_open(&first.cookie).await && is_open(&again).await && is_open(&other.cookie).await);
    // Another one.
    let bob = sign_in("bob@example.org", &again).await;
    assert!(!is_open(&again).await && is_open(&bob).await && is_open(&other.cookie).await);
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
