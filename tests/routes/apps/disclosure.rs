//! The disclosure page and the roles of a manifest.

use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use crate::harness::TestServer;

fn manifest() -> Value {
    json!({
        "roles": {"editor": {"title": "<b>Editors</b>"}, "unused": {}},
        "collections": {
            "entries": {"permissions": {"read": ["anyone"], "write": ["member", "editor"],
                "update": ["editor:own"], "delete": ["owner", "creator"]},
                "retention": {"maxAgeDays": 90}, "unique": ["email"]},
            "log": {"permissions": {"read": [], "write": ["editor"], "delete": ["owner"]},
                "appendOnly": true, "antiAbuse": "challenge"},
        },
        "capabilities": ["camera"],
        "externalHosts": ["https://api.example.com"],
        "webhooks": [{"on": "create", "collection": "entries",
            "url": "https://hooks.example.com/path?token=canary"}],
        "notify": [{"on": "create", "collection": "entries", "to": ["owner"],
            "subject": "<script>alert(1)</script>", "body": "New"}],
        "agentTasks": [{"on": "create", "collection": "entries",
            "taskType": "<img src=x onerror=alert(2)>", "prompt": "Read it"}],
    })
}

#[tokio::test]
async fn the_page_says_who_may_do_what_in_words_and_escapes_them() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": manifest(), "visibility": "public"})).await;
    let page = server.get_as(&owner, &app.path("/disclosure")).await;
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let csp = page.header("content-security-policy");
    assert!(csp.starts_with("default-src 'none'"), "{csp}");
    assert!(!csp.contains("script-src") && !csp.contains("unsafe"), "{csp}");
    for expected in [
        "<dt>Read</dt><dd>everybody</dd>",
        "<dt>Read</dt><dd>nobody</dd>",
        "the owner, whoever created the row",
        "Rows are deleted after 90 days.",
        "No two rows share: email.",
        "Rows can be added, but not changed or deleted.",
        "It may ask to use the camera.",
        "It talks to https://api.example.com.",
        "Rows of “entries” are sent to https://hooks.example.com, by 1 rule.",
    ] {
        assert!(page.text.contains(expected), "{expected} in {}", page.text);
    }
    assert!(!page.text.contains("<b>Editors"), "a title is text");
    assert!(page.text.contains("Editors"));
    assert!(!page.text.contains("canary"), "a target's query is nobody's business");
    assert!(
        !page.text.contains("<script") && !page.text.contains("<img"),
        "what rules say is text"
    );
    assert!(page.text.contains("alert(1)") && page.text.contains("alert(2)"), "{}", page.text);
}

#[tokio::test]
async fn roles_are_listed_with_what_names_them() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": manifest()})).await;
    let roles = server.get_as(&owner, &app.path("/roles")).await.expect(200);
    let expected = json!({"next_cursor": null, "items": [
        {"name": "editor", "title": "<b>Editors</b>", "member_count": 0, "collection_count": 2},
        {"name": "unused", "title": null, "member_count": 0, "collection_count": 0},
    ]});
    assert_eq!(roles, expected);
    let first = server.get_as(&owner, &app.path("/roles?limit=1")).await.expect(200);
    assert_eq!(first["items"].as_array().map(Vec::len), Some(1));
    let cursor = first["next_cursor"].as_str().expect("a cursor");
    let path = app.path(&format!("/roles?limit=1&cursor={cursor}"));
    let second = server.get_as(&owner, &path).await.expect(200);
    assert_eq!(second, json!({"next_cursor": null, "items": [expected["items"][1]]}));
    for wrong in ["limit=0", "limit=201", "cursor=x"] {
        let path = app.path(&format!("/roles?{wrong}"));
        server.get_as(&owner, &path).await.error(ErrorCode::InvalidRequest);
    }
}

#[tokio::test]
async fn one_is_said_as_one() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let one = |retention: Value| {
        json!({"permissions": {"read": ["anyone"], "write": ["anyone"],
            "update": ["creator"], "delete": ["creator"]}, "retention": retention,
            "anonWriteBudget": {"perIpPerDay": 1, "perAppDay": 2}})
    };
    let collections = json!({
        "days": one(json!({"maxAgeDays": 1})),
        "rows": one(json!({"maxRows": 1})),
        "both": one(json!({"maxAgeDays": 1, "maxRows": 1})),
    });
    let manifest = json!({"collections": collections});
    let app = server.deploy(&owner, json!({"manifest": manifest, "visibility": "public"})).await;
    let page = server.get_as(&owner, &app.path("/disclosure")).await;
    for says in [
        "Visitors of one network who are no members write once a day.",
        "All visitors together who are no members write 2 times a day.",
        "Rows are deleted after 1 day.",
        "Only the newest row is kept.",
        "Rows are deleted after 1 day, and beyond the newest row.",
    ] {
        assert!(page.text.contains(says), "{says} in {}", page.text);
    }
}
