//! Device authorization (RFC 8628): its states, and the page where a human decides.

use futures::future::join_all;
use reqwest::{Method, RequestBuilder};
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{Agent, Answer, Human, START, TestServer};

/// Polls that race for one approved code.
const RACERS: usize = 64;

async fn start(server: &TestServer) -> Value {
    let request = server.request(Method::POST, "/v1/device/code");
    Answer::of(request.json(&json!({"name": "Robot & Sons"}))).await.expect(200)
}

async fn poll(server: &TestServer, started: &Value) -> Answer {
    let body = json!({"device_code": started["device_code"]});
    Answer::of(server.request(Method::POST, "/v1/device/token").json(&body)).await
}

fn decide(server: &TestServer, human: &Human, started: &Value, decision: &str) -> RequestBuilder {
    let form = format!("user_code={}&decision={decision}", started["user_code"].as_str().unwrap());
    server
        .by(human, Method::POST, "/device")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form)
}

#[tokio::test]
async fn a_device_waits_is_approved_and_gets_its_key_exactly_once() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let started = start(&server).await;
    assert_eq!(started["expires_in"], 600);
    assert_eq!(started["interval"], 5);
    let verify_url = format!("{}/device", server.public_url());
    assert_eq!(started["verify_url"], verify_url);
    let code = started["user_code"].as_str().unwrap();
    assert_eq!(started["verify_url_complete"], format!("{verify_url}?user_code={code}"));

    let pending = poll(&server, &started).await.expect(202);
    assert_eq!(pending, json!({"status": "pending", "interval": 5}));

    let page = server.by(&human, Method::GET, &format!("/device?user_code={code}"));
    let page = Answer::of(page).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("Robot &#38; Sons"), "{}", page.text);
    assert!(page.text.contains(&human.email) && page.text.contains(code));
    let approved = Answer::of(decide(&server, &human, &started, "approve")).await;
    assert_eq!(approved.status, 303, "{}", approved.text);

    let answers = join_all((0..RACERS).map(|_| poll(&server, &started))).await;
    let won: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
    assert_eq!(won.len(), 1);
    let body = won[0].json();
    assert_eq!(body["status"], "approved");
    assert_eq!(body["agent"]["claimed"], true);
    assert_eq!(body["agent"]["name"], "Robot & Sons");
    for late in answers.iter().filter(|answer| answer.status != 200) {
        late.error(ErrorCode::NotFound);
    }
    let agent = Agent::of(&body);
    let keys = Answer::of(server.by_agent(&agent, Method::GET, "/v1/keys")).await.expect(200);
    assert_eq!(keys["agent"]["owner"]["name"], "ada");
}

#[tokio::test]
async fn what_nobody_has_fetched_ends_when_a_session_is_revoked_but_not_by_signing_out() {
    let server = TestServer::start().await;
    for end in ["POST /v1/auth/logout", "DELETE /v1/self/sessions", "DELETE this"] {
        let human = server.human("ada@example.org").await;
        let code = server.claim_code(&human).await;
        let (approved, waiting) = (start(&server).await, start(&server).await);
        let decided = Answer::of(decide(&server, &human, &approved, "approve")).await;
        assert_eq!(decided.status, 303, "{}", decided.text);
        let (verb, path) = match end {
            "DELETE this" => {
                let sessions = server.by(&human, Method::GET, "/v1/self/sessions");
                let sessions = Answer::of(sessions).await.expect(200);
                let id = sessions["items"][0]["id"].as_str().expect("an id").to_owned();
                ("DELETE", format!("/v1/self/sessions/{id}"))
            }
            other => other.split_once(' ').map(|(verb, path)| (verb, path.to_owned())).unwrap(),
        };
        let ended = server.by(&human, verb.parse().unwrap(), &path);
        assert_eq!(Answer::of(ended).await.status, 204, "{end}");

        let agent = server.unclaimed_agent().await;
        let (claimed, fetched) =
            (server.claim(&agent, &code).await, poll(&server, &approved).await);
        if end.contains("logout") {
            claimed.expect(200);
            fetched.expect(200);
        } else {
            claimed.error(ErrorCode::NotFound);
            fetched.error(ErrorCode::NotFound);
        }
        // What was not decided yet is nobody's.
        poll(&server, &waiting).await.expect(202);
    }
}

