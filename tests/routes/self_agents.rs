//! A human's agents: listing, renaming, and what is done to their keys.

use std::collections::HashSet;

use futures::future::join_all;
use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{Agent, Answer, Human, TestServer};

const LIST: &str = "/v1/self/agents";

async fn order(server: &TestServer, human: &Human, agent: &Agent, verb: &str) -> Answer {
    let path = format!("{LIST}/{}/{verb}", agent.id);
    Answer::of(server.by(human, Method::POST, &path)).await
}

async fn works(server: &TestServer, key: &str) -> bool {
    let answer = Answer::of(server.request(Method::GET, "/v1/keys").bearer_auth(key)).await;
    assert!(matches!(answer.status, 200 | 401), "{}", answer.text);
    answer.status == 200
}

async fn sibling(server: &TestServer, agent: &Agent) -> String {
    let minted = Answer::of(server.by_agent(agent, Method::POST, "/v1/keys")).await.expect(201);
    minted["secret"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_human_sees_its_agents_newest_first_page_by_page() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let other = server.human("eve@example.org").await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(server.agent(&human).await);
    }
    let page = async |query: &str, human: &Human| {
        Answer::of(server.by(human, Method::GET, &format!("{LIST}{query}"))).await
    };
    let whole = page("", &human).await;
    assert!(made.iter().all(|agent| !whole.text.contains(&agent.key)));
    let whole = whole.expect(200);
    assert_eq!(whole["next_cursor"], Value::Null);
    let first = &whole["items"][0];
    assert_eq!(first["id"], made[4].id);
    assert_eq!((&first["state"], &first["name"]), (&json!("active"), &json!("robot")));
    assert_eq!(first["keys"][0]["id"], made[4].key_id);
    assert!(made[4].key.starts_with(first["keys"][0]["prefix"].as_str().unwrap()));

    let mut seen = Vec::new();
    let mut query = "?limit=2".to_owned();
    loop {
        let body = page(&query, &human).await.expect(200);
        seen.extend(body["items"].as_array().unwrap().clone());
        let Some(cursor) = body["next_cursor"].as_str() else { break };
        query = format!("?limit=2&cursor={cursor}");
    }
    assert_eq!(json!(seen), whole["items"]);
    page("", &other).await.expect(200)["items"]
        .as_array()
        .unwrap()
        .is_empty()
        .then_some(())
        .unwrap();
    // A cursor is its human's alone, and cannot be edited.
    page(&query, &other).await.error(ErrorCode::InvalidRequest);
    for bad in ["?limit=0", "?limit=201", "?limit=x", "?cursor=x", "?cursor=", "?sort=name"] {
        page(bad, &human).await.error(ErrorCode::InvalidRequest);
    }
}

#[tokio::test]
async fn a_paused_agent_is_refused_on_the_very_next_request_with_every_key() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let agent = server.agent(&human).await;
    let second = sibling(&server, &agent).await;
    for _ in 0..20 {
        assert_eq!(order(&server, &human, &agent, "pause").await.expect(200)["state"], "paused");
        assert!(!works(&server, &agent.key).await && !works(&server, &second).await);
        assert_eq!(order(&server, &human, &agent, "resume").await.expect(200)["state"], "active");
        assert!(works(&server, &agent.key).await && works(&server, &second).await);
    }
    // Twice is as good as once.
    order(&server, &human, &agent, "resume").await.expect(200);
    order(&server, &human, &agent, "pause").await.expect(200);
    order(&server, &human, &agent, "pause").await.expect(200);
}

#[tokio::test]
async fn a_revoked_agent_stays_revoked() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let agent = server.agent(&human).await;
    order(&server, &human, &agent, "pause").await.expect(200);
    assert_eq!(order(&server, &human, &agent, "revoke-key").await.status, 204);
    assert_eq!(order(&server, &human, &agent, "revoke-key").await.status, 204);
    for verb in ["resume", "pause", "rotate-key"] {
        order(&server, &human, &agent, verb).await.error(ErrorCode::Conflict);
    }
    assert!(!works(&server, &agent.key).await);
    let list = Answer::of(server.by(&human, Method::GET, LIST)).await.expect(200);
    assert_eq!(list["items"][0]["state"], "revoked");
}

#[tokio::test]
async fn rotating_replaces_every_key_by_one_and_keeps_a_pause() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let agent = server.agent(&human).await;
    let second = sibling(&server, &agent).await;
    let rotated = order(&server, &human, &agent, "rotate-key").await.expect(201);
    let fresh = rotated["secret"].as_str().unwrap().to_owned();
    assert!(works(&server, &fresh).await);
    assert!(!works(&server, &agent.key).await && !works(&server, &second).await);

    order(&server, &human, &agent, "pause").await.expect(200);
    let rotated = order(&server, &human, &agent, "rotate-key").await.expect(201);
    assert_eq!(rotated["state"], "paused");
    let paused = rotated["secret"].as_str().unwrap().to_owned();
    assert!(!works(&server, &paused).await);
    order(&server, &human, &agent, "resume").await.expect(200);
    assert!(works(&server, &paused).await && !works(&server, &fresh).await);
}

