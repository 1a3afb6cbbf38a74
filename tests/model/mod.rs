//! Random operations on a collection, each answer and the whole state held against a plain model:
//! keys, versions, uniqueness, refusals, atomic batches, order, counters, feed, and the same again
//! after a restart. The operations are drawn by a fixed seed; a failure shrinks to a short list.

mod plain;

use proptest::{
    prelude::*,
    sample::select,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use self::plain::{Answered, Entry, Model, N_MAX, Told};
use crate::harness::{
    Answer, TestServer,
    apps::{App, Owner},
    encoded,
};

/// Lists of operations.
const CASES: u32 = 40;
/// Operations of one list at most.
const STEPS_MAX: usize = 50;
/// Keys: few, so that operations meet.
const KEYS: u8 = 5;
/// Names, of which some are one and the same to a unique field.
const NAMES: [&str; 6] = ["ada", " Ada", "ADA ", "bo", "Bo", "cy"];

#[derive(Debug, Clone)]
enum Step {
    Write(Entry),
    Update { key: u8, data: Value, replace: bool, seen: Option<u64> },
    Delete { key: u8, seen: Option<u64> },
    Restore(u8),
    Purge(u8),
    Batch { entries: Vec<Entry>, atomic: bool },
}

fn entry() -> impl Strategy<Value = Entry> {
    let key = prop_oneof![3 => (0..KEYS).prop_map(Some), 1 => Just(None)];
    // One in six is more than the schema admits.
    (key, select(&NAMES[..]), 0..=N_MAX + 1).prop_map(|(key, name, n)| Entry { key, name, n })
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..KEYS;
    let seen = prop_oneof![3 => Just(None), 2 => (1..5_u64).prop_map(Some)];
    let name = prop_oneof![
        2 => Just(None),
        3 => select(&NAMES[..]).prop_map(|name| Some(json!(name))),
        1 => Just(Some(Value::Null)),
    ];
    let update = (key.clone(), name, 0..=N_MAX + 1, any::<bool>(), seen.clone());
    let update = update.prop_map(|(key, name, n, replace, seen)| {
        let mut data = json!({"n": n});
        if let Some(name) = name {
            data["name"] = name;
        }
        Step::Update { key, data, replace, seen }
    });
    let batch = (prop::collection::vec(entry(), 1..5), any::<bool>());
    prop_oneof![
        6 => entry().prop_map(Step::Write),
        5 => update,
        3 => (key.clone(), seen).prop_map(|(key, seen)| Step::Delete { key, seen }),
        2 => key.clone().prop_map(Step::Restore),
        1 => key.prop_map(Step::Purge),
        2 => batch.prop_map(|(entries, atomic)| Step::Batch { entries, atomic }),
    ]
}

fn manifest() -> Value {
    let owner = json!(["owner"]);
    json!({
        "collections": {"rows": {
            "schema": {"$ref": "#/$defs/Row"},
            "permissions": {"read": owner, "write": owner, "update": owner, "delete": owner,
                "countRead": owner},
            "unique": ["name"]
        }},
        "$defs": {"Row": {"type": "object", "properties": {
            "name": {"type": ["string", "null"]}, "n": {"type": "integer", "maximum": N_MAX}
        }}}
    })
}

/// One app and what it must hold.
struct Place {
    owner: Owner,
    app: App,
    start: String,
    model: Model,
}

impl Place {
    async fn new(server: &TestServer, owner: &Owner) -> Self {
        let app = server.deploy(owner, json!({"manifest": manifest()})).await;
        let feed = server.get_as(owner, &app.path("/feed")).await.expect(200);
        let start = feed["cursor"].as_str().expect("a cursor").to_owned();
        Self { owner: owner.clone(), app, start, model: Model::default() }
    }

    fn rows(&self, below: &str) -> String {
        self.app.path(&format!("/collections/rows{below}"))
    }

    async fn send(&self, server: &TestServer, method: Method, below: &str, body: Value) -> Answer {
        let request = server.call(method, &self.rows(below), &self.owner);
        let request = if body.is_null() { request } else { request.json(&body) };
        Answer::of(request).await
    }

    async fn take(&mut self, server: &TestServer, step: &Step) {
        let below = |key: &u8| format!("/{}", plain::key_text(*key));
        match step {
            Step::Write(entry) => {
                let answer = self.send(server, Method::POST, "", entry.body()).await;
                let drawn = drawn(&answer);
                expect(&answer, self.model.write(entry, drawn.as_deref()));
            }
            Step::Update { key, data, replace, seen } => {
                let mut body = json!({"data": data, "replace": replace});
                if let Some(seen) = seen {
                    body["if_match"] = (*seen).into();
                }
                let answer = self.send(server, Method::PATCH, &below(key), body).await;
                expect(&answer, self.model.update(*key, data, *replace, *seen));
            }
            Step::Delete { key, seen } => {
                let seen_text = seen.map(|seen| format!("?if_match={seen}")).unwrap_or_default();
                let path = below(key) + &seen_text;
                let answer = self.send(server, Method::DELETE, &path, Value::Null).await;
                expect(&answer, self.model.delete(*key, *seen));
            }
            Step::Restore(key) => {
                let path = below(key) + "/restore";
                let answer = self.send(server, Method::POST, &path, Value::Null).await;
                match self.model.restore(*key) {
                    Err(code @ rookery_domain::ErrorCode::UniqueConflict) => {
                        answer.error_of_its_own(code);
                    }
                    expected => expect(&answer, expected),
                }
            }
            Step::Purge(key) => {
                let path = below(key) + "/purge";
                let answer = self.send(server, Method::DELETE, &path, Value::Null).await;
                expect(&answer, self.model.purge(*key));
            }
            Step::Batch { entries, atomic } => {
                let rows: Vec<_> = entries.iter().map(Entry::body).collect();
                let body = json!({"rows": rows, "atomic": atomic});
                let answer = self.send(server, Method::POST, "/batch", body).await;
                self.expect_batch(&answer, entries, *atomic);
            }
        }
    }

    fn expect_batch(&mut self, answer: &Answer, entries: &[Entry], atomic: bool) {
        let body = answer.json();
        let results = body["results"].as_array().cloned().unwrap_or_default();
        let keys = results.iter().map(|one| one["row"]["key"].as_str().map(str::to_owned));
        let keys: Vec<_> = keys.collect();
        if atomic && let Err(code) = self.model.clone().atomic(entries, &keys) {
            answer.error(code);
            return;
        }
        answer.expect(200);
        assert_eq!(results.len(), entries.len());
        for ((entry, result), key) in entries.iter().zip(&results).zip(&keys) {
            let status = result["status"].as_u64().and_then(|status| u16::try_from(status).ok());
            let status = status.expect("a status");
            match self.model.write(entry, key.as_deref()) {
                Ok(told) => assert_eq!(Told { status, ..row(&result["row"]) }, told),
                Err(code) => assert_eq!(result["error"]["code"], code.as_str(), "{result}"),
            }
        }
    }

    /// Everything that can be asked tells the same.
    async fn check(&self, server: &TestServer) {
        let get =
            async |below: &str| server.get_as(&self.owner, &self.rows(below)).await.expect(200);
        let listed = |page: &Value| -> Vec<(String, u64, Value)> {
            let items = page["items"].as_array().expect("a list");
            let one = |item: &Value| {
                (item["key"].to_string(), item["version"].as_u64(), item["data"].clone())
            };
            items
                .iter()
                .map(one)
                .map(|(key, version, data)| (key, version.unwrap_or(0), data))
                .collect()
        };
        let known = |rows: Vec<(&String, &plain::Row)>| -> Vec<(String, u64, Value)> {
            let one = |(key, row): (&String, &plain::Row)| {
                (json!(key).to_string(), row.version, row.data.clone())
            };
            rows.into_iter().map(one).collect()
        };
        let by_key = |page: &Value| {
            let mut rows = listed(page);
            rows.sort_by(|a, b| a.0.cmp(&b.0));
            rows
        };
        let in_order = |page: &Value| {
            let place = |item: &Value| (item["created_at"].to_string(), item["key"].to_string());
            let items = page["items"].as_array().expect("a list").iter();
            assert!(items.map(place).is_sorted(), "{page}");
        };
        let low = |row: &plain::Row| row.data["n"].as_u64().is_some_and(|n| n < 2);
        let (all, filtered) =
            (get("").await, get(&format!("?filter={}", encoded(r#"{"n":{"lt":2}}"#))).await);
        in_order(&all);
        in_order(&filtered);
        let live = self.model.live.iter();
        assert_eq!(by_key(&all), known(live.clone().collect()));
        assert_eq!(by_key(&filtered), known(live.filter(|(_, row)| low(row)).collect()));
        assert_eq!(by_key(&get("/deleted").await), known(self.model.trash.iter().collect()));
        assert_eq!(get("/count").await["count"], self.model.live.len());
        let record = server.get_as(&self.owner, &self.app.path("")).await.expect(200);
        assert_eq!(record["usage"]["rows"], self.model.live.len());
        self.check_feed(server).await;
    }

    /// The feed has an event for every change, without a gap, and ends where the rows do.
    async fn check_feed(&self, server: &TestServer) {
        let mut cursor = self.start.clone();
        let mut events = Vec::new();
        loop {
            let path = self.app.path(&format!("/feed?wait=0&limit=50&since={cursor}"));
            let page = server.get_as(&self.owner, &path).await.expect(200);
            events.extend(page["events"].as_array().cloned().expect("events"));
            cursor = page["cursor"].as_str().expect("a cursor").to_owned();
            if page["more"] != true {
                break;
            }
        }
        assert_eq!(events.len(), self.model.events);
        let seqs: Vec<_> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
        assert!(seqs.windows(2).all(|two| two[1] == two[0] + 1), "{seqs:?}");
        for (key, known) in self.model.live.iter().chain(&self.model.trash) {
            let last = events.iter().rev().find(|event| event["key"] == *key);
            assert_eq!(last.map(|event| &event["version"]), Some(&json!(known.version)), "{key}");
        }
    }
}

fn drawn(answer: &Answer) -> Option<String> {
    answer.json()["key"].as_str().map(str::to_owned)
}

fn row(record: &Value) -> Told {
    Told {
        status: 0,
        key: record["key"].as_str().unwrap_or_default().to_owned(),
        version: record["version"].as_u64().unwrap_or(0),
        data: record["data"].clone(),
    }
}

#[track_caller]
fn expect(answer: &Answer, expected: Answered) {
    match expected {
        Ok(told) => {
            let found = Told { status: answer.status, ..row(&answer.json()) };
            assert_eq!(found, told, "{}", answer.text);
        }
        Err(code) => drop(answer.error(code)),
    }
}

#[test]
fn random_operations_answer_and_leave_what_a_plain_model_says() {
    let runtime = Runtime::new().expect("a runtime");
    let server =
        runtime.block_on(TestServer::builder().set("MAX_APPS_PER_ACCOUNT", "100000").start());
    let owner = runtime.block_on(server.owner("model"));
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let places = std::cell::RefCell::new(Vec::new());
    let steps = prop::collection::vec(step(), 1..STEPS_MAX);
    let held = runner.run(&steps, |steps| {
        runtime.block_on(async {
            let mut place = Place::new(&server, &owner).await;
            for step in &steps {
                place.take(&server, step).await;
            }
            place.check(&server).await;
            places.borrow_mut().push(place);
        });
        Ok(())
    });
    if let Err(why) = held {
        panic!("{why}");
    }
    // What was answered is what the next process reads.
    runtime.block_on(async {
        let server = server.restart().await;
        for place in places.into_inner() {
            place.check(&server).await;
        }
        server.stop().await;
    });
}