#[tokio::test]
async fn polling_too_fast_slows_the_device_down() {
    let server = TestServer::start().await;
    let started = start(&server).await;
    poll(&server, &started).await.expect(202);
    let fast = poll(&server, &started).await;
    assert_eq!(fast.error(ErrorCode::RateLimited)["details"]["interval"], 10);
    assert_eq!(fast.header("retry-after"), "10");
    // The old interval is no longer enough; the new one is.
    server.state().clock.set(START.plus_seconds(6));
    let fast = poll(&server, &started).await;
    assert_eq!(fast.error(ErrorCode::RateLimited)["details"]["interval"], 15);
    server.state().clock.set(START.plus_seconds(21));
    assert_eq!(poll(&server, &started).await.expect(202)["interval"], 15);
}

#[tokio::test]
async fn a_denied_device_is_told_so_and_an_expired_or_unknown_one_is_not_found() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let denied = start(&server).await;
    let decided = Answer::of(decide(&server, &human, &denied, "deny")).await;
    let page = server.by(&human, Method::GET, decided.header("location"));
    let page = Answer::of(page).await;
    assert!(page.text.contains("was denied"), "{}", page.text);
    poll(&server, &denied).await.error(ErrorCode::Forbidden);
    // Decided is decided.
    let again = Answer::of(decide(&server, &human, &denied, "approve")).await;
    assert_eq!(again.status, 409);
    poll(&server, &denied).await.error(ErrorCode::Forbidden);

    let expired = start(&server).await;
    server.state().clock.set(START.plus_seconds(600));
    poll(&server, &expired).await.error(ErrorCode::NotFound);
    let code = expired["device_code"].as_str().unwrap();
    for wrong in ["", "nonsense", &code[..code.len() - 1], &code.replace("rk_dev_", "rk_agent_")] {
        poll(&server, &json!({"device_code": wrong})).await.error(ErrorCode::NotFound);
    }
    poll(&server, &json!({"device_code": 1})).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn a_decision_must_come_from_the_site_and_from_somebody_signed_in() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let started = start(&server).await;
    let site = server.public_url().to_owned();
    let form = format!("user_code={}&decision=approve", started["user_code"].as_str().unwrap());
    let post = || {
        let request = server.request(Method::POST, "/device").header("cookie", &human.cookie);
        request.header("content-type", "application/x-www-form-urlencoded").body(form.clone())
    };
    for origin in ["null", "http://evil.example", &site.replace("localhost", "app.localhost")] {
        let request = post().header("origin", origin).header("sec-fetch-site", "same-site");
        Answer::of(request).await.error(ErrorCode::CsrfOriginMismatch);
    }
    Answer::of(post()).await.error(ErrorCode::CsrfOriginMismatch);
    assert_eq!(poll(&server, &started).await.status, 202);

    let nobody = server.request(Method::POST, "/device").header("origin", &site);
    let nobody = nobody.header("content-type", "application/x-www-form-urlencoded");
    let answer = Answer::of(nobody.body(form)).await;
    assert_eq!(answer.status, 401);
    assert!(answer.text.contains("href=\"/sign-in?redirect_to=%2Fdevice"), "{}", answer.text);
    server.state().clock.set(START.plus_seconds(10));
    assert_eq!(poll(&server, &started).await.status, 202);
}

