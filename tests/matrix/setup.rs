//! The app of the matrix: everybody who will ask has rows of its own, rows that somebody else wrote
//! last, rows of others that it wrote last, and rows that it has nothing to do with. They are made
//! while everything is open; then the lists that are to be walked come into force.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    callers::{OF_PRIVATE, OF_PUBLIC, Pass, Place, Who},
    lists::{COLLECTIONS, Lists, manifest, name},
    model::{By, Collection, State},
};
use crate::{
    harness::{Answer, TestServer},
    sharing::world::{Site, World, text},
};

/// A row that the caller created and wrote last.
pub const MINE: &str = "m";
/// One that it created and somebody else wrote last.
pub const CREATED: &str = "c";
/// One that somebody else created and it wrote last.
pub const EDITED: &str = "e";
/// One that it has nothing to do with.
pub const FOREIGN: &str = "x";

/// The server, the app, and everybody's way to it.
pub struct House {
    pub world: World,
    pub place: Place,
    pub callers: Vec<(Who, Pass)>,
    /// Where the feed stood for each caller before the walk.
    pub since: Vec<(Who, String)>,
    /// The collections as they stand before the walk.
    pub collections: Vec<Collection>,
}

/// The key of a caller's row.
pub fn key(who: Who, kind: &str) -> String {
    format!("{}-{kind}", who.name())
}

impl House {
    pub async fn build(visibility: &str) -> Self {
        let builder = TestServer::builder()
            .set("MAX_ROWS_PER_APP", "100000")
            .set("MAX_ROWS_PER_ACCOUNT", "1000000")
            .set("ROOKERY__FEED__RETENTION_EVENTS", "1000000");
        let world = World::start_with(builder).await;
        let site = world.site_of(visibility, manifest(visibility, true)).await;
        let host = site.origin().split_once("://").expect("an origin").1.to_owned();
        let place = Place { id: site.app.id.clone(), host };
        let who = if visibility == "public" { &OF_PUBLIC[..] } else { &OF_PRIVATE[..] };
        let mut callers = Vec::new();
        for who in who {
            callers.push((*who, pass(&world, &site, *who).await));
        }
        let sibling = Pass::Bearer(world.server.agent(&world.owner).await.key);
        let lists = |at| Lists::of(visibility, at);
        let mut collections: Vec<Collection> = (0..COLLECTIONS)
            .map(|at| Collection { at, lists: lists(at), rows: [].into(), log: Vec::new() })
            .collect();
        let fill = Fill { server: &world.server, place: &place, callers: &callers, sibling };
        for collection in &mut collections {
            fill.collection(collection).await;
        }
        site.redeploy(manifest(visibility, false)).await;
        let mut since = Vec::new();
        for (who, pass) in &callers {
            if !matches!(pass, Pass::Refused(..)) {
                let feed = pass.ask(&world.server, &place, Method::GET, "feed");
                since.push((*who, text(&Answer::of(feed).await.expect(200), "cursor")));
            }
        }
        Self { place, callers, since, collections, world }
    }
}

