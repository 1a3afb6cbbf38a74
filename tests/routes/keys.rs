//! An agent's own keys, and how a key authenticates.

use futures::future::join_all;
use reqwest::Method;
use rookery_domain::{ErrorCode, time::DAY_S};
use serde_json::json;

use crate::harness::{Agent, Answer, START, TestServer};

async fn keys(server: &TestServer, agent: &Agent) -> serde_json::Value {
    Answer::of(server.by_agent(agent, Method::GET, "/v1/keys")).await.expect(200)
}

#[tokio::test]
async fn an_agent_lists_its_keys_and_which_one_it_presents() {
    let server = TestServer::start().await;
    let agent = server.unclaimed_agent().await;
    let minted = Answer::of(server.by_agent(&agent, Method::POST, "/v1/keys")).await;
    let sibling = minted.expect(201);
    assert_eq!(minted.header("location"), format!("/v1/keys/{}", sibling["id"].as_str().unwrap()));

    server.state().clock.set(START.plus_seconds(90));
    let body = keys(&server, &agent).await;
    assert_eq!(body["agent"]["id"], agent.id);
    let items = body["keys"].as_array().unwrap();
    assert_eq!(items.len(), 2);
    assert_eq!(items[0]["id"], agent.key_id);
    assert_eq!(items[0]["current"], true);
    assert_eq!(items[0]["last_used_at"], START.plus_seconds(90).to_string());
    assert_eq!(items[1]["id"], sibling["id"]);
    assert_eq!(items[1]["current"], false);
    assert_eq!(items[1]["last_used_at"], serde_json::Value::Null);
    assert!(items.iter().all(|key| key.get("secret").is_none()));
}

#[tokio::test]
async fn revoking_a_key_leaves_its_siblings_working() {
    let server = TestServer::start().await;
    let agent = server.unclaimed_agent().await;
    let minted = Answer::of(server.by_agent(&agent, Method::POST, "/v1/keys")).await.expect(201);
    let sibling = Agent {
        key: minted["secret"].as_str().unwrap().to_owned(),
        key_id: minted["id"].as_str().unwrap().to_owned(),
        id: agent.id.clone(),
    };
    let own = format!("/v1/keys/{}", agent.key_id);
    let answer = Answer::of(server.by_agent(&agent, Method::DELETE, &own)).await;
    assert_eq!((answer.status, answer.text.as_str()), (204, ""));
    let gone = Answer::of(server.by_agent(&agent, Method::GET, "/v1/keys")).await;
    gone.error(ErrorCode::Unauthorized);
    assert_eq!(keys(&server, &sibling).await["keys"][0]["state"], "revoked");
}

#[tokio::test]
async fn an_agent_that_nobody_claims_or_uses_is_forgotten() {
    let server = TestServer::start().await;
    let (idle, used) = (server.unclaimed_agent().await, server.unclaimed_agent().await);
    let human = server.human("ada@example.com").await;
    let claimed = server.agent(&human).await;
    let flush = async |at: i64| {
        server.state().clock.set(START.plus_seconds(at));
        server.state().rooms.directory.flush().await;
    };
    flush(29 * DAY_S).await;
    keys(&server, &used).await;
    flush(30 * DAY_S + 1).await;
    let refused = Answer::of(server.by_agent(&idle, Method::GET, "/v1/keys")).await;
    refused.error(ErrorCode::Unauthorized);
    for kept in [&used, &claimed] {
        keys(&server, kept).await;
    }
    server.state().clock.set(START);
    let server = server.restart().await;
    let refused = Answer::of(server.by_agent(&idle, Method::GET, "/v1/keys")).await;
    refused.error(ErrorCode::Unauthorized);
    keys(&server, &used).await;
}

#[tokio::test]
async fn keys_that_come_and_go_do_not_pile_up() {
    let server = TestServer::start().await;
    let agent = server.unclaimed_agent().await;
    let mut last = String::new();
    for _ in 0..103 {
        let minted = Answer::of(server.by_agent(&agent, Method::POST, "/v1/keys")).await;
        let minted = minted.expect(201);
        last = minted["id"].as_str().unwrap().to_owned();
        let passing = Agent {
            key: minted["secret"].as_str().unwrap().to_owned(),
            key_id: last.clone(),
            id: agent.id.clone(),
        };
        let own = format!("/v1/keys/{last}");
        let gone = Answer::of(server.by_agent(&passing, Method::DELETE, &own)).await;
        assert_eq!(gone.status, 204);
        let refused = Answer::of(server.by_agent(&passing, Method::GET, "/v1/keys")).await;
        refused.error(ErrorCode::Unauthorized);
    }
    let listed = keys(&server, &agent).await;
    let listed = listed["keys"].as_array().unwrap();
    let is_revoked = |key: &&serde_json::Value| key["state"] == "revoked";
    assert_eq!(listed.iter().filter(is_revoked).count(), 101, "a new key lets the oldest go");
    assert_eq!(listed[0]["id"], agent.key_id);
    assert_eq!(listed.last().unwrap()["id"], last);
}

