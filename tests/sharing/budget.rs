//! Who is subject to a collection's budget of writes: whoever has no right but that of `anyone`.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::world::{Site, World};

fn manifest(roles: Value) -> Value {
    let open = json!({"anonWriteBudget": {"perIpPerDay": 2}, "permissions": {
        "read": ["anyone"], "write": ["anyone"], "update": ["creator"], "delete": ["owner"],
    }});
    json!({"roles": roles, "collections": {"entries": open}})
}

/// How many of three writes are taken.
async fn written(site: &Site<'_>, token: &str) -> usize {
    let mut written = 0;
    for _ in 0..3 {
        let body = json!({"data": {}});
        let answer = site.send(token, Method::POST, "/s/collections/entries", body).await;
        if answer.status == 201 {
            written += 1;
        } else {
            answer.error(ErrorCode::CollectionWriteBudgetExceeded);
        }
    }
    written
}

#[tokio::test]
async fn who_is_signed_in_and_no_member_shares_the_budget_of_its_network() {
    let world = World::start().await;
    let site = world.site_of("public", manifest(json!({"editor": {}}))).await;
    let stranger = world.server.human("stranger@example.com").await;
    let stranger = site.enter(&stranger).await;
    let second = site.enter(&world.server.human("second@example.com").await).await;
    assert_eq!(written(&site, &stranger).await, 2);
    assert_eq!(written(&site, &second).await, 0, "another account is no other network");
    assert_eq!(written(&site, &site.guest().await).await, 0);

    let (_, _, member) = site.member("member@example.com", None).await;
    let owner = site.enter(&world.owner).await;
    let (_, editor) = site.holder("editor").await;
    for exempt in [&member, &owner, &editor] {
        assert_eq!(written(&site, exempt).await, 3);
    }
    // A link whose role is declared no more gives what anybody has.
    site.redeploy(manifest(json!({}))).await;
    assert_eq!(written(&site, &editor).await, 0);
    assert_eq!(written(&site, &member).await, 3);
}

#[tokio::test]
async fn a_write_that_is_refused_later_costs_nothing() {
    let world = World::start().await;
    let mut unique = manifest(json!({}));
    unique["collections"]["entries"]["unique"] = json!(["name"]);
    let site = world.site_of("public", unique).await;
    let guest = site.guest().await;
    let write = |name: &str| {
        let body = json!({"data": {"name": name}});
        site.send(&guest, Method::POST, "/s/collections/entries", body)
    };
    write("a").await.expect(201);
    for _ in 0..3 {
        write("a").await.error(ErrorCode::UniqueConflict);
    }
    write("b").await.expect(201);
    write("c").await.error(ErrorCode::CollectionWriteBudgetExceeded);
}
