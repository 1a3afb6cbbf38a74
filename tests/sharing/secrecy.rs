//! What attackers try with rows, by every kind of caller there is: what one may not see is what is
//! not there, whatever is asked of it, and what many ask at once is given once.

use futures::future::join_all;
use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::world::{Site, World};
use crate::{
    harness::{Answer, won},
    matrix::{
        callers::{OF_PRIVATE, OF_PUBLIC, Pass, Place, Who},
        setup::pass,
    },
};

/// At once.
const CROWD: usize = 64;

/// `own` shows everybody its own rows only; `open` everything to everybody.
fn manifest() -> Value {
    let anyone = json!(["anyone"]);
    let lists = |read: Value| {
        json!({"unique": ["slot"], "permissions": {"read": read, "write": anyone,
            "update": anyone, "delete": anyone, "countRead": anyone}})
    };
    let (own, open) = (lists(json!(["creator"])), lists(anyone.clone()));
    // The explicit credential of the matrix is for these.
    json!({"roles": {"pilot": {}}, "events": {"ping": {}},
        "collections": {"c00": own, "c02": open.clone(), "c04": open}})
}

/// An app and everybody whom it is open to, each with its way in.
struct Crowd<'a> {
    site: Site<'a>,
    place: Place,
    callers: Vec<(Who, Pass)>,
    /// An agent whose rows are foreign to all of them.
    sibling: Pass,
}

impl<'a> Crowd<'a> {
    async fn of(world: &'a World, visibility: &str) -> Self {
        let mut manifest = manifest();
        for at in (0..crate::matrix::lists::COLLECTIONS).step_by(2) {
            let name = crate::matrix::lists::name(at);
            if manifest["collections"].get(&name).is_none() {
                manifest["collections"][name] = manifest["collections"]["c04"].clone();
            }
        }
        let site = world.site_of(visibility, manifest).await;
        let host = site.origin().split_once("://").expect("an origin").1.to_owned();
        let place = Place { id: site.app.id.clone(), host };
        let who = if visibility == "public" { &OF_PUBLIC[..] } else { &OF_PRIVATE[..] };
        let mut callers = Vec::new();
        for who in who {
            let pass = pass(world, &site, *who).await;
            if !matches!(pass, Pass::Refused(..)) {
                callers.push((*who, pass));
            }
        }
        let sibling = pass(world, &site, Who::Sibling).await;
        Self { site, place, callers, sibling }
    }

    async fn ask(&self, pass: &Pass, method: Method, rest: &str, body: Option<&Value>) -> Answer {
        let request =
            pass.ask(self.site.server, &self.place, method, &format!("collections/{rest}"));
        Answer::of(match body {
            Some(body) => request.json(body),
            None => request,
        })
        .await
    }

    async fn row(&self, collection: &str, key: &str, slot: &str) {
        let body = json!({"key": key, "data": {"slot": slot, "n": 1}});
        self.ask(&self.sibling, Method::POST, collection, Some(&body)).await.expect(201);
    }
}

/// An error without what is each request's own.
fn told(answer: &Answer) -> Value {
    let mut body = answer.json();
    body["error"]["request_id"] = Value::Null;
    body
}

/// The results of a batch, without their places.
fn results(answer: &Answer) -> Vec<Value> {
    let mut results = answer.expect(200)["results"].as_array().expect("results").clone();
    for result in &mut results {
        result["index"] = Value::Null;
    }
    results
}

