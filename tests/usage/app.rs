//! What an app used: totals and days.

use reqwest::Method;
use serde_json::{Value, json};

use super::{DAY_S, at, public_app, report, view, visit};
use crate::harness::TestServer;

#[tokio::test]
async fn an_apps_flow_is_counted_as_it_happens() {
    let server = TestServer::start().await;
    let owner = server.owner("ada").await;
    let app = public_app(&server, &owner, "garden").await;
    let none = report(&server, &owner, &app, "/usage?days=1").await;
    assert_eq!(none["totals"]["requests"], 1, "this one");
    assert_eq!(none["totals"]["row_writes"], 0);

    let entries = app.path("/collections/entries");
    let key = json!({"key": "a", "data": {"n": 1}});
    server.send(Method::POST, &owner, &entries, &key).await.expect(201);
    server.send(Method::POST, &owner, &entries, &key).await.expect(200);
    let row = app.path("/collections/entries/a");
    server.send(Method::PATCH, &owner, &row, &json!({"data": {"n": 2}})).await.expect(200);
    let batch = json!({"rows": [{"data": {}}, {"data": {}}, {"key": "a", "data": {}}]});
    let at = app.path("/collections/entries/batch");
    server.send(Method::POST, &owner, &at, &batch).await.expect(200);
    server.send(Method::DELETE, &owner, &row, &json!({})).await.expect(200);
    server.get_as(&owner, &app.path("/collections/nothing")).await;
    let feed = server.get_as(&owner, &app.path("/feed")).await;
    feed.expect(200);
    view(visit(&server, &app, "/")).await;

    let found = report(&server, &owner, &app, "/usage?days=1").await;
    let totals = &found["totals"];
    assert_eq!(totals["row_writes"], 5, "not the row that was there, twice");
    assert_eq!((&totals["feed_polls"], &totals["page_views"]), (&json!(1), &json!(1)));
    assert_eq!(totals["requests"], 10);
    let bytes = totals["bytes_out"].as_u64().unwrap();
    let answers = none.to_string().len() as u64 + feed.text.len() as u64;
    assert!((answers..10_000).contains(&bytes), "{bytes}");
    assert_eq!(found["series"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_series_has_every_day_of_its_window_and_outlives_a_restart() {
    let server = TestServer::start().await;
    let owner = server.owner("ada").await;
    let app = public_app(&server, &owner, "garden").await;
    view(visit(&server, &app, "/")).await;
    at(&server, 2 * DAY_S).await;
    view(visit(&server, &app, "/")).await;
    view(visit(&server, &app, "/")).await;
    let server = server.restart().await;
    let found = report(&server, &owner, &app, "/usage?days=3").await;
    let days: Vec<(&Value, &Value)> = found["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|day| (&day["date"], &day["page_views"]))
        .collect();
    let expected = [("2026-01-31", 1), ("2026-02-01", 0), ("2026-02-02", 2)];
    let expected = expected.map(|(date, views)| (json!(date), json!(views)));
    assert_eq!(days, expected.iter().map(|(date, views)| (date, views)).collect::<Vec<_>>());
    assert_eq!(found["totals"]["page_views"], 3);
    let narrow = report(&server, &owner, &app, "/usage?days=2").await;
    assert_eq!(
        (&narrow["from"], &narrow["totals"]["page_views"]),
        (&json!("2026-02-01"), &json!(2))
    );
    let usual = report(&server, &owner, &app, "/usage").await;
    assert_eq!((&usual["days"], usual["series"].as_array().unwrap().len()), (&json!(30), 30));
}

#[tokio::test]
async fn a_stream_counts_the_bytes_that_left() {
    let server = TestServer::start().await;
    let owner = server.owner("ada").await;
    let app = public_app(&server, &owner, "garden").await;
    let before = report(&server, &owner, &app, "/usage").await["totals"]["bytes_out"].as_u64();
    let request = server.call(Method::GET, &app.path("/feed?wait=60"), &owner);
    let mut stream = request.header("accept", "text/event-stream").send().await.unwrap();
    server
        .send(Method::POST, &owner, &app.path("/collections/entries"), &json!({"data": {}}))
        .await;
    let chunk = stream.chunk().await.unwrap().expect("an event").len() as u64;
    let after = report(&server, &owner, &app, "/usage").await["totals"]["bytes_out"].as_u64();
    assert!(after.unwrap() >= before.unwrap() + chunk, "{before:?} {after:?} {chunk}");
}
