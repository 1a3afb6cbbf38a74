//! How much an account deploys.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::json;

use crate::harness::TestServer;

#[tokio::test]
async fn an_account_deploys_so_many_bytes_in_ten_minutes() {
    let builder = TestServer::builder().set("ROOKERY__LIMITS__DEPLOYED_BYTES_PER_ACCOUNT", "1000");
    let server = builder.start().await;
    let (ann, bob) = (server.owner("ann").await, server.owner("bob").await);
    let page = |bytes: usize| json!({"html": "x".repeat(bytes)});
    let app = server.deploy(&ann, page(900)).await;
    let deploy = async |path: &str, body| server.send(Method::POST, &ann, path, &body).await;
    let versions = app.path("/versions");
    let rehearsal = format!("{versions}?dry_run=true");
    deploy(&rehearsal, page(9_000)).await.expect(200);
    deploy(&versions, page(900)).await.expect(201);
    for path in [&*versions, "/v1/apps"] {
        let refused = deploy(path, page(1)).await;
        let error = refused.error(ErrorCode::RateLimited);
        let wait = error["details"]["retry_after_s"].as_u64().expect("seconds");
        assert!((1..=600).contains(&wait), "{error}");
        assert_eq!(refused.header("retry-after"), wait.to_string());
    }
    deploy(&rehearsal, page(9_000)).await.expect(200);
    server.deploy(&bob, page(900)).await;
}