#[tokio::test]
async fn a_signed_out_human_signs_in_and_comes_back_to_the_code() {
    let server = TestServer::start().await;
    let started = start(&server).await;
    let code = started["user_code"].as_str().unwrap();
    let answer = server.get(&format!("/device?user_code={code}")).await;
    assert_eq!(answer.status, 303);
    let sign_in = server.get(answer.header("location")).await;
    assert_eq!(sign_in.status, 200);
    let back = format!("/device?user_code={}", code.replace('-', "%2D"));
    assert!(sign_in.text.contains(&format!("value=\"{back}\"")), "{}", sign_in.text);
    let token = server.link_token("ada@example.org", Some(&back)).await;
    let verified = server.get(&format!("/v1/auth/verify?token={token}")).await;
    assert_eq!(verified.header("location"), back);
}

#[tokio::test]
async fn user_codes_cannot_be_guessed_on_the_page() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let started = start(&server).await;
    let look = |code: &str| {
        Answer::of(server.by(&human, Method::GET, &format!("/device?user_code={code}")))
    };
    for letter in ['B', 'C', 'D', 'F', 'G'] {
        let guess = letter.to_string().repeat(8);
        assert_eq!(look(&guess).await.status, 404);
    }
    let right = started["user_code"].as_str().unwrap().to_owned();
    let limited = look(&right).await;
    assert_eq!(limited.status, 429);
    assert!(limited.headers.contains_key("retry-after"));
    server.state().clock.set(START.plus_seconds(61));
    assert_eq!(look(&right).await.status, 200);
}

#[tokio::test]
async fn right_codes_that_many_type_at_once_are_no_guesses() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let started = start(&server).await;
    let decisions = (0..RACERS).map(|racer| {
        let decision = if racer % 2 == 0 { "approve" } else { "deny" };
        Answer::of(decide(&server, &human, &started, decision))
    });
    let statuses: Vec<_> = join_all(decisions).await.iter().map(|one| one.status).collect();
    // One of the two is decided: whoever decides so too is told, and whoever would not is refused.
    let count = |status| statuses.iter().filter(|&&one| one == status).count();
    assert_eq!((count(303), count(409)), (RACERS / 2, RACERS / 2));
}

#[tokio::test]
async fn a_decision_that_is_sent_twice_says_what_came_of_it() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let other = server.human("bob@example.org").await;
    for (decision, opposite, says) in
        [("approve", "deny", "is approved"), ("deny", "approve", "was denied")]
    {
        let started = start(&server).await;
        let page = async |human: &Human| {
            let decided = Answer::of(decide(&server, human, &started, decision)).await;
            assert_eq!(decided.status, 303, "{}", decided.text);
            Answer::of(server.by(human, Method::GET, decided.header("location"))).await.text
        };
        for _ in 0..2 {
            let page = page(&human).await;
            assert!(page.contains(says), "{page}");
        }
        for (who, decision) in [(&human, opposite), (&other, decision), (&other, opposite)] {
            let refused = Answer::of(decide(&server, who, &started, decision)).await;
            assert_eq!(refused.status, 409);
            assert!(refused.text.contains("decided already"), "{}", refused.text);
        }
        if decision == "approve" {
            // It stays this human's, and the device has its key by now.
            let agent = poll(&server, &started).await.expect(200)["agent"].clone();
            let page = page(&human).await;
            assert!(page.contains("is connected"), "{page}");
            let agents = Answer::of(server.by(&human, Method::GET, "/v1/self/agents")).await;
            assert_eq!(agents.expect(200)["items"][0]["id"], agent["id"]);
        }
    }
}

#[tokio::test]
async fn the_page_shows_the_code_as_the_agent_does_however_it_was_typed() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let started = start(&server).await;
    let code = started["user_code"].as_str().unwrap();
    let plain = code.replace('-', "");
    for typed in [plain.to_lowercase(), format!("+{plain}+"), code.to_lowercase()] {
        let page = server.by(&human, Method::GET, &format!("/device?user_code={typed}"));
        let page = Answer::of(page).await;
        assert_eq!(page.status, 200, "{}", page.text);
        assert!(page.text.contains(&format!("<span class=\"big-code\">{code}</span>")), "{typed}");
    }
}
