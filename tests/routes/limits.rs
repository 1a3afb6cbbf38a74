//! Unique values, and the quotas of app and account.

use futures::future::join_all;
use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::rows::{OWNER, Rows};
use crate::harness::{Answer, TestServer};

#[tokio::test]
async fn unique_values_hold_among_live_rows_and_null_collides_with_nothing() {
    let rows = Rows::start().await;
    rows.row("log", "a", json!({"n": null})).await;
    rows.row("log", "b", json!({"n": null})).await;
    rows.row("log", "c", json!({})).await;
    rows.row("log", "d", json!({"n": 1})).await;
    rows.post("log", json!({"data": {"n": 1}})).await.error(ErrorCode::UniqueConflict);

    rows.row("people", "a", json!({"email": "a"})).await;
    rows.row("people", "b", json!({"email": "b"})).await;
    let taken = rows.patch("people/b", json!({"data": {"email": " A "}})).await;
    let error = taken.error(ErrorCode::UniqueConflict);
    assert_eq!(error["details"], json!({"field": "email"}));
    rows.patch("people/a", json!({"data": {"email": "A"}})).await.expect(200);
    rows.delete("people/a").await.expect(200);
    rows.patch("people/b", json!({"data": {"email": "a"}})).await.expect(200);
    rows.row("people", "c", json!({"email": "b"})).await;
}

#[tokio::test]
async fn a_row_is_as_long_as_its_text_however_it_was_escaped() {
    let rows = Rows::start().await;
    let plain = "ж".repeat(20_000);
    let body = format!(r#"{{"key": "a", "data": {{"t": "{}"}}}}"#, r"\u0436".repeat(20_000));
    let request = rows.request(OWNER, Method::POST, "entries").body(body);
    let made = Answer::of(request.header("content-type", "application/json")).await.expect(201);
    assert_eq!(made["data"]["t"], plain.as_str());
    let again = rows.get("entries/a").await;
    assert!(again.text.contains(&plain), "it is kept as text");
}

#[tokio::test]
async fn of_64_upserts_of_one_value_one_creates_and_all_are_merged() {
    let rows = Rows::start().await;
    let answers = join_all((0..64).map(|n| {
        let email = if n % 2 == 0 { "a@x.org" } else { " A@X.ORG " };
        rows.post("people", json!({"on": "email", "data": {"email": email, "age": n}}))
    }));
    let answers = answers.await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 63);
    let page = rows.get("people").await.expect(200);
    assert_eq!(page["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(page["items"][0]["version"], 64);
}

#[tokio::test]
async fn an_app_holds_so_many_bytes_and_what_shrinks_is_let_through() {
    let rows = Rows::on(TestServer::builder().set("MAX_STORAGE_BYTES_PER_APP", "1000")).await;
    let text = |len: usize| json!({"t": "x".repeat(len)});
    rows.row("entries", "a", text(600)).await;
    let refused = rows.post("entries", json!({"key": "b", "data": text(600)})).await;
    let error = refused.error(ErrorCode::AppQuotaExceeded);
    assert_eq!(error["details"], json!({"dimension": "storage_bytes", "limit": 1000}));
    let grown = rows.patch("entries/a", json!({"data": text(1000)})).await;
    grown.error(ErrorCode::AppQuotaExceeded);
    rows.patch("entries/a", json!({"data": text(300)})).await.expect(200);
    rows.row("entries", "b", text(600)).await;
    let atomic = json!({"atomic": true, "rows": [{"data": {}}, {"data": text(100)}]});
    let error = rows.post("entries/batch", atomic).await.error(ErrorCode::AppQuotaExceeded);
    assert_eq!(error["details"]["index"], 1);
    assert_eq!(rows.get("entries/count").await.expect(200)["count"], 2);
}

#[tokio::test]
async fn an_account_above_a_lowered_limit_makes_apps_that_need_no_room() {
    let rows = Rows::start().await;
    for n in 0..3 {
        rows.row("entries", &format!("k{n}"), json!({})).await;
    }
    let rows = rows.restart_with(|config| config.limits.max_rows_per_account = 1).await;
    let owner = rows.key(OWNER);
    let empty = json!({"html": "<p>empty"});
    for path in ["/v1/apps?dry_run=true", "/v1/apps"] {
        let made = rows.server.send(Method::POST, owner, path, &empty).await;
        assert!(made.status < 300, "{}", made.text);
    }
    let made = rows.server.send(Method::POST, owner, "/v1/apps", &empty).await.expect(201);
    let app = format!("/v1/apps/{}", made["id"].as_str().expect("an id"));
    rows.server.send(Method::DELETE, owner, &app, &Value::Null).await;
    rows.server
        .send(Method::POST, owner, &format!("{app}/restore"), &Value::Null)
        .await
        .expect(200);
    let refused = rows.post("entries", json!({"data": {}})).await;
    let error = refused.error(ErrorCode::AccountQuotaExceeded);
    assert!(error["message"].to_string().contains("may hold 1 rows together"), "{error}");
}

#[tokio::test]
async fn an_account_holds_so_many_rows_and_what_is_refused_gives_its_place_back() {
    let rows = Rows::on(TestServer::builder().set("MAX_ROWS_PER_ACCOUNT", "3")).await;
    for key in ["a", "b"] {
        rows.row("people", key, json!({"email": key})).await;
    }
    let atomic = json!({"atomic": true, "rows": [
        {"data": {"email": "c"}}, {"data": {"email": "a"}}]});
    rows.post("people/batch", atomic).await.error(ErrorCode::UniqueConflict);
    rows.row("people", "c", json!({"email": "c"})).await;
    let refused = rows.post("people", json!({"data": {"email": "d"}})).await;
    refused.error(ErrorCode::AccountQuotaExceeded);
    // What is in the trash does not count, and what is purged there gives nothing back again.
    rows.delete("people/c").await.expect(200);
    rows.post("people", json!({"data": {"email": "d"}})).await.expect(201);
    let restore = || rows.post("people/c/restore", json!({}));
    restore().await.error(ErrorCode::AccountQuotaExceeded);
    rows.delete("people/b").await.expect(200);
    restore().await.expect(200);
    rows.delete("people/b/purge").await.expect(200);
    let another = json!({"data": {"email": "e"}});
    rows.post("people", another.clone()).await.error(ErrorCode::AccountQuotaExceeded);
    rows.delete("people/c/purge").await.expect(200);
    rows.delete("people/a").await.expect(200);
    let rows = rows.restart().await;
    for _ in 0..2 {
        rows.post("entries", json!({"data": {}})).await.expect(201);
    }
    rows.post("people", another).await.error(ErrorCode::AccountQuotaExceeded);
    assert_eq!(rows.get("people/count").await.expect(200)["count"], 1);
}
