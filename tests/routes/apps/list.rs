//! The list of an account's apps: filters, pages, entity tag.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{Answer, TestServer, apps::Owner};

async fn slugs(server: &TestServer, owner: &Owner, query: &str) -> Vec<String> {
    let list = server.get_as(owner, &format!("/v1/apps{query}")).await.expect(200);
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| item["slug"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_list_is_filtered_by_what_its_records_say() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.owner("ann").await, server.owner("bob").await);
    for slug in ["app-resting", "app-deleted", "app-closed", "app-live"] {
        server.deploy(&ann, json!({"slug": slug})).await;
    }
    server.deploy(&bob, json!({"slug": "app-of-bob"})).await;
    Answer::of(server.call(Method::DELETE, "/v1/apps/app-deleted", &ann)).await;
    Answer::of(server.ops(Method::POST, "/ops/apps/app-closed/close")).await.expect(200);
    Answer::of(server.call(Method::POST, "/v1/apps/app-live/wake", &ann)).await.expect(200);

    assert_eq!(slugs(&server, &ann, "").await, ["app-live", "app-closed", "app-resting"]);
    let all = slugs(&server, &ann, "?include_deleted=true").await;
    assert_eq!(all, ["app-live", "app-closed", "app-deleted", "app-resting"]);
    assert_eq!(slugs(&server, &ann, "?status=live").await, ["app-live"]);
    assert_eq!(slugs(&server, &ann, "?status=dormant").await, ["app-resting"]);
    assert_eq!(slugs(&server, &ann, "?status=deleted").await, ["app-deleted"]);
    assert_eq!(slugs(&server, &ann, "?status=closed").await, ["app-closed"]);
    assert_eq!(slugs(&server, &ann, "?slug=app-live").await, ["app-live"]);
    assert_eq!(slugs(&server, &ann, "?slug=app-deleted").await, [""; 0]);
    assert_eq!(slugs(&server, &ann, "?slug=app-of-bob").await, [""; 0]);
    assert_eq!(slugs(&server, &bob, "?status=dormant").await, ["app-of-bob"]);
    for query in ["?status=purging", "?state=live", "?limit=0", "?limit=201", "?cursor=x"] {
        let answer = server.get_as(&ann, &format!("/v1/apps{query}")).await;
        answer.error(ErrorCode::InvalidRequest);
    }
}

#[tokio::test]
async fn pages_follow_each_other_and_their_cursors_fit_nothing_else() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.owner("ann").await, server.owner("bob").await);
    for n in 0..5 {
        server.deploy(&ann, json!({"slug": format!("app-{n}")})).await;
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    let mut first_cursor = None;
    loop {
        let page = server.get_as(&ann, &format!("/v1/apps?limit=2{cursor}")).await.expect(200);
        let items = page["items"].as_array().unwrap();
        seen.extend(items.iter().map(|item| item["slug"].as_str().unwrap().to_owned()));
        let Value::String(next) = &page["next_cursor"] else { break };
        assert_eq!(items.len(), 2);
        first_cursor.get_or_insert_with(|| next.clone());
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen, ["app-4", "app-3", "app-2", "app-1", "app-0"]);
    let cursor = first_cursor.unwrap();
    let foreign = format!("/v1/apps?cursor={cursor}");
    server.get_as(&bob, &foreign).await.error(ErrorCode::InvalidRequest);
    let filtered = format!("/v1/apps?status=live&cursor={cursor}");
    server.get_as(&ann, &filtered).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn a_list_is_not_sent_twice_while_it_is_the_same() {
    let server = TestServer::start().await;
    let ann = server.owner("ann").await;
    server.deploy(&ann, json!({"slug": "app-one"})).await;
    let first = server.get_as(&ann, "/v1/apps").await;
    let etag = first.header("etag").to_owned();
    let ask = || server.call(Method::GET, "/v1/apps", &ann).header("if-none-match", &etag);
    assert_eq!(Answer::of(ask()).await.status, 304);
    server.deploy(&ann, json!({"slug": "app-two"})).await;
    assert_eq!(Answer::of(ask()).await.expect(200)["items"].as_array().unwrap().len(), 2);
}