async fn a_hidden_row_is_none(visibility: &str) {
    let world = World::start().await;
    let crowd = Crowd::of(&world, visibility).await;
    crowd.row("c00", "hidden", "s").await;
    crowd.row("c00", "trashed", "t").await;
    crowd.ask(&crowd.sibling, Method::DELETE, "c00/trashed", None).await.expect(200);
    let keys = ["hidden", "absent", "trashed"];
    for (who, pass) in &crowd.callers {
        let asks = [
            (Method::GET, "", None),
            (Method::PATCH, "", Some(json!({"data": {"n": 2}}))),
            (Method::PATCH, "", Some(json!({"data": {}, "if_match": 9}))),
            (Method::PATCH, "", Some(json!({"data": {}, "replace": true}))),
            (Method::DELETE, "", None),
            (Method::DELETE, "?if_match=9", None),
        ];
        for (method, query, body) in asks {
            let mut all = Vec::new();
            for key in keys {
                let rest = format!("c00/{key}{query}");
                let answer = crowd.ask(pass, method.clone(), &rest, body.as_ref()).await;
                let error = answer.error(ErrorCode::RowNotFound);
                assert!(error.get("details").is_none(), "{who:?} {method}: {error}");
                all.push(told(&answer));
            }
            all.dedup();
            assert_eq!(all.len(), 1, "{who:?} {method}: {all:?}");
        }
        // Whoever may not even write is told no more of it.
        let keyed = json!({"key": "hidden", "data": {"slot": "new"}});
        let upsert = json!({"on": "slot", "data": {"slot": " S ", "n": 3}});
        for body in [&keyed, &upsert] {
            let answer = crowd.ask(pass, Method::POST, "c00", Some(body)).await;
            answer.error(ErrorCode::RowNotFound);
        }
        let batch = json!({"rows": [keyed, upsert]});
        let batch = crowd.ask(pass, Method::POST, "c00/batch", Some(&batch)).await;
        for result in results(&batch) {
            assert_eq!(result["error"]["code"], "row_not_found", "{who:?}: {result}");
        }
        let matching = json!({"key": "hidden", "if_match": 9});
        let batch = json!({"keys": [matching, "hidden", "absent", "trashed"]});
        let batch = crowd.ask(pass, Method::DELETE, "c00/batch", Some(&batch)).await;
        let mut all = results(&batch);
        all.dedup();
        assert_eq!(all.len(), 1, "{who:?}: {all:?}");
        assert_eq!(all[0]["error"]["code"], "row_not_found");
        for query in ["?filter=%7B%22n%22%3A1%7D", "?filter=%7B%22slot%22%3A%22s%22%7D", "?sort=-n"]
        {
            let page = crowd.ask(pass, Method::GET, &format!("c00{query}"), None).await.expect(200);
            assert_eq!(page["items"], json!([]), "{who:?} {query}");
        }
        let filtered = "c00/count?filter=%7B%22slot%22%3A%22s%22%7D";
        let counted = crowd.ask(pass, Method::GET, filtered, None).await;
        counted.error(ErrorCode::InvalidRequest);
    }
    let row = crowd.ask(&crowd.sibling, Method::GET, "c00/hidden", None).await.expect(200);
    assert_eq!((&row["version"], &row["data"]["n"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn to_everybody_in_a_private_app_a_hidden_row_is_none() {
    a_hidden_row_is_none("private").await;
}

#[tokio::test]
async fn to_everybody_in_a_public_app_a_hidden_row_is_none() {
    a_hidden_row_is_none("public").await;
}

#[tokio::test]
async fn the_trash_is_refused_before_anything_is_said_of_a_row() {
    let world = World::start().await;
    for visibility in ["private", "public"] {
        let crowd = Crowd::of(&world, visibility).await;
        for key in ["hidden", "trashed"] {
            crowd.row("c00", key, key).await;
        }
        crowd.ask(&crowd.sibling, Method::DELETE, "c00/trashed", None).await.expect(200);
        for (who, pass) in &crowd.callers {
            let mine = format!("{who:?}");
            let body = json!({"key": mine, "data": {}});
            crowd.ask(pass, Method::POST, "c00", Some(&body)).await;
            let ask = async |key: &str| {
                let rest = format!("c00/{key}?include_deleted=true");
                crowd.ask(pass, Method::GET, &rest, None).await
            };
            let absent = ask("absent").await;
            if matches!(who, Who::Owner | Who::Agent | Who::Admin) {
                absent.error(ErrorCode::RowNotFound);
                ask("trashed").await.expect(200);
                continue;
            }
            assert_eq!(absent.status, 403, "{who:?}: {}", absent.text);
            for key in ["hidden", "trashed", &mine, "%00"] {
                assert_eq!(told(&ask(key).await), told(&absent), "{who:?} {key}");
            }
        }
        let nobody =
            crowd.site.visit(Method::GET, "/s/collections/c00/hidden?include_deleted=true");
        let other = crowd.site.visit(Method::GET, "/s/collections/c00/absent?include_deleted=true");
        assert_eq!(told(&Answer::of(nobody).await), told(&Answer::of(other).await));
    }
}

#[tokio::test]
async fn who_may_not_write_does_not_learn_which_keys_and_values_there_are() {
    let world = World::start().await;
    let lists = |read: &str| {
        json!({"unique": ["email"], "permissions": {"read": [read], "write": ["owner"],
            "update": ["owner"], "delete": ["owner"]}})
    };
    let collections = json!({"users": lists("owner"), "drawers": lists("creator"),
        "news": lists("anyone")});
    let site = world.site_of("public", json!({"collections": collections})).await;
    let guest = site.guest().await;
    for name in ["users", "drawers", "news"] {
        let path = format!("/collections/{name}");
        let row = json!({"key": "alice", "data": {"email": "alice@example.com"}});
        site.post(&path, row).await.expect(201);
        let path = format!("/s{path}");
        let asked = |alice: &str| {
            let email = format!("{alice}@example.com");
            [json!({"key": alice, "data": {}}), json!({"on": "email", "data": {"email": email}})]
        };
        for (held, free) in asked("alice").into_iter().zip(asked("bob")) {
            let send =
                async |body: &Value| site.send(&guest, Method::POST, &path, body.clone()).await;
            let (held_said, free_said) = (send(&held).await, send(&free).await);
            let batch = format!("{path}/batch");
            let rows = json!({"rows": [held, free]});
            let batch = site.send(&guest, Method::POST, &batch, rows).await.expect(200);
            let results = &batch["results"];
            let code = if name == "news" {
                // Everybody reads it, so there is nothing to find out.
                ErrorCode::CollectionWriteForbidden
            } else {
                assert_eq!(told(&held_said), told(&free_said));
                assert_eq!(results[0]["error"], results[1]["error"]);
                ErrorCode::RowNotFound
            };
            held_said.error(code);
            free_said.error(code);
            assert_eq!(results[1]["error"]["code"], code.as_str());
        }
        let keyless = site.send(&guest, Method::POST, &path, json!({"data": {}})).await;
        keyless.error(ErrorCode::CollectionWriteForbidden);
    }
}

#[tokio::test]
async fn a_cursor_is_good_for_the_caller_the_collection_and_the_app_it_was_made_for() {
    let world = World::start().await;
    let crowd = Crowd::of(&world, "private").await;
    let elsewhere = Crowd::of(&world, "private").await;
    for key in ["a", "b", "c"] {
        crowd.row("c02", key, key).await;
    }
    let page = async |pass: &Pass, rest: &str| crowd.ask(pass, Method::GET, rest, None).await;
    for (at, (who, pass)) in crowd.callers.iter().enumerate() {
        let first = page(pass, "c02?limit=1").await.expect(200);
        if first["items"] == json!([]) {
            // Scope `own`: it has made none of them.
            assert_eq!(*who, Who::Own);
            continue;
        }
        let cursor = first["next_cursor"].as_str().expect("a cursor");
        let next = page(pass, &format!("c02?limit=1&cursor={cursor}")).await.expect(200);
        assert_eq!(next["items"][0]["key"], "b", "{who:?}");
        let (start, last) = cursor.split_at(cursor.len() - 2);
        let other = if last == "AA" { "BB" } else { "AA" };
        for rest in [
            format!("c04?limit=1&cursor={cursor}"),
            format!("c02?limit=1&cursor={start}{other}"),
            format!("c02?limit=1&cursor={}", &cursor[1..]),
        ] {
            page(pass, &rest).await.error(ErrorCode::InvalidRequest);
        }
        let rest = format!("c02?limit=1&cursor={cursor}");
        let abroad = crowd.callers.iter().zip(&elsewhere.callers).nth(at).expect("a caller").1;
        let abroad = elsewhere.ask(&abroad.1, Method::GET, &rest, None).await;
        abroad.error(ErrorCode::InvalidRequest);
        let (next_who, other) = &crowd.callers[(at + 1) % crowd.callers.len()];
        let borrowed = page(other, &rest).await;
        assert_eq!(borrowed.status, 400, "{who:?} to {next_who:?}: {}", borrowed.text);
    }
}

#[tokio::test]
async fn of_a_crowd_of_all_kinds_one_gets_what_there_is_once() {
    let world = World::start().await;
    let crowd = Crowd::of(&world, "private").await;
    let kinds: Vec<&Pass> = crowd
        .callers
        .iter()
        // A preview writes nothing, and scope `own` does not see what it did not make.
        .filter(|(who, _)| !matches!(who, Who::Preview | Who::Own))
        .map(|(_, pass)| pass)
        .collect();
    let everybody = || (0..CROWD).map(|n| (n, kinds[n % kinds.len()]));
    for round in 0..8 {
        let spellings =
            [format!("straße{round}"), format!(" STRASSE{round}"), format!("Strasse{round}\t")];
        let create = everybody().map(async |(n, pass)| {
            let body = json!({"data": {"slot": spellings[n % 3], "n": n}});
            crowd.ask(pass, Method::POST, "c02", Some(&body)).await
        });
        assert_eq!(won(&join_all(create).await, 201, ErrorCode::UniqueConflict), 1);
    }
    crowd.row("c04", "k", "k").await;
    for version in 1..=8 {
        let update = everybody().map(async |(n, pass)| {
            let body = json!({"data": {"n": n}, "if_match": version});
            crowd.ask(pass, Method::PATCH, "c04/k", Some(&body)).await
        });
        assert_eq!(won(&join_all(update).await, 200, ErrorCode::Conflict), 1);
    }
    let delete = everybody()
        .map(async |(_, pass)| crowd.ask(pass, Method::DELETE, "c04/k?if_match=9", None).await);
    assert_eq!(won(&join_all(delete).await, 200, ErrorCode::RowNotFound), 1);
}
