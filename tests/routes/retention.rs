//! Retention bounds: the author's, the owner's, and what pruning would take.

use reqwest::Method;
use rookery_actors::WorkerKind;
use rookery_domain::{ErrorCode, time::DAY_S};
use serde_json::{Value, json};

use super::rows::{OWNER, Rows, STRANGER};
use crate::harness::{Answer, TestServer};

#[tokio::test]
async fn the_owner_overrides_the_author_axis_by_axis() {
    let rows = Rows::start().await;
    let none = json!({"max_age_days": null, "max_rows": null});
    let author = json!({"max_age_days": 90, "max_rows": 2});
    let shown = rows.get("kept/retention").await.expect(200);
    let expected = json!({"collection": "kept", "author": author, "override": none,
        "effective": author, "prune": {"rows": 0, "next_run_at": null}});
    assert_eq!(shown, expected);
    let set = rows.patch("kept/retention", json!({"max_rows": 5})).await.expect(200);
    assert_eq!(set["override"], json!({"max_age_days": null, "max_rows": 5}));
    assert_eq!(set["effective"], json!({"max_age_days": 90, "max_rows": 5}));
    let set = rows.patch("kept/retention", json!({"max_age_days": 1})).await.expect(200);
    assert_eq!(set["effective"], json!({"max_age_days": 1, "max_rows": 5}));
    assert_eq!(rows.get("kept/retention").await.expect(200), set);
    let cleared = json!({"max_age_days": null, "max_rows": null});
    assert_eq!(rows.patch("kept/retention", cleared).await.expect(200), expected);
}

#[tokio::test]
async fn the_impact_is_counted_and_a_dry_run_changes_nothing() {
    let rows = Rows::start().await;
    for n in 0..4 {
        rows.row("kept", &format!("k{n}"), json!({})).await;
        rows.pass_seconds(DAY_S);
    }
    let before = rows.get("kept/retention").await.expect(200);
    assert_eq!(before["prune"]["rows"], 2);
    assert_eq!(before["prune"]["next_run_at"], "2026-02-04T12:10:00.000Z");
    let dry = "kept/retention?dry_run=true";
    let dry = rows.patch(dry, json!({"max_age_days": 3, "max_rows": 10})).await.expect(200);
    // Three and four days old.
    assert_eq!(dry["prune"]["rows"], 2);
    let dry = rows.patch("kept/retention?dry_run=true", json!({"max_rows": 1})).await.expect(200);
    assert_eq!(dry["prune"]["rows"], 3);
    assert_eq!(rows.get("kept/retention").await.expect(200), before);
    assert_eq!(rows.get("kept/count").await.expect(200)["count"], 4);
}

#[tokio::test]
async fn of_an_app_in_the_trash_nothing_will_be_pruned() {
    let rows = Rows::start().await;
    for n in 0..3 {
        rows.row("kept", &format!("k{n}"), json!({})).await;
    }
    let app = format!("/v1/apps/{}", rows.app);
    let call = |method| rows.server.request(method, &app).bearer_auth(rows.key(OWNER));
    assert_eq!(Answer::of(call(Method::DELETE)).await.status, 204);
    let shown = rows.get("kept/retention?include_deleted=true").await.expect(200);
    assert_eq!(shown["prune"], json!({"rows": 1, "next_run_at": null}));
    rows.server.round(WorkerKind::RowRetention).await;
    assert_eq!(rows.get("kept/count?include_deleted=true").await.expect(200)["count"], 3);
}

#[tokio::test]
async fn bounds_are_checked_before_anything_else() {
    let rows = Rows::start().await;
    for body in [
        json!({"max_rows": 0}),
        json!({"max_age_days": 0}),
        json!({"max_age_days": 36_501}),
        json!({"max_rows": 1.5}),
        json!({"maxRows": 1}),
        json!([]),
    ] {
        for path in ["kept/retention", "none/retention"] {
            rows.patch(path, body.clone()).await.error(ErrorCode::InvalidRequest);
        }
    }
    rows.patch("none/retention", json!({})).await.error(ErrorCode::CollectionNotFound);
    rows.get("none/retention").await.error(ErrorCode::CollectionNotFound);
    let foreign = rows.request(STRANGER, Method::GET, "kept/retention");
    Answer::of(foreign).await.error(ErrorCode::AppNotFound);
}

#[tokio::test]
async fn a_change_is_in_the_feed_and_survives_a_restart() {
    let rows = Rows::start().await;
    let since = rows.now().await;
    let set = rows.patch("kept/retention", json!({"max_rows": 1})).await.expect(200);
    let events = rows.events(&since).await;
    assert_eq!(events[0]["type"], "app.updated");
    assert_eq!(events[0]["data"]["retention"]["collection"], "kept");
    let rows = rows.restart().await;
    assert_eq!(rows.get("kept/retention").await.expect(200), set);
}

#[tokio::test]
async fn a_deploy_says_how_many_rows_its_bounds_take() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let lists = json!({"read": ["owner"], "write": ["owner"], "delete": ["owner"]});
    let kept = |bounds: Value| {
        let kept = json!({"permissions": lists, "retention": bounds});
        json!({"html": "<h1>Kept</h1>", "manifest": {"collections": {"kept": kept}}})
    };
    let seeds = json!({"kept": [{"data": {}}, {"data": {}}, {"data": {}}, {"data": {}}]});
    let mut body = kept(json!({}));
    body["input_data"] = seeds.clone();
    let app = server.deploy(&owner, body).await;
    let warned = async |query: &str, bounds: Value| {
        let path = app.path(&format!("/versions{query}"));
        let answer = server.send(Method::POST, &owner, &path, &kept(bounds)).await;
        let told = answer.json()["warnings"].clone();
        told.as_array().expect("warnings").clone()
    };
    let of = |rows: u32| {
        let message = format!(
            "rows beyond these bounds, which the next pruning moves to the trash, the oldest first: {rows}"
        );
        vec![json!({"path": "/collections/kept/retention", "message": message})]
    };
    // The first rows of a new app are told of, too.
    let mut first = kept(json!({"maxRows": 2}));
    first["input_data"] = seeds.clone();
    for query in ["?dry_run=true", ""] {
        let path = format!("/v1/apps{query}");
        let made = server.send(Method::POST, &owner, &path, &first).await.json();
        assert_eq!(made["warnings"], json!(of(2)), "{query}");
    }
    assert_eq!(warned("?dry_run=true", json!({"maxRows": 1})).await, of(3));
    assert_eq!(warned("", json!({"maxRows": 4})).await, [Value::Null; 0]);
    assert_eq!(warned("", json!({"maxRows": 3})).await, of(1));
    assert_eq!(warned("", json!({"maxRows": 3, "maxAgeDays": 9})).await, [Value::Null; 0]);
    assert_eq!(warned("", json!({"maxRows": 1})).await, of(3));
    let back = server.get_as(&owner, &app.path("/collections/kept/retention")).await;
    assert_eq!(back.expect(200)["prune"]["rows"], 3);
    // What the owner has set is in force whatever the author declares.
    let own = json!({"max_rows": 4});
    let path = app.path("/collections/kept/retention");
    server.send(Method::PATCH, &owner, &path, &own).await.expect(200);
    assert_eq!(warned("?dry_run=true", json!({"maxRows": 1})).await, [Value::Null; 0]);
}
