//! The list of an account's apps: filters, pages, entity tag.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::versions::{private_notes, redeploy, with, with_notes};
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
    Answer::of(server.close_app("app-closed")).await.expect(200);
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

#[tokio::test]
async fn an_app_that_sleeps_is_described_as_when_it_was_awake() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let untouched = server.deploy(&owner, json!({"manifest": private_notes(None)})).await;
    let app = with_notes(&server, &owner, private_notes(None)).await;
    let small = json!({"type": "object", "properties": {"n": {"maximum": 1}}});
    let notes = private_notes(None)["collections"]["notes"].clone();
    let narrow = with(private_notes(Some(small)), "/collections/also", notes);
    redeploy(&server, &owner, &app, json!({"manifest": narrow, "force": true})).await.expect(201);
    let also = app.path("/collections/also");
    for key in ["a", "b", "c"] {
        let row = json!({"key": key, "data": {}});
        server.send(Method::POST, &owner, &also, &row).await.expect(201);
    }
    let deleted = server.call(Method::DELETE, &format!("{also}/b"), &owner);
    Answer::of(deleted).await.expect(200);
    let described = async |server: &TestServer| {
        let listed = server.get_as(&owner, "/v1/apps").await.expect(200)["items"].clone();
        let one = server.get_as(&owner, &app.path("")).await.expect(200);
        assert_eq!(listed[0], one);
        listed
    };
    let alike = |mut records: Value| {
        for record in records.as_array_mut().unwrap() {
            let record = record.as_object_mut().unwrap();
            // The server has another port, which is in the address.
            for member in ["status", "dormant", "url"] {
                record.remove(member).unwrap();
            }
        }
        records
    };
    let awake = described(&server).await;
    let counts = |name: &str, row_count: u64, deleted_count: u64, detached: u64| {
        json!({"name": name, "row_count": row_count, "deleted_count": deleted_count,
               "detached": detached})
    };
    assert_eq!(awake[0]["dormant"], false);
    assert_eq!(awake[0]["collections"], json!([counts("also", 2, 1, 0), counts("notes", 1, 0, 2)]));
    assert_eq!(awake[1]["id"], untouched.id);
    assert_eq!(awake[1]["collections"], json!([counts("notes", 0, 0, 0)]));
    let server = server.restart().await;
    let asleep = described(&server).await;
    assert_eq!(asleep[0]["dormant"], true);
    assert_eq!(alike(asleep), alike(awake));
}