#[tokio::test]
async fn a_foreign_a_siblings_and_a_random_key_id_have_the_same_answer() {
    let server = TestServer::start().await;
    let agent = server.unclaimed_agent().await;
    let foreign = server.unclaimed_agent().await.key_id;
    let minted = Answer::of(server.by_agent(&agent, Method::POST, "/v1/keys")).await.expect(201);
    let sibling = minted["id"].as_str().unwrap().to_owned();
    let random = "key_01h455vb4pex5vsknk084sn02q".to_owned();
    let mut bodies = Vec::new();
    for id in [foreign, sibling, random, "nonsense".to_owned()] {
        let request = server.by_agent(&agent, Method::DELETE, &format!("/v1/keys/{id}"));
        let answer = Answer::of(request.header("x-request-id", "same")).await;
        answer.error(ErrorCode::Forbidden);
        bodies.push(answer.text);
    }
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]));
}

#[tokio::test]
async fn forged_truncated_and_altered_bearers_are_refused_with_one_answer() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let agent = server.unclaimed_agent().await;
    let key = &agent.key;
    let mut altered = key.clone();
    let last = altered.pop().unwrap();
    altered.push(if last == 'a' { 'b' } else { 'a' });
    let session = human.cookie.split_once('=').unwrap().1.to_owned();
    let bad = [
        "~".to_owned(),
        key[..key.len() - 1].to_owned(),
        format!("{key}0"),
        altered,
        key.replace("rk_agent_", "rk_cred_"),
        key.to_uppercase(),
        session,
    ];
    for bearer in bad {
        // Together with a good cookie: what is presented is resolved, and nothing else.
        let request = server.by(&human, Method::GET, "/v1/keys").bearer_auth(&bearer);
        let answer = Answer::of(request.header("x-request-id", "same")).await;
        let error = answer.error(ErrorCode::Unauthorized);
        assert_eq!(error["message"], "the credential is not valid");
        assert!(!answer.text.contains(&bearer));
    }
}

#[tokio::test]
async fn an_idempotent_mint_makes_one_key_and_replays_without_the_secret() {
    let server = TestServer::start().await;
    let agent = server.unclaimed_agent().await;
    let post = |key: &str| {
        let request = server.by_agent(&agent, Method::POST, "/v1/keys");
        Answer::of(request.header("idempotency-key", key))
    };
    let answers = join_all((0..32).map(|_| post("once"))).await;
    let first: Vec<_> = answers
        .iter()
        .filter(|answer| !answer.headers.contains_key("idempotent-replayed"))
        .collect();
    assert_eq!(first.len(), 1);
    let made = first[0].expect(201);
    assert!(made["secret"].is_string());
    for replayed in
        answers.iter().filter(|answer| answer.headers.contains_key("idempotent-replayed"))
    {
        let body = replayed.expect(201);
        assert_eq!(body["id"], made["id"]);
        assert!(body.get("secret").is_none());
        assert_eq!(replayed.header("location"), first[0].header("location"));
    }
    assert_eq!(keys(&server, &agent).await["keys"].as_array().map(Vec::len), Some(2));

    // The scope is the principal's: another agent's same key is another request.
    let other = server.unclaimed_agent().await;
    let request = server.by_agent(&other, Method::POST, "/v1/keys");
    let answer = Answer::of(request.header("idempotency-key", "once")).await;
    assert!(answer.expect(201)["secret"].is_string());
    // After a day the answer is forgotten.
    server.state().clock.set(START.plus_seconds(86_401));
    assert!(post("once").await.expect(201)["secret"].is_string());
    let long = "x".repeat(256);
    post(&long).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn keys_are_known_again_after_a_restart_and_revoked_ones_are_not() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let kept = server.agent(&human).await;
    let paused = server.agent(&human).await;
    let path = format!("/v1/self/agents/{}/pause", paused.id);
    Answer::of(server.by(&human, Method::POST, &path)).await.expect(200);
    let given_back = server.unclaimed_agent().await;
    let own = format!("/v1/keys/{}", given_back.key_id);
    Answer::of(server.by_agent(&given_back, Method::DELETE, &own)).await;

    let server = server.restart().await;
    let body = keys(&server, &kept).await;
    assert_eq!(body["agent"]["owner"]["name"], "ada");
    assert_eq!(body["keys"][0]["state"], "active");
    for refused in [&paused, &given_back] {
        let answer = Answer::of(server.by_agent(refused, Method::GET, "/v1/keys")).await;
        answer.error(ErrorCode::Unauthorized);
    }
    let status = Answer::of(server.by(&human, Method::GET, "/v1/self/agents")).await;
    assert_eq!(status.expect(200)["items"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn a_mint_takes_no_body_or_an_empty_one() {
    let server = TestServer::start().await;
    let agent = server.unclaimed_agent().await;
    let post = || server.by_agent(&agent, Method::POST, "/v1/keys");
    Answer::of(post().json(&json!({}))).await.expect(201);
    Answer::of(post().json(&json!({"name": 1}))).await.error(ErrorCode::InvalidRequest);
    Answer::of(post().body("{}")).await.error(ErrorCode::InvalidRequest);
}
