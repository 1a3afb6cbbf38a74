//! What goes over with an app, what does not, and what the addressee is told of it before.

use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::{DELETE, GET, POST};
use crate::harness::{Answer, TestServer};

#[tokio::test]
async fn an_offer_counts_what_comes_along_and_previews_end_with_it() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let lists = json!({"read": ["guest"], "write": ["owner"], "delete": ["owner"]});
    let body = json!({
        "html": "<p>hi", "visibility": "private",
        "manifest": {
            "collections": {"entries": {"permissions": lists}}, "roles": {"guest": {}},
        },
    });
    let record = server.tell(&ada, POST, "/v1/apps", body).await.expect(201);
    let app = format!("/v1/apps/{}", record["id"].as_str().unwrap());
    let make = async |below: &str, body: Value| {
        server.tell(&ada, POST, &format!("{app}/{below}"), body).await.expect(201)
    };
    let credential = json!({"collections": ["entries"], "operations": ["read"]});
    for email in ["carol@example.org", "dan@example.org"] {
        make("members", json!({"email": email})).await;
    }
    let ended = make("grants", json!({"role": "guest", "expires_in_s": 60})).await;
    let grant = make("grants", json!({"role": "guest"})).await;
    let revoked = make("credentials", credential.clone()).await;
    let kept = make("credentials", credential).await;
    let preview = make("preview-tokens", json!({})).await;
    let path = format!("{app}/credentials/{}", revoked["id"].as_str().unwrap());
    assert_eq!(server.tell(&ada, DELETE, &path, Value::Null).await.status, 204);
    let clock = &server.state().clock;
    clock.set(clock.now().plus_seconds(61));

    let offer = server.offer(&ada, &app, &bob).await;
    let comes = json!({"members": 2, "grant_links": 1, "service_credentials": 1});
    assert_eq!(offer["comes_with"], comes);
    assert_eq!(server.offered(&bob).await[0]["comes_with"], comes);
    let page = server.see(&bob.human, "/transfers").await;
    page.says("2 members").says("1 grant link").says("1 service credential");
    server.decide(&bob, &offer, "accept").await.expect(200);
    let ids = async |list: &str| {
        let page = server.tell(&bob, GET, &format!("{app}/{list}"), Value::Null).await.expect(200);
        let items = page["items"].as_array().expect("items").clone();
        items.into_iter().map(|one| one["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids("preview-tokens").await, [Value::Null; 0]);
    assert!(ids("grants").await.contains(&grant["id"]));
    assert!(ids("credentials").await.contains(&kept["id"]) && ended["id"].is_string());
    // Nobody looks at it in the former owner's name.
    let url = preview["url"].as_str().expect("an address");
    let (host, path) = url.split_once("://").unwrap().1.split_once('/').unwrap();
    let opened = server.request(GET, &format!("/{path}")).header("host", host);
    Answer::of(opened).await.error(ErrorCode::GrantInvalid);
}