/// Lets a caller in, in the way of its kind.
pub async fn pass(world: &World, site: &Site<'_>, who: Who) -> Pass {
    let server = &world.server;
    let everything = json!(["read", "create", "update", "delete", "count"]);
    let credential = async |body: Value| Pass::Bearer(site.credential(body).await.1);
    match who {
        Who::Owner => Pass::Participant(site.enter(&world.owner).await),
        Who::Agent => Pass::Bearer(world.agent.key.clone()),
        Who::Sibling => Pass::Bearer(server.agent(&world.owner).await.key),
        Who::Admin => {
            let admin = server.human("admin@example.com").await;
            let org = server.by(&world.owner, Method::POST, "/v1/orgs");
            let org = Answer::of(org.json(&json!({"name": "Crew"}))).await.expect(201);
            let path = format!("/v1/orgs/{}/members", text(&org, "id"));
            let body = json!({"email": admin.email, "role": "admin"});
            let added = server.by(&world.owner, Method::POST, &path).json(&body);
            Answer::of(added).await.expect(201);
            site.patch("", json!({"org_id": org["id"]})).await.expect(200);
            Pass::Participant(site.enter(&admin).await)
        }
        Who::Member => Pass::Participant(site.member("member@example.com", None).await.2),
        Who::Pilot => Pass::Participant(site.member("pilot@example.com", Some("pilot")).await.2),
        Who::Holder => Pass::Participant(site.holder("pilot").await.1),
        Who::Anonymous => Pass::Participant(site.guest().await),
        Who::Passerby => {
            let human = server.human("passerby@example.com").await;
            let pass = Pass::Participant(site.enter(&human).await);
            match site.app.record["visibility"] == "public" {
                true => pass,
                false => Pass::Refused("unauthorized", Box::new(pass)),
            }
        }
        Who::Preview => Pass::Participant(site.looker().await.1),
        Who::Explicit => {
            let even: Vec<_> = (0..COLLECTIONS).step_by(2).map(name).collect();
            credential(json!({"collections": even, "operations": everything})).await
        }
        Who::Following => credential(json!({"mode": "following", "operations": everything})).await,
        Who::Own => {
            let body = json!({"mode": "following", "operations": everything, "scope": "own"});
            credential(body).await
        }
        Who::Stranger => {
            let human = server.human("stranger@example.com").await;
            let agent = server.agent(&human).await;
            Pass::Refused("app_not_found", Box::new(Pass::Bearer(agent.key)))
        }
    }
}

/// Fills one collection while everything is open.
struct Fill<'a> {
    server: &'a TestServer,
    place: &'a Place,
    callers: &'a [(Who, Pass)],
    sibling: Pass,
}

impl Fill<'_> {
    async fn collection(&self, collection: &mut Collection) {
        let can = |who: Who, kind: &str| match who {
            Who::Preview | Who::Stranger => false,
            Who::Explicit if collection.at % 2 == 1 => false,
            // It sees no row but those that it created.
            Who::Own => kind != EDITED,
            Who::Passerby => {
                !self.callers.iter().any(|one| one.0 == who && matches!(one.1, Pass::Refused(..)))
            }
            _ => true,
        };
        let who = || self.callers.iter().map(|(who, _)| *who);
        let mut foreign: Vec<String> = who().map(|who| key(who, FOREIGN)).collect();
        foreign.extend(who().filter(|who| can(*who, EDITED)).map(|who| key(who, EDITED)));
        self.write(&self.sibling, collection.at, &foreign, false).await;
        let mut edited = Vec::new();
        for (who, pass) in self.callers.iter().filter(|(who, _)| can(*who, MINE)) {
            let own = [key(*who, MINE), key(*who, CREATED)];
            self.write(pass, collection.at, &own, false).await;
            edited.push(key(*who, CREATED));
            if can(*who, EDITED) {
                self.write(pass, collection.at, &[key(*who, EDITED)], true).await;
            }
        }
        self.write(&self.sibling, collection.at, &edited, true).await;
        let sibling = Who::Sibling;
        for who in who() {
            let kinds = [
                (MINE, By { creator: who, editor: who }),
                (CREATED, By { creator: who, editor: sibling }),
                (EDITED, By { creator: sibling, editor: who }),
                (FOREIGN, By { creator: sibling, editor: sibling }),
            ];
            for (kind, by) in kinds {
                if kind == FOREIGN || can(who, kind) {
                    collection.rows.insert(key(who, kind), (by, State::Live));
                }
            }
        }
    }

    /// Creates the rows, or writes to those that are there.
    async fn write(&self, pass: &Pass, at: usize, keys: &[String], again: bool) {
        let row = |key: &String| match again {
            true => json!({"on": "u", "data": {"u": key}}),
            false => json!({"key": key, "data": {"u": key}}),
        };
        let rows: Vec<Value> = keys.iter().map(row).collect();
        let rest = format!("collections/{}/batch", name(at));
        let request = pass.ask(self.server, self.place, Method::POST, &rest);
        let request = request.json(&json!({"rows": rows, "atomic": true}));
        let answer = Answer::of(request).await.expect(200);
        let wanted = if again { 200 } else { 201 };
        for result in answer["results"].as_array().expect("results") {
            assert_eq!(result["status"], wanted, "{result}");
        }
    }
}
