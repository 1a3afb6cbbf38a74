//! What an app's record tells a member of what the app holds: no more than the member may count.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{TestServer, apps::HTML};

const POST: Method = Method::POST;
const GET: Method = Method::GET;

fn lists(read: &str, count: Option<&str>) -> Value {
    let mut lists = json!({"read": [read], "write": ["owner"], "delete": ["owner"]});
    if let Some(count) = count {
        lists["countRead"] = json!([count]);
    }
    json!({"permissions": lists})
}

#[tokio::test]
async fn a_member_is_told_of_what_it_may_count_and_nothing_else() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let carol = server.person("carol").await;
    let row = json!([{"key": "k", "data": {}}, {"key": "l", "data": {}}]);
    let body = json!({
        "html": HTML, "slug": "shared-app",
        "manifest": {"roles": {"editor": {}}, "collections": {
            "hidden": lists("owner", None),
            "counted": lists("owner", Some("member")),
            "edited": lists("editor", Some("editor")),
            "read": lists("member", None),
        }},
        "input_data": {"hidden": row, "counted": row, "edited": row, "read": row},
    });
    let record = server.tell(&ada, POST, "/v1/apps", body).await.expect(201);
    let app = format!("/v1/apps/{}", record["id"].as_str().unwrap());
    for (who, role) in [(&bob, Value::Null), (&carol, json!("editor"))] {
        let mut member = json!({"email": who.human.email});
        if !role.is_null() {
            member["custom_role"] = role;
        }
        server.tell(&ada, POST, &format!("{app}/members"), member).await.expect(201);
    }
    let gone = format!("{app}/collections/counted/l");
    server.tell(&ada, Method::DELETE, &gone, Value::Null).await.expect(200);
    let told = |name: &str, rows: Option<u64>| json!({"name": name, "row_count": rows, "deleted_count": null, "detached": null});
    let counts = async |server: &TestServer| {
        for (who, collections) in [
            (&bob, vec![told("counted", Some(1)), told("read", None)]),
            (&carol, vec![told("counted", Some(1)), told("edited", Some(2)), told("read", None)]),
        ] {
            let view = "/v1/self/apps/shared-app/view";
            assert_eq!(server.ask(who, POST, view, Value::Null).await.status, 204);
            for list in ["/v1/self/apps", "/v1/self/apps/recent"] {
                let list = server.ask(who, GET, list, Value::Null).await.expect(200);
                let shown = &list["items"][0];
                assert_eq!(shown["collections"], json!(collections), "{list}");
                assert_eq!((&shown["role"], &shown["usage"]), (&json!("member"), &Value::Null));
            }
        }
        // Whoever acts as the owner is told everything.
        let list = server.ask(&ada, GET, "/v1/self/apps", Value::Null).await.expect(200);
        let shown = &list["items"][0];
        assert_eq!(shown["collections"].as_array().unwrap().len(), 4);
        assert_eq!(shown["collections"][0]["deleted_count"], 1);
        assert_eq!(shown["usage"]["rows"], 7);
    };
    counts(&server).await;
    let home = server.see(&bob.human, "/").await;
    home.says("shared-app").hides(" rows</span>");
    server.see(&bob.human, &app.replace("/v1", "")).await.says("shared-app").hides("hidden<");
    server.see(&ada.human, "/").await.says("7 rows</span>");
    // Asleep it is described by what storage keeps.
    let server = server.restart().await;
    counts(&server).await;
    // A role that is not declared any more opens nothing.
    let manifest = json!({"collections": {
        "hidden": lists("owner", None), "counted": lists("owner", Some("member")),
        "edited": lists("owner", Some("owner")), "read": lists("member", None),
    }});
    let body = json!({"html": HTML, "manifest": manifest, "force": true});
    server.tell(&ada, POST, &format!("{app}/versions"), body).await.expect(201);
    let list = server.ask(&carol, GET, "/v1/self/apps", Value::Null).await.expect(200);
    assert_eq!(
        list["items"][0]["collections"],
        json!([told("counted", Some(1)), told("read", None)])
    );
}