#[tokio::test]
async fn rotations_at_once_leave_one_key_and_an_idempotent_one_happens_once() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let agent = server.agent(&human).await;
    let answers = join_all((0..32).map(|_| order(&server, &human, &agent, "rotate-key"))).await;
    let secrets: HashSet<String> = answers
        .iter()
        .map(|answer| answer.expect(201)["secret"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(secrets.len(), 32);
    let mut working = 0;
    for secret in &secrets {
        working += usize::from(works(&server, secret).await);
    }
    assert_eq!(working, 1);

    let path = format!("{LIST}/{}/rotate-key", agent.id);
    let rotate = || {
        let request = server.by(&human, Method::POST, &path).header("idempotency-key", "k");
        Answer::of(request)
    };
    let first = rotate().await.expect(201);
    let again = rotate().await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(201)["id"], first["id"]);
    assert!(again.json().get("secret").is_none());
    assert!(works(&server, first["secret"].as_str().unwrap()).await);
}

#[tokio::test]
async fn a_key_minted_while_its_agent_is_revoked_never_survives() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    for _ in 0..10 {
        let agent = server.agent(&human).await;
        let mint = || Answer::of(server.by_agent(&agent, Method::POST, "/v1/keys"));
        let (minted, revoked) = tokio::join!(
            join_all((0..8).map(|_| mint())),
            order(&server, &human, &agent, "revoke-key"),
        );
        assert_eq!(revoked.status, 204);
        for answer in minted.iter().filter(|answer| answer.status == 201) {
            assert!(!works(&server, answer.json()["secret"].as_str().unwrap()).await);
        }
    }
}

#[tokio::test]
async fn an_agent_is_renamed_by_its_human_only() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let stranger = server.human("eve@example.org").await;
    let agent = server.agent(&human).await;
    let path = format!("{LIST}/{}", agent.id);
    let rename =
        |who: &Human, body: Value| Answer::of(server.by(who, Method::PATCH, &path).json(&body));
    assert_eq!(rename(&human, json!({"name": " Rex "})).await.expect(200)["name"], "Rex");
    let keys = Answer::of(server.by_agent(&agent, Method::GET, "/v1/keys")).await.expect(200);
    assert_eq!(keys["agent"]["name"], "Rex");
    for body in
        [json!({}), json!({"name": ""}), json!({"name": null}), json!({"name": "x", "y": 1})]
    {
        rename(&human, body).await.error(ErrorCode::InvalidRequest);
    }
    rename(&stranger, json!({"name": "Mine"})).await.error(ErrorCode::NotFound);
}

#[tokio::test]
async fn a_foreign_an_unknown_and_a_malformed_agent_have_the_same_answer() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let stranger = server.human("eve@example.org").await;
    let agent = server.agent(&human).await;
    for verb in ["pause", "resume", "revoke-key", "rotate-key"] {
        for id in [agent.id.as_str(), "agt_01h455vb4pex5vsknk084sn02q", "nonsense", &agent.key_id] {
            let path = format!("{LIST}/{id}/{verb}");
            let answer = Answer::of(server.by(&stranger, Method::POST, &path)).await;
            answer.error(ErrorCode::NotFound);
        }
        let path = format!("{LIST}/{}/{verb}", agent.id);
        Answer::of(server.by_agent(&agent, Method::POST, &path)).await.error(ErrorCode::Forbidden);
        Answer::of(server.request(Method::POST, &path))
            .await
            .error_of_its_own(ErrorCode::Unauthorized);
        let foreign = server.request(Method::POST, &path).header("cookie", &human.cookie);
        let foreign = foreign.header("origin", "http://robot.localhost");
        Answer::of(foreign).await.error(ErrorCode::CsrfOriginMismatch);
    }
    assert!(works(&server, &agent.key).await);
}

#[tokio::test]
async fn of_rotations_at_once_each_gives_a_key_and_the_last_one_alone_works() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let agent = server.agent(&human).await;
    let answers = join_all((0..64).map(|_| order(&server, &human, &agent, "rotate-key"))).await;
    let mut working = 0;
    for answer in answers {
        let made = answer.expect(201);
        working += usize::from(works(&server, made["secret"].as_str().unwrap()).await);
    }
    assert_eq!(working, 1);
    assert!(!works(&server, &agent.key).await);
}

#[tokio::test]
async fn no_request_gets_through_behind_the_answer_to_a_pause() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let agent = server.agent(&human).await;
    let look = || Answer::of(server.by_agent(&agent, Method::GET, "/v1/keys"));
    for _ in 0..4 {
        let paused = async {
            order(&server, &human, &agent, "pause").await.expect(200);
            join_all((0..64).map(|_| look())).await
        };
        let (early, late) = tokio::join!(join_all((0..64).map(|_| look())), paused);
        assert!(early.iter().all(|answer| [200, 401].contains(&answer.status)));
        for answer in late {
            answer.error(ErrorCode::Unauthorized);
        }
        order(&server, &human, &agent, "resume").await.expect(200);
    }
}
