//! What an account holds and uses.

use reqwest::{Method, RequestBuilder};
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::{DAY_S, at, public_app, view, visit};
use crate::harness::{Answer, TestServer, apps::Owner};

fn own(server: &TestServer, owner: &Owner, path: &str) -> RequestBuilder {
    let cookie = format!("service_session={}", owner.session);
    server.request(Method::GET, path).header("cookie", cookie)
}

async fn read(server: &TestServer, owner: &Owner, path: &str) -> Value {
    Answer::of(own(server, owner, path)).await.expect(200)
}

#[tokio::test]
async fn meters_stand_beside_the_limits_in_force() {
    let server = TestServer::builder().set("MAX_APPS_PER_ACCOUNT", "7").start().await;
    let owner = server.owner("ada").await;
    let other = server.owner("eve").await;
    let app = public_app(&server, &owner, "garden").await;
    let rows = json!({"rows": [{"data": {"n": 1}}, {"data": {"n": 2}}]});
    let path = app.path("/collections/entries/batch");
    server.send(Method::POST, &owner, &path, &rows).await.expect(200);
    view(visit(&server, &app, "/")).await;

    let found = read(&server, &owner, "/v1/self/usage").await;
    assert_eq!(found["meters"]["apps"], json!({"used": 1, "limit": 7}));
    assert_eq!(found["meters"]["rows"], json!({"used": 2, "limit": 50_000}));
    let bytes = &found["meters"]["storage_bytes"];
    assert!(bytes["used"].as_u64().unwrap() > 0 && bytes["limit"].is_null(), "{bytes}");
    assert_eq!(found["per_app"], json!({"rows_limit": 1_000, "storage_bytes_limit": 33_554_432}));
    let month = &found["month"];
    assert_eq!(
        (&month["month"], &month["from"], &month["to"]),
        (&json!("2026-01"), &json!("2026-01-01"), &json!("2026-01-31"))
    );
    assert_eq!((&month["row_writes"], &month["page_views"]), (&json!(2), &json!(1)));
    assert_eq!(month["requests"], 2);

    let nothing = read(&server, &other, "/v1/self/usage").await;
    assert_eq!(nothing["meters"]["rows"]["used"], 0);
    assert_eq!(nothing["month"]["requests"], 0);
}

#[tokio::test]
async fn a_series_goes_by_day_or_hour_and_the_month_begins_anew() {
    let server = TestServer::start().await;
    let owner = server.owner("ada").await;
    let apps =
        [public_app(&server, &owner, "garden").await, public_app(&server, &owner, "meadow").await];
    for app in &apps {
        view(visit(&server, app, "/")).await;
    }
    at(&server, DAY_S).await;
    view(visit(&server, &apps[0], "/")).await;

    let found = read(&server, &owner, "/v1/self/usage/series?days=3").await;
    assert_eq!((&found["granularity"], &found["from"]), (&json!("day"), &json!("2026-01-30")));
    let views: Vec<&Value> =
        found["series"].as_array().unwrap().iter().map(|day| &day["page_views"]).collect();
    assert_eq!(views, [&json!(0), &json!(2), &json!(1)]);
    let month = &found["month_to_date"];
    assert_eq!((&month["month"], &month["page_views"]), (&json!("2026-02"), &json!(1)));

    let found = read(&server, &owner, "/v1/self/usage/series?granularity=hour").await;
    let hours = found["series"].as_array().unwrap();
    assert_eq!((hours.len(), &found["days"]), (37, &json!(2)));
    assert_eq!(hours[12]["starts_at"], "2026-01-31T12:00:00.000Z");
    assert_eq!((&hours[12]["page_views"], &hours[36]["page_views"]), (&json!(2), &json!(1)));
    assert_eq!(found["month_to_date"]["page_views"], 1);
}

#[tokio::test]
async fn what_a_purged_app_used_stays_in_its_accounts_month() {
    let server = TestServer::start().await;
    let owner = server.owner("ada").await;
    let app = public_app(&server, &owner, "garden").await;
    view(visit(&server, &app, "/")).await;
    let before = read(&server, &owner, "/v1/self/usage").await;
    assert_eq!(before["month"]["page_views"], 1);
    server.send(Method::DELETE, &owner, &app.path(""), &json!({})).await;
    let purge = app.path("/purge");
    assert!(server.send(Method::POST, &owner, &purge, &json!({})).await.status < 300);
    let after = read(&server, &owner, "/v1/self/usage").await;
    assert_eq!(after["meters"]["apps"]["used"], 0);
    assert_eq!(after["month"]["page_views"], 1);
    server.get_as(&owner, &app.path("/usage")).await.error(ErrorCode::AppNotFound);
}

#[tokio::test]
async fn what_an_app_used_just_before_its_purge_is_its_accounts() {
    let server = TestServer::start().await;
    let owner = server.owner("ada").await;
    let app = public_app(&server, &owner, "garden").await;
    view(visit(&server, &app, "/")).await;
    let (rows, row) = (app.path("/collections/entries"), json!({"data": {"name": "Ada"}}));
    server.send(Method::POST, &owner, &rows, &row).await.expect(201);
    server.send(Method::DELETE, &owner, &app.path(""), &json!({})).await;
    let purge = app.path("/purge");
    assert!(server.send(Method::POST, &owner, &purge, &json!({})).await.status < 300);
    // Nothing has been rolled up until now.
    let used = read(&server, &owner, "/v1/self/usage").await;
    assert_eq!(
        (&used["month"]["page_views"], &used["month"]["row_writes"]),
        (&json!(1), &json!(1))
    );
}

#[tokio::test]
async fn an_accounts_reports_are_for_its_human_and_name_what_is_wrong() {
    let server = TestServer::start().await;
    let owner = server.owner("ada").await;
    for path in ["/v1/self/usage", "/v1/self/usage/series"] {
        server.get(path).await.error_of_its_own(ErrorCode::Unauthorized);
        server.get_as(&owner, path).await.error(ErrorCode::Forbidden);
    }
    for (query, named) in [
        ("/series?days=0", "days"),
        ("/series?days=367", "days"),
        ("/series?days=many", "days"),
        ("/series?granularity=hour&days=32", "days"),
        ("/series?granularity=week", "granularity"),
        ("/series?step=day", "step"),
        ("?days=3", "days"),
    ] {
        let answer = Answer::of(own(&server, &owner, &format!("/v1/self/usage{query}"))).await;
        let message = answer.error(ErrorCode::InvalidRequest)["message"].to_string();
        assert!(message.contains(named), "{query}: {message}");
    }
    for (query, steps) in [("days=366", 366), ("granularity=hour&days=31", 30 * 24 + 13)] {
        let found = read(&server, &owner, &format!("/v1/self/usage/series?{query}")).await;
        assert_eq!(found["series"].as_array().unwrap().len(), steps, "{query}");
    }
}
