//! The room that the trash of an app has: it is none of the app's, and it ends.

use reqwest::Method;
use rookery_actors::WorkerKind;
use rookery_domain::{ErrorCode, time::DAY_S};
use serde_json::{Value, json};

use super::rows::{OWNER, Rows};
use crate::harness::{Answer, TestServer, apps::guestbook, keys};

/// An app of 1,000 bytes, which has room for as many in its trash.
async fn small() -> Rows {
    Rows::on(TestServer::builder().set("MAX_STORAGE_BYTES_PER_APP", "1000")).await
}

/// Data of a row that counts so many bytes under a key of two characters.
fn sized(bytes: usize) -> Value {
    json!({"t": "x".repeat(bytes - 2 - r#"{"t":""}"#.len())})
}

async fn usage(rows: &Rows) -> (u64, u64) {
    let path = format!("/v1/apps/{}", rows.app);
    let app = rows.server.get_as(rows.key(OWNER), &path).await.expect(200);
    let of = |name: &str| app["usage"][name].as_u64().expect("a number");
    (of("rows"), of("storage_bytes"))
}

/// The keys in the trash, the newest first.
async fn trash(rows: &Rows) -> Vec<String> {
    let page = rows.get("entries/deleted").await.expect(200);
    keys(&page).into_iter().map(str::to_owned).collect()
}

fn count_of(page: &Value, kind: &str) -> usize {
    let events = page["events"].as_array().expect("events");
    events.iter().filter(|event| event["type"] == kind).count()
}

/// Makes rows of 300 bytes and throws them away, a second apart.
async fn throw_away(rows: &Rows, keys: impl IntoIterator<Item = &str>) {
    for key in keys {
        rows.row("entries", key, sized(300)).await;
        rows.delete(&format!("entries/{key}")).await.expect(200);
        rows.pass_seconds(1);
    }
}

#[tokio::test]
async fn a_row_that_has_outgrown_its_schema_comes_back_when_it_fits_again() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let body = |entry: Value| {
        let mut manifest = guestbook();
        manifest["$defs"]["Entry"] = entry;
        manifest["collections"]["entries"]["schema"] = json!({"$ref": "#/$defs/Entry"});
        json!({"html": "<h1>Notes</h1>", "manifest": manifest, "force": true})
    };
    let (open, strict) = (json!({"type": "object"}), json!({"type": "object", "required": ["n"]}));
    let app = server.deploy(&owner, json!({"manifest": body(open.clone())["manifest"]})).await;
    let send = async |method, path: &str, body: Value| {
        server.send(method, &owner, &app.path(path), &body).await
    };
    let row = json!({"key": "k", "data": {}});
    send(Method::POST, "/collections/entries", row).await.expect(201);
    let gone = server.call(Method::DELETE, &app.path("/collections/entries/k"), &owner);
    Answer::of(gone).await.expect(200);
    send(Method::POST, "/versions", body(strict)).await.expect(201);
    let restore = "/collections/entries/k/restore";
    let refused = send(Method::POST, restore, json!({})).await;
    let error = refused.error_of_its_own(ErrorCode::RowSchemaViolation);
    assert!(error["hint"].as_str().unwrap().contains("deploy a version whose schema it fits"));
    send(Method::POST, "/versions", body(open)).await.expect(201);
    send(Method::POST, restore, json!({})).await.expect(200);
}

#[tokio::test]
async fn what_is_deleted_makes_room_and_what_is_restored_needs_it() {
    let rows = small().await;
    rows.row("entries", "k1", sized(600)).await;
    rows.delete("entries/k1").await.expect(200);
    assert_eq!(usage(&rows).await, (0, 0));
    rows.row("entries", "k2", sized(700)).await;
    let refused = rows.post("entries/k1/restore", json!({})).await;
    let error = refused.error(ErrorCode::AppQuotaExceeded);
    assert_eq!(error["details"], json!({"dimension": "storage_bytes", "limit": 1000}));
    assert_eq!(trash(&rows).await, ["k1"]);
    let rows = rows.restart().await;
    assert_eq!(usage(&rows).await, (1, 700));
    rows.delete("entries/k2").await.expect(200);
    rows.post("entries/k1/restore", json!({})).await.expect(200);
    // A new row in the place of a deleted one takes its own room only.
    let new = json!({"key": "k2", "data": sized(401)});
    rows.post("entries", new).await.error(ErrorCode::AppQuotaExceeded);
    rows.row("entries", "k2", sized(400)).await;
    assert_eq!(usage(&rows).await, (2, 1000));
    rows.delete("entries/k1/purge").await.expect(200);
    assert_eq!(usage(&rows).await, (1, 400));
}

#[tokio::test]
async fn beyond_its_room_the_oldest_rows_leave_the_trash_early() {
    let rows = small().await;
    let since = rows.now().await;
    throw_away(&rows, ["k0", "k1", "k2", "k3", "k4"]).await;
    assert_eq!(trash(&rows).await, ["k4", "k3", "k2", "k1", "k0"]);
    rows.server.round(WorkerKind::Sweeper).await;
    assert_eq!(trash(&rows).await, ["k4", "k3", "k2"]);
    let events = rows.events(&since).await;
    let purged: Vec<_> = events.iter().filter(|event| event["type"] == "row.purged").collect();
    assert_eq!(purged.len(), 2);
    assert!(purged.iter().all(|event| event["by"]["kind"] == "system"), "{purged:?}");
    rows.post("entries/k1/restore", json!({})).await.error(ErrorCode::RowNotFound);
    rows.post("entries/k2/restore", json!({})).await.expect(200);
    // What has room stays, however often the sweeper comes.
    rows.server.round(WorkerKind::Sweeper).await;
    assert_eq!(trash(&rows).await, ["k4", "k3"]);
}

#[tokio::test]
async fn what_is_thrown_away_faster_than_it_is_swept_counts() {
    let rows = small().await;
    throw_away(&rows, ["k0", "k1", "k2", "k3", "k4", "k5", "k6"]).await;
    // 2,100 bytes are 100 more than twice the room.
    let big = json!({"key": "kk", "data": sized(950)});
    let refused = rows.post("entries", big.clone()).await;
    let error = refused.error_of_its_own(ErrorCode::AppQuotaExceeded);
    assert_eq!(error["details"]["dimension"], "storage_bytes");
    assert!(
        error["message"].to_string().contains("deleted faster than it is destroyed"),
        "{error}"
    );
    assert!(error["hint"].to_string().contains("try again in some seconds"), "{error}");
    // What would not fit into an empty trash's app either is not blamed on the trash.
    let huge = json!({"key": "kk", "data": sized(1_050)});
    rows.post("entries", huge).await.error(ErrorCode::AppQuotaExceeded);
    rows.row("entries", "ok", sized(900)).await;
    rows.delete("entries/ok/purge").await.expect(200);
    rows.server.round(WorkerKind::Sweeper).await;
    rows.post("entries", big).await.expect(201);
}

#[tokio::test]
async fn the_sweeper_comes_by_itself_where_a_trash_is_overfull() {
    let builder = TestServer::builder().set("MAX_STORAGE_BYTES_PER_APP", "1000");
    let rows = Rows::on(builder.with_timed_rounds()).await;
    let since = rows.now().await;
    throw_away(&rows, ["k0", "k1", "k2", "k3", "k4", "k5"]).await;
    // The feed tells; nobody asks for a round.
    let purged = rows.feed(&format!("?since={since}&wait=20&limit=100")).await.expect(200);
    let mut cursor = purged["cursor"].clone();
    let mut left = 3 - count_of(&purged, "row.purged");
    while left > 0 {
        let next = cursor.as_str().expect("a cursor");
        let page = rows.feed(&format!("?since={next}&wait=20")).await.expect(200);
        assert_ne!(page["events"], json!([]), "nobody came");
        left -= count_of(&page, "row.purged");
        cursor = page["cursor"].clone();
    }
    assert_eq!(trash(&rows).await, ["k5", "k4", "k3"]);
}

#[tokio::test]
async fn rows_in_the_trash_of_an_app_that_is_closed_or_deleted_itself_are_destroyed_in_time() {
    for closes in [true, false] {
        let rows = Rows::start().await;
        rows.row("entries", "k0", json!({})).await;
        rows.delete("entries/k0").await.expect(200);
        rows.pass_seconds(DAY_S);
        let path = format!("/v1/apps/{}", rows.app);
        let left = match closes {
            true => Answer::of(rows.server.close_app(&rows.app.to_string())).await,
            false => rows.server.send(Method::DELETE, rows.key(OWNER), &path, &Value::Null).await,
        };
        assert!(left.status < 300, "{}", left.text);
        let kept = async || {
            let path = format!("{path}?include_deleted=true");
            let app = rows.server.get_as(rows.key(OWNER), &path).await.expect(200);
            let deleted = |one: &Value| one["deleted_count"].as_u64().expect("a number");
            app["collections"].as_array().expect("collections").iter().map(deleted).sum::<u64>()
        };
        assert_eq!(kept().await, 1);
        // A deleted app has half a day left.
        rows.pass_seconds(29 * DAY_S + DAY_S / 2);
        rows.server.round(WorkerKind::Sweeper).await;
        assert_eq!(kept().await, 0);
    }
}

#[tokio::test]
async fn an_app_with_a_retention_never_fills_up() {
    let rows = Rows::on(TestServer::builder().set("MAX_ROWS_PER_APP", "5")).await;
    for round in 0..3 {
        for n in 0..3 {
            rows.row("kept", &format!("{round}-{n}"), json!({})).await;
        }
        rows.server.round(WorkerKind::RowRetention).await;
        assert_eq!(rows.get("kept/count").await.expect(200)["count"], 2);
    }
    assert_eq!(usage(&rows).await.0, 2);
}
