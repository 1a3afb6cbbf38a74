//! Who is mailed of what stands, though whoever did it waits for no answer.

use std::sync::Arc;

use reqwest::Method;
use rookery_domain::app::{AppRecord, AppStatus};
use rookery_testkit::until_async;
use serde_json::{Value, json};

use super::{DELETE, PATCH, POST};
use crate::{
    harness::TestServer,
    routes::orgs::{Person, id_of},
};

/// Apps of each test: each is changed by a request that is left a little later than the one before.
const APPS: usize = 16;

/// An app of `ada` in an organization that `bob` administers too.
struct Shared {
    path: String,
    slug: String,
}

struct World {
    server: TestServer,
    ada: Person,
    bob: Person,
    carol: Person,
    apps: Vec<Shared>,
}

impl World {
    async fn start() -> Self {
        let server = TestServer::start().await;
        let (ada, bob) = (server.person("ada").await, server.person("bob").await);
        let carol = server.person("carol").await;
        let org = server.org(&ada).await;
        server.join(&org, &ada, &bob, "admin").await;
        let mut apps = Vec::new();
        for _ in 0..APPS {
            let path = server.app_with_rows(&ada, 0).await;
            let moved = json!({"org_id": id_of(&org)});
            let record = server.ask(&ada, PATCH, &path, moved).await.expect(200);
            let slug = record["slug"].as_str().expect("a slug").to_owned();
            apps.push(Shared { path, slug });
        }
        Self { server, ada, bob, carol, apps }
    }

    /// Asks for each of these paths as `who`. The first request tells how many turns an answer takes;
    /// each other is left after a greater part of them.
    async fn leave(&self, who: &Person, method: Method, paths: &[String], body: &Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (cookie, site, len) = (&who.human.cookie, self.server.public_url(), body.len());
        let mut whole = 0;
        for (n, path) in paths.iter().enumerate() {
            let mut client = self.server.raw().await;
            client
                .send(&format!(
                    "{method} {path} HTTP/1.1\r\nhost: x\r\ncookie: {cookie}\r\norigin: {site}\r\n\
                     content-type: application/json\r\ncontent-length: {len}\r\n\r\n{body}"
                ))
                .await;
            if n == 0 {
                let answered = tokio::spawn(async move { client.read_some(1).await });
                while !answered.is_finished() {
                    tokio::task::yield_now().await;
                    whole += 1;
                }
                continue;
            }
            for _ in 0..whole * n / paths.len() {
                tokio::task::yield_now().await;
            }
            client.reset();
        }
    }

    async fn record(&self, app: &Shared) -> Arc<AppRecord> {
        self.server.state().rooms.apps().find(&app.slug).await.expect("the app").record()
    }

    /// Holds every app whose change `stands` against the mails of `who`.
    async fn all_told(&self, who: &Person, said: &str, stands: impl Fn(&AppRecord) -> bool) {
        let mut changed = 0;
        for app in &self.apps {
            if !stands(&*self.record(app).await) {
                continue;
            }
            changed += 1;
            let subject = format!("The app {} {said}", app.slug);
            until_async(&format!("a mail that says: {subject}"), async || {
                let mails = self.server.mails(&who.human.email).await;
                mails.iter().any(|mail| mail["subject"] == subject)
            })
            .await;
        }
        assert!(changed > 0, "the first request was answered");
    }

    fn paths(&self) -> Vec<String> {
        self.apps.iter().map(|app| app.path.clone()).collect()
    }

    /// The paths of the decisions (`accept`, `decline`) on offers of all apps by `bob` to `carol`.
    async fn decisions(&self, decision: &str) -> Vec<String> {
        let mut paths = Vec::new();
        for app in &self.apps {
            let offer = self.server.offer(&self.bob, &app.path, &self.carol).await;
            let id = offer["id"].as_str().expect("an id");
            paths.push(format!("{}/{id}/{decision}", super::MINE));
        }
        paths
    }
}

#[tokio::test]
async fn the_owner_is_mailed_of_an_app_in_the_trash_though_nobody_waits_for_the_answer() {
    let world = World::start().await;
    world.leave(&world.bob, DELETE, &world.paths(), &Value::Null).await;
    let deleted = |record: &AppRecord| record.status == AppStatus::Deleted;
    world.all_told(&world.ada, "was moved to the trash", deleted).await;
}

#[tokio::test]
async fn the_owner_is_mailed_of_a_moved_app_though_nobody_waits_for_the_answer() {
    let world = World::start().await;
    let out = json!({"org_id": null});
    world.leave(&world.bob, PATCH, &world.paths(), &out).await;
    let is_out = |record: &AppRecord| record.org.is_none();
    world.all_told(&world.ada, "left its organization", is_out).await;
}

#[tokio::test]
async fn both_are_mailed_of_an_accepted_offer_though_nobody_waits_for_the_answer() {
    let world = World::start().await;
    let paths = world.decisions("accept").await;
    world.leave(&world.carol, POST, &paths, &Value::Null).await;
    let carols = |record: &AppRecord| record.owner.to_string() == world.carol.id;
    for who in [&world.ada, &world.bob] {
        world.all_told(who, "has another owner", carols).await;
    }
}

#[tokio::test]
async fn whoever_offered_is_mailed_of_a_declined_offer_though_nobody_waits_for_the_answer() {
    let world = World::start().await;
    let paths = world.decisions("decline").await;
    world.leave(&world.carol, POST, &paths, &Value::Null).await;
    let offered = world.server.offered(&world.carol).await;
    let is_offered = |record: &AppRecord| {
        offered.iter().any(|offer| offer["app"]["id"] == record.id.to_string())
    };
    world.all_told(&world.bob, "was declined", |record| !is_offered(record)).await;
}
