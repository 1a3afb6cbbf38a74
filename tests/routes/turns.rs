//! Long jobs of one account beside those of another, and of visitors beside those of an owner: each has
//! its turn.

use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use reqwest::Method;
use rookery_testkit::until;
use serde_json::{Value, json};

use super::rows::{OWNER, Rows, STRANGER};
use crate::harness::{Answer, TestServer, encoded};

/// Long lists that one account asks for at once.
const FLOOD: usize = 60;

/// Fills the app until a list of it by a filter is a long job.
async fn fill(rows: &Rows, bearer: &str, app: &str) {
    let text = "a row that nobody looks for ".repeat(15);
    let entries: Vec<_> = (0..500).map(|n| json!({"data": {"text": text, "n": n}})).collect();
    let path = format!("/v1/apps/{app}/collections/entries/batch");
    for _ in 0..5 {
        let request = rows.server.request(Method::POST, &path).bearer_auth(rows.key(bearer));
        Answer::of(request.json(&json!({"rows": entries}))).await.expect(200);
    }
}

#[tokio::test]
async fn long_lists_of_one_account_let_those_of_another_come_between() {
    come_between("").await;
}

#[tokio::test]
async fn lists_of_the_trash_of_one_account_let_those_of_another_come_between() {
    come_between("&include_deleted=true").await;
}

/// Has one account ask for many long lists, with `parameters`, and another for one.
async fn come_between(parameters: &str) {
    let rows = Rows::start().await;
    let (one, other) = (rows.app.to_string(), app(&rows, STRANGER, "owner", "private").await);
    fill(&rows, OWNER, &one).await;
    fill(&rows, STRANGER, other["id"].as_str().expect("an id")).await;
    let filter = costly();
    let list = |bearer: &str, app: &str| {
        let path = format!("/v1/apps/{app}/collections/entries?filter={filter}{parameters}");
        Answer::of(rows.server.request(Method::GET, &path).bearer_auth(rows.key(bearer))).boxed()
    };
    let flood = (0..FLOOD).map(|_| list(OWNER, &one)).collect();
    let list = list(STRANGER, other["id"].as_str().expect("an id"));
    comes_between(&rows, flood, list.map(found_nothing).boxed()).await;
}

#[tokio::test]
async fn a_crowd_of_visitors_lets_the_owner_come_between() {
    let rows = Rows::start().await;
    let open = app(&rows, OWNER, "anyone", "public").await;
    let id = open["id"].as_str().expect("an id");
    fill(&rows, OWNER, id).await;
    let filter = costly();
    let host = open["url"].as_str().expect("an address").trim_start_matches("http://");
    let look = || {
        let path = format!("/s/collections/entries?filter={filter}");
        let host = host.trim_end_matches('/');
        Answer::of(rows.server.request(Method::GET, &path).header("host", host)).boxed()
    };
    let flood = (0..FLOOD).map(|_| look()).collect();
    let path = format!("/v1/apps/{id}/collections/entries?filter={filter}");
    let list = rows.server.request(Method::GET, &path).bearer_auth(rows.key(OWNER));
    comes_between(&rows, flood, Answer::of(list).map(found_nothing).boxed()).await;
}

fn found_nothing(answer: Answer) {
    assert_eq!(answer.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn batches_of_one_visitor_leave_room_for_others() {
    let rows = Rows::on(TestServer::builder().set("apps.mailbox_limit", "4")).await;
    // A row takes a moment: it is held against every branch.
    let branches: Vec<_> = (0..200)
        .map(|n| json!({"properties": {"text": {"const": format!("no row {n}")}}}))
        .collect();
    let manifest = json!({
        "collections": {"entries": {
            "schema": {"$ref": "#/$defs/Entry"},
            "permissions": {
                "read": ["anyone"], "write": ["anyone"], "update": ["creator"], "delete": ["owner"],
            },
        }},
        "$defs": {"Entry": {"type": "object", "not": {"anyOf": branches}}},
    });
    let body = json!({"html": "<title>T</title>", "manifest": manifest, "visibility": "public"});
    let app = rows.server.post("/v1/apps", rows.key(OWNER), &body.to_string()).await.expect(201);
    let host = app["url"].as_str().expect("an address").trim_start_matches("http://");
    let host = host.trim_end_matches('/');
    let come = rows.server.request(Method::POST, "/s/session").header("host", host);
    let token = Answer::of(come.json(&json!({}))).await.expect(201)["token"].clone();
    let token = token.as_str().expect("a token");
    // None of them is taken, so that the app stays as it is.
    let entries: Vec<_> =
        (0..100).map(|n| json!({"data": {"text": format!("no row {n}")}})).collect();
    let batch = || {
        let request = rows.server.request(Method::POST, "/s/collections/entries/batch");
        let request = request.header("host", host).header("x-service-participant-token", token);
        Answer::of(request.json(&json!({"rows": entries}))).boxed()
    };
    let flood = (0..FLOOD).map(|_| batch()).collect();
    let path = format!("/v1/apps/{}/collections/entries", app["id"].as_str().expect("an id"));
    let some = async {
        for _ in 0..3 {
            let row = json!({"data": {"text": "mine"}}).to_string();
            rows.server.post(&path, rows.key(OWNER), &row).await.expect(201);
        }
    };
    comes_between(&rows, flood, some.boxed()).await;
}

/// An app whose rows these may read.
async fn app(rows: &Rows, of: &str, read: &str, visibility: &str) -> Value {
    let lists = json!({"read": [read], "write": ["owner"], "delete": ["owner"]});
    let manifest = json!({"collections": {"entries": {"permissions": lists}}});
    let body = json!({"html": "<title>T</title>", "manifest": manifest, "visibility": visibility});
    rows.server.post("/v1/apps", rows.key(of), &body.to_string()).await.expect(201)
}

/// A filter that holds each row against many tests.
fn costly() -> String {
    let tests: Vec<_> = (0..20)
        .map(|n| json!({"text": {"contains": format!("{n}, which is not there")}}))
        .collect();
    encoded(&json!({"or": tests}).to_string())
}

/// Asks for something while most of a flood waits; it is answered before that has gone by.
async fn comes_between(
    rows: &Rows,
    flood: FuturesUnordered<BoxFuture<'_, Answer>>,
    one: BoxFuture<'_, ()>,
) {
    let mut flood = flood;
    let waiting = || rows.server.state().long_jobs().count;
    let another = async {
        until("most of the flood waits", || waiting() >= FLOOD / 2).await;
        let asked = waiting();
        one.await;
        (asked, waiting())
    };
    let mut another = std::pin::pin!(another);
    let (asked, left) = loop {
        tokio::select! {
            came = &mut another => break came,
            Some(answer) = flood.next() => drop(answer.expect(200)),
        }
    };
    assert!(left > asked / 4, "{left} of {asked} still wait");
    while let Some(answer) = flood.next().await {
        answer.expect(200);
    }
    assert_eq!(waiting(), 0);
}
