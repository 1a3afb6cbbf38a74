//! Long jobs of one account beside those of another: each has its turn.

use futures::{StreamExt as _, stream::FuturesUnordered};
use reqwest::Method;
use rookery_testkit::until;
use serde_json::json;

use super::rows::{OWNER, Rows, STRANGER};
use crate::harness::{Answer, encoded};

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
    let manifest = json!({"collections": {"entries": {"permissions":
        {"read": ["owner"], "write": ["owner"], "delete": ["owner"]}}}});
    let body = json!({"html": "<title>theirs</title>", "manifest": manifest}).to_string();
    let made = rows.server.post("/v1/apps", rows.key(STRANGER), &body).await.expect(201);
    let (one, other) = (rows.app.to_string(), made["id"].as_str().expect("an id").to_owned());
    fill(&rows, OWNER, &one).await;
    fill(&rows, STRANGER, &other).await;
    // Each row is held against each test.
    let tests: Vec<_> = (0..20)
        .map(|n| json!({"text": {"contains": format!("{n}, which is not there")}}))
        .collect();
    let filter = encoded(&json!({"or": tests}).to_string());
    let list = |bearer: &str, app: &str| {
        let path = format!("/v1/apps/{app}/collections/entries?filter={filter}{parameters}");
        Answer::of(rows.server.request(Method::GET, &path).bearer_auth(rows.key(bearer)))
    };
    let mut flood: FuturesUnordered<_> = (0..FLOOD).map(|_| list(OWNER, &one)).collect();
    let waiting = || rows.server.state().long_jobs().count;
    let another = async {
        until("most of the flood waits", || waiting() >= FLOOD / 2).await;
        let asked = waiting();
        let answer = list(STRANGER, &other).await.expect(200);
        assert_eq!(answer["items"], json!([]));
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
