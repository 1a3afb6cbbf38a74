//! Registering and being claimed.

use futures::future::join_all;
use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{Answer, START, TestServer, rounds};

/// Agents that race for one code.
const RACERS: usize = 64;
/// Races in turn.
const ROUNDS: usize = 16;

#[tokio::test]
async fn an_agent_registers_and_sees_its_secret_once() {
    let server = TestServer::start().await;
    let misspelt = server.request(Method::POST, "/v1/register?nam=Ada").json(&json!({}));
    Answer::of(misspelt).await.error(ErrorCode::InvalidRequest);
    let request = server.request(Method::POST, "/v1/register").json(&json!({"name": " Ada "}));
    let answer = Answer::of(request).await;
    let body = answer.expect(201);
    assert_eq!(answer.header("location"), "/v1/keys");
    assert_eq!(body["agent"]["name"], "Ada");
    assert_eq!(body["agent"]["claimed"], false);
    assert_eq!(body["agent"]["created_at"], START.to_string());
    assert_eq!(body["key"]["state"], "active");
    let secret = body["key"]["secret"].as_str().unwrap();
    assert_eq!(secret.len(), "rk_agent_".len() + 49);
    assert!(secret.starts_with(body["key"]["prefix"].as_str().unwrap()));

    let keys = Answer::of(server.request(Method::GET, "/v1/keys").bearer_auth(secret)).await;
    assert!(!keys.text.contains(secret));
    assert_eq!(keys.expect(200)["agent"]["id"], body["agent"]["id"]);
}

#[tokio::test]
async fn a_name_may_be_left_out_but_not_be_nonsense() {
    let server = TestServer::start().await;
    let post = || server.request(Method::POST, "/v1/register");
    let nameless = Answer::of(post()).await.expect(201);
    assert_eq!(nameless["agent"]["name"], "Unnamed agent");
    Answer::of(post().json(&json!({}))).await.expect(201);
    for body in [
        json!({"name": ""}),
        json!({"name": "a\nb"}),
        json!({"name": "x".repeat(101)}),
        json!({"name": "evil\u{202e}txt"}),
        json!({"name": 7}),
        json!({"nmae": "typo"}),
        json!([]),
    ] {
        let error = Answer::of(post().json(&body)).await.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
    }
}

#[tokio::test]
async fn registration_may_be_closed() {
    let builder = TestServer::builder().set("REGISTRATION_MODE", "closed");
    let server = builder.start().await;
    Answer::of(server.request(Method::POST, "/v1/register")).await.error(ErrorCode::Forbidden);
    let start = Answer::of(server.request(Method::POST, "/v1/device/code")).await;
    assert_eq!(start.status, 200);
}

#[tokio::test]
async fn a_claim_code_binds_an_agent_to_its_human() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let agent = server.unclaimed_agent().await;
    let code = server.claim_code(&human).await;
    // As a human may type it.
    let typed = format!(" {} ", code.replace('-', " ").to_lowercase());
    let body = server.claim(&agent, &typed).await.expect(200);
    assert_eq!(body["agent"]["claimed"], true);
    assert_eq!(body["agent"]["owner"]["name"], "ada");

    let other = server.claim_code(&human).await;
    server.claim(&agent, &other).await.error(ErrorCode::Conflict);
    // The refused claim has not spent the second code.
    let second = server.unclaimed_agent().await;
    server.claim(&second, &other).await.expect(200);
}

#[tokio::test]
async fn unknown_spent_and_expired_codes_have_one_answer() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let spent = server.claim_code(&human).await;
    server.claim(&server.unclaimed_agent().await, &spent).await.expect(200);
    let expired = server.claim_code(&human).await;
    let agent = server.unclaimed_agent().await;

    let unknown = if spent == "BBBB-BBBB" { "CCCC-CCCC" } else { "BBBB-BBBB" };
    let mut messages = Vec::new();
    for code in [unknown, &spent, "not a code"] {
        messages
            .push(server.claim(&agent, code).await.error(ErrorCode::NotFound)["message"].take());
    }
    server.state().clock.set(START.plus_seconds(600));
    messages
        .push(server.claim(&agent, &expired).await.error(ErrorCode::NotFound)["message"].take());
    assert!(messages.windows(2).all(|pair| pair[0] == pair[1]), "{messages:?}");
}

#[tokio::test]
async fn of_many_agents_that_claim_with_one_code_at_once_one_wins() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let mut agents = join_all((0..RACERS).map(|_| server.unclaimed_agent())).await;
    for round in 1..=rounds(ROUNDS) {
        let code = server.claim_code(&human).await;
        let answers = join_all(agents.iter().map(|agent| server.claim(agent, &code))).await;
        let won: Vec<_> = (0..RACERS).filter(|&at| answers[at].status == 200).collect();
        assert_eq!(won.len(), 1);
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            answer.error(ErrorCode::NotFound);
        }
        let list = Answer::of(server.by(&human, Method::GET, "/v1/self/agents")).await.expect(200);
        assert_eq!(list["items"].as_array().map(Vec::len), Some(round));
        agents[won[0]] = server.unclaimed_agent().await;
    }
}

