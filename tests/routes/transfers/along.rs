//! What goes over with an app, what does not, and what the addressee is told of it before.

use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::{DELETE, GET, PATCH, POST};
use crate::{
    harness::{Answer, TestServer},
    routes::domains::Hosted,
};

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
    let comes = json!({
        "members": 2, "grant_links": 1, "service_credentials": 1, "share_link": false,
        "custom_domains": 0, "migration_mode": {"on": false, "until": null},
        "leaves_organization": false,
    });
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

#[tokio::test]
async fn an_offer_tells_of_the_share_link_domains_and_migration_mode() {
    let hosted = Hosted::start().await;
    let server = &hosted.server;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 0).await;
    let open = json!({"visibility": "link"});
    let url = server.tell(&ada, PATCH, &app, open).await.expect(200)["share_url"].clone();
    let site = format!("/apps/{}/sharing", app.rsplit_once('/').unwrap().1);
    let gets_in = "whoever has it still gets in, and so do you";
    server.see(&ada.human, &site).await.says(gets_in).hides("Migration mode");
    let name = json!({"domain": "notes.example.net"});
    server.tell(&ada, POST, &format!("{app}/domain"), name).await.expect(201);
    let on = json!({"on": true, "ttl_minutes": 5});
    let mode = server.tell(&ada, POST, &format!("{app}/migration-mode"), on).await.expect(200);
    server.see(&ada.human, &site).await.says("Migration mode stays on until");
    let org = server.tell(&ada, POST, "/v1/orgs", json!({"name": "Rooks"})).await.expect(201);
    server.tell(&ada, PATCH, &app, json!({"org_id": org["id"]})).await.expect(200);
    // The one that it is offered to is a member now, and will be none.
    for member in [&bob.human.email, "carol@example.org"] {
        server
            .tell(&ada, POST, &format!("{app}/members"), json!({"email": member}))
            .await
            .expect(201);
    }
    let offer = server.offer(&ada, &app, &bob).await;
    let comes = json!({
        "members": 1, "grant_links": 0, "service_credentials": 0, "share_link": true,
        "custom_domains": 1, "migration_mode": mode["migration_mode"],
        "leaves_organization": true,
    });
    assert_eq!(offer["comes_with"], comes);
    assert_eq!(server.offered(&bob).await[0]["comes_with"], comes);
    let page = server.see(&bob.human, "/transfers").await;
    page.says("Preview links end, and it leaves its organization.");
    page.says("1 member.").says("Whoever has its share link still gets in, the former owner too");
    page.says("It comes with 1 custom domain.").says("Migration mode is on until");
    server.decide(&bob, &offer, "accept").await.expect(200);
    let taken = server.tell(&bob, GET, &app, Value::Null).await.expect(200);
    assert_eq!((&taken["share_url"], &taken["migration_mode"]["on"]), (&url, &json!(true)));
    let listed = server.tell(&bob, GET, &format!("{app}/members"), Value::Null).await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn somebody_invited_by_the_address_of_an_offer_is_no_other() {
    let server = TestServer::start().await;
    let ada = server.person("ada").await;
    let app = server.app_with_rows(&ada, 0).await;
    let body = json!({"email": "new@example.org"});
    server.tell(&ada, POST, &format!("{app}/members"), body.clone()).await.expect(201);
    let offer = server.tell(&ada, POST, &format!("{app}/transfer"), body).await.expect(201);
    assert_eq!(offer["comes_with"]["members"], 0);
}
