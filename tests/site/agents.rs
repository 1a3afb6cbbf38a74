//! Agents on the site: claimed by a code, paused, resumed, renamed, given a new key, revoked.

use super::GET;
use crate::harness::{Agent, Answer, Human, TestServer};

async fn key_works(server: &TestServer, key: &str) -> bool {
    Answer::of(server.call(GET, "/v1/keys", key)).await.status == 200
}

async fn press(server: &TestServer, ada: &Human, agent: &Agent, action: &str) -> Answer {
    server.submit(ada, "/agents", &[("agent", &agent.id), ("action", action)]).await
}

#[tokio::test]
async fn a_claim_code_of_the_page_claims_an_agent() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    server.see(&ada, "/agents").await.says("No agent yet");
    let page = server.submit(&ada, "/agents", &[("action", "claim-code")]).await;
    assert_eq!(page.status, 200, "{}", page.text);
    let code = page.between("id=\"claim-code\">", "<");
    let agent = server.unclaimed_agent().await;
    server.claim(&agent, &code).await.expect(200);
    server.see(&ada, "/agents").await.says("robot").hides(&code);
}

#[tokio::test]
async fn buttons_pause_resume_rename_rotate_and_revoke() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let agent = server.agent(&ada).await;

    assert_eq!(press(&server, &ada, &agent, "pause").await.led_to(), "/agents?done=paused#notice");
    assert!(!key_works(&server, &agent.key).await);
    server.see(&ada, "/agents?done=paused").await.says("Paused").says("The agent is paused");
    assert_eq!(
        press(&server, &ada, &agent, "resume").await.led_to(),
        "/agents?done=resumed#notice"
    );
    assert!(key_works(&server, &agent.key).await);

    let fields = [("agent", &*agent.id), ("action", "rename"), ("name", "Gardener")];
    assert_eq!(
        server.submit(&ada, "/agents", &fields).await.led_to(),
        "/agents?done=renamed#notice"
    );
    server.see(&ada, "/agents").await.says("Gardener");
    let fields = [("agent", &*agent.id), ("action", "rename"), ("name", "")];
    let refused = server.submit(&ada, "/agents", &fields).await;
    assert_eq!(refused.status, 400);
    refused.says("role=\"alert\"").says("Gardener");

    let rotated = press(&server, &ada, &agent, "rotate").await;
    let key = rotated.between("id=\"new-key\">", "<");
    assert!(key_works(&server, &key).await && !key_works(&server, &agent.key).await);
    server.see(&ada, "/agents").await.hides(&key);

    assert_eq!(
        press(&server, &ada, &agent, "revoke").await.led_to(),
        "/agents?done=revoked#notice"
    );
    assert!(!key_works(&server, &key).await);
    let resumed = press(&server, &ada, &agent, "resume").await;
    assert_eq!(resumed.status, 409);
    resumed.says("role=\"alert\"");
}

#[tokio::test]
async fn nobody_manages_the_agent_of_another() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.human("ada@example.org").await, server.human("bob@example.org").await);
    let agent = server.agent(&ada).await;
    for action in ["pause", "resume", "rotate", "revoke"] {
        assert_eq!(press(&server, &bob, &agent, action).await.status, 404, "{action}");
    }
    assert!(key_works(&server, &agent.key).await);
}
