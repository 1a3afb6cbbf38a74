//! What ended long ago is not kept for ever, and nobody notices.

use rookery_domain::{ErrorCode, time::DAY_S};
use serde_json::json;

use super::world::{Site, World, text};
use crate::harness::{Answer, START, TestServer};

async fn pass_days(server: &TestServer, days: i64) {
    server.state().clock.set(START.plus_seconds(days * DAY_S));
    server.state().rooms.directory.flush().await;
}

async fn invite(site: &Site<'_>, name: &str) -> String {
    let body = json!({"email": format!("{name}@example.com")});
    text(&site.post("/members", body).await.expect(201), "human_id")
}

async fn remove(site: &Site<'_>, human: &str) -> Answer {
    site.delete(&format!("/members/{human}")).await
}

#[tokio::test]
async fn who_was_invited_and_never_came_is_forgotten() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (gone, member) = (invite(&site, "gone").await, invite(&site, "member").await);
    let came = invite(&site, "came").await;
    let human = world.server.human("came@example.com").await;
    for human in [&gone, &came] {
        assert_eq!(remove(&site, human).await.status, 204);
    }
    pass_days(&world.server, 30).await;
    assert_eq!(remove(&site, &gone).await.status, 204, "a second time, for 30 days");
    pass_days(&world.server, 31).await;
    remove(&site, &gone).await.error(ErrorCode::NotFound);
    assert_eq!(remove(&site, &came).await.status, 204);
    let listed = site.get("/members").await.expect(200);
    assert_eq!(listed["items"][1]["human_id"], json!(member));
    assert_eq!(listed["items"][1]["email"], "member@example.com");
    assert_ne!(invite(&site, "gone").await, gone, "somebody new");
    assert_eq!(invite(&site, "came").await, came);
    // Signed in again: the session of a month ago has ended.
    let human = world.server.human(&human.email).await;
    site.enter(&human).await;
}

#[tokio::test]
async fn what_is_revoked_again_and_again_does_not_pile_up() {
    let world = World::start().await;
    let site = world.site("private").await;
    let bodies = [
        ("/grants", json!({"role": "editor"})),
        ("/preview-tokens", json!({})),
        ("/credentials", json!({"collections": ["safe"], "operations": ["read"]})),
    ];
    for (path, body) in bodies {
        let make = async || text(&site.post(path, body.clone()).await.expect(201), "id");
        let end = async |id: &str| site.delete(&format!("{path}/{id}")).await;
        let kept = make().await;
        let mut ended = Vec::new();
        for _ in 0..101 {
            world.pass_seconds(1);
            ended.push(make().await);
            assert_eq!(end(ended.last().expect("one")).await.status, 204);
        }
        end(&ended[0]).await.error(ErrorCode::NotFound);
        for id in [&ended[1], &ended[100], &kept] {
            assert_eq!(end(id).await.status, 204, "{path}");
        }
    }
    let listed = site.get("/credentials?limit=200").await.expect(200);
    assert_eq!(listed["items"].as_array().expect("items").len(), 100);
}