#[tokio::test]
async fn a_thousand_guesses_get_five_tries_a_minute() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let code = server.claim_code(&human).await;
    let agent = server.unclaimed_agent().await;
    let mut refused = 0;
    for round in 0..10 {
        let guess = |n: usize| {
            let letter = |n: usize| char::from(b"BCDFGHJKLM"[n % 10]);
            format!("{0}{0}{0}{0}-{1}{1}{2}{2}", letter(round), letter(n), letter(n / 10))
        };
        let guesses: Vec<_> = (0..100).map(guess).filter(|guess| *guess != code).collect();
        let answers = join_all(guesses.iter().map(|guess| server.claim(&agent, guess))).await;
        refused += answers.iter().filter(|answer| answer.status == 429).count();
        let other = answers.iter().find(|answer| !matches!(answer.status, 404 | 429));
        assert!(other.is_none(), "{other:?}");
    }
    assert!(refused >= 994, "{refused}");
    let limited = server.claim(&agent, &code).await;
    limited.error(ErrorCode::RateLimited);
    assert!(limited.header("retry-after").parse::<u64>().unwrap() > 30);

    server.state().clock.set(START.plus_seconds(61));
    server.claim(&agent, &code).await.expect(200);
}

#[tokio::test]
async fn each_wrong_code_counts_for_a_minute() {
    let server = TestServer::start().await;
    let agent = server.unclaimed_agent().await;
    let at = |second| server.state().clock.set(START.plus_seconds(second));
    let wrong = async || server.claim(&agent, "BBBB-BBBB").await;
    wrong().await.error(ErrorCode::NotFound);
    at(58);
    for _ in 0..4 {
        wrong().await.error(ErrorCode::NotFound);
    }
    wrong().await.error(ErrorCode::RateLimited);
    // The first one counts no more, and the others do.
    at(61);
    wrong().await.error(ErrorCode::NotFound);
    let refused = wrong().await;
    refused.error(ErrorCode::RateLimited);
    assert!(refused.header("retry-after").parse::<u64>().unwrap() > 50);
}

#[tokio::test]
async fn an_account_has_so_many_agents_and_no_more() {
    let server =
        TestServer::builder().set("ROOKERY__LIMITS__MAX_AGENTS_PER_ACCOUNT", "2").start().await;
    let (ada, eve) = (server.human("ada@example.org").await, server.human("eve@example.org").await);
    let codes = [server.claim_code(&ada).await, server.claim_code(&ada).await];
    server.claim(&server.unclaimed_agent().await, &codes[0]).await.expect(200);
    // A device that was approved has its place before it fetches its key.
    let start = async || {
        let asked = server.request(Method::POST, "/v1/device/code").json(&json!({"name": "tv"}));
        Answer::of(asked).await.expect(200)
    };
    let decide = async |started: &Value| {
        let code = started["user_code"].as_str().unwrap();
        let form = [("user_code", code), ("decision", "approve")];
        Answer::of(server.by(&ada, Method::POST, "/device").form(&form)).await
    };
    let (first, second) = (start().await, start().await);
    assert_eq!(decide(&first).await.status, 303);
    let refused = decide(&second).await;
    assert_eq!(refused.status, 409);
    assert!(refused.text.contains("as many agents as it may"), "{}", refused.text);
    let agent = server.unclaimed_agent().await;
    let error = server.claim(&agent, &codes[1]).await;
    let error = error.error_of_its_own(ErrorCode::AccountQuotaExceeded);
    assert_eq!(error["details"], json!({"dimension": "agents", "limit": 2}));
    let body = json!({"device_code": first["device_code"]});
    let polled = server.request(Method::POST, "/v1/device/token").json(&body);
    Answer::of(polled).await.expect(200);
    // The agent is nobody's still, and somebody else's if they like.
    let code = server.claim_code(&eve).await;
    server.claim(&agent, &code).await.expect(200);
}

#[tokio::test]
async fn claiming_needs_an_agents_key_and_a_well_formed_body() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let agent = server.unclaimed_agent().await;
    let path = "/v1/agents/claim";
    let body = json!({"code": "BBBB-BBBB"});
    let nobody = server.request(Method::POST, path).json(&body);
    Answer::of(nobody).await.error(ErrorCode::Unauthorized);
    let session = server.by(&human, Method::POST, path).json(&body);
    Answer::of(session).await.error(ErrorCode::Forbidden);
    for body in [json!({}), json!({"code": 1}), json!({"code": "x", "more": 1}), Value::Null] {
        let request = server.by_agent(&agent, Method::POST, path).json(&body);
        Answer::of(request).await.error(ErrorCode::InvalidRequest);
    }
}
