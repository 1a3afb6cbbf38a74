//! The promise of the feed: whoever lists, follows from the list's `feed_cursor` and applies
//! events by row version ends with exactly the server's rows, whatever happened meanwhile.

use std::collections::BTreeMap;

use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, TestRunner},
};
use reqwest::Method;
use serde_json::{Value, json};

use super::rows::{OWNER, Rows};

/// Rounds of random operations.
const ROUNDS: usize = 12;

/// One change of one of a few rows.
#[derive(Debug, Clone)]
enum Change {
    Create(u8, u8),
    Merge(u8, u8),
    Replace(u8, u8),
    Delete(u8),
    Restore(u8),
    Purge(u8),
    BatchDelete(Vec<u8>),
    BatchCreate(Vec<u8>),
}

fn change() -> impl Strategy<Value = Change> {
    let key = 0..8_u8;
    prop_oneof![
        4 => (key.clone(), any::<u8>()).prop_map(|(key, n)| Change::Create(key, n)),
        4 => (key.clone(), any::<u8>()).prop_map(|(key, n)| Change::Merge(key, n)),
        2 => (key.clone(), any::<u8>()).prop_map(|(key, n)| Change::Replace(key, n)),
        3 => key.clone().prop_map(Change::Delete),
        2 => key.clone().prop_map(Change::Restore),
        1 => key.clone().prop_map(Change::Purge),
        1 => prop::collection::vec(key.clone(), 1..5).prop_map(Change::BatchDelete),
        1 => prop::collection::vec(key, 1..5).prop_map(Change::BatchCreate),
    ]
}

/// What a client knows, or the model: data and version by key.
type Known = BTreeMap<String, (u64, Value)>;

/// What the server must hold, kept by the plainest means.
#[derive(Default)]
struct Model {
    live: Known,
    trash: Known,
    /// The last version of every key there ever was.
    versions: BTreeMap<String, u64>,
}

impl Model {
    fn put(&mut self, key: &str, data: Value) {
        let version = self.versions.entry(key.to_owned()).or_default();
        *version += 1;
        self.trash.remove(key);
        self.live.insert(key.to_owned(), (*version, data));
    }

    fn create(&mut self, key: &str, data: Value) {
        if !self.live.contains_key(key) {
            self.put(key, data);
        }
    }

    fn delete(&mut self, key: &str) {
        if let Some((_, data)) = self.live.remove(key) {
            let version = self.versions.entry(key.to_owned()).or_default();
            *version += 1;
            self.trash.insert(key.to_owned(), (*version, data));
        }
    }

    fn purge(&mut self, key: &str) {
        let was = self.live.remove(key).or_else(|| self.trash.remove(key));
        if was.is_some() {
            *self.versions.entry(key.to_owned()).or_default() += 1;
        }
    }
}

async fn apply(rows: &Rows, model: &mut Model, change: Change) {
    let name = |key: u8| format!("k{key}");
    let path = |key: u8| format!("entries/k{key}");
    match change {
        Change::Create(key, n) => {
            let body = json!({"key": name(key), "data": {"n": n}});
            assert!(rows.post("entries", body).await.status < 300);
            model.create(&name(key), json!({"n": n}));
        }
        Change::Merge(key, n) => {
            rows.patch(&path(key), json!({"data": {"m": n}})).await;
            if let Some((_, mut data)) = model.live.get(&name(key)).cloned() {
                data["m"] = json!(n);
                model.put(&name(key), data);
            }
        }
        Change::Replace(key, n) => {
            rows.patch(&path(key), json!({"data": {"r": n}, "replace": true})).await;
            if model.live.contains_key(&name(key)) {
                model.put(&name(key), json!({"r": n}));
            }
        }
        Change::Delete(key) => {
            rows.delete(&path(key)).await;
            model.delete(&name(key));
        }
        Change::Restore(key) => {
            rows.post(&format!("{}/restore", path(key)), json!({})).await;
            if let Some((_, data)) = model.trash.get(&name(key)).cloned() {
                model.put(&name(key), data);
            }
        }
        Change::Purge(key) => {
            rows.delete(&format!("{}/purge", path(key))).await;
            model.purge(&name(key));
        }
        Change::BatchDelete(keys) => {
            let names: Vec<_> = keys.iter().map(|key| name(*key)).collect();
            let body = json!({"keys": names});
            rows.send(OWNER, Method::DELETE, "entries/batch", body).await.expect(200);
            names.iter().for_each(|name| model.delete(name));
        }
        Change::BatchCreate(keys) => {
            let new = |key: &u8| json!({"key": name(*key), "data": {"b": key}});
            let body = json!({"rows": keys.iter().map(new).collect::<Vec<_>>()});
            rows.post("entries/batch", body).await.expect(200);
            keys.iter().for_each(|key| model.create(&name(*key), json!({"b": key})));
        }
    }
}

fn place(row: &Value) -> (String, u64) {
    (row["key"].as_str().expect("a key").to_owned(), row["version"].as_u64().expect("a version"))
}

/// Applies an event by row version, as a client does that has nothing else to go by.
fn hear(known: &mut Known, newest: &mut BTreeMap<String, u64>, event: &Value) {
    if event["collection"] != "entries" {
        return;
    }
    let (key, version) = place(event);
    let seen = newest.entry(key.clone()).or_default();
    if version <= *seen {
        return;
    }
    *seen = version;
    match event.get("data") {
        Some(data) => known.insert(key, (version, data.clone())),
        None => known.remove(&key),
    };
}

#[tokio::test]
async fn a_list_and_the_feed_from_its_cursor_end_with_the_servers_rows() {
    let rows = Rows::start().await;
    let mut runner = TestRunner::new(Config::default());
    let mut model = Model::default();
    for round in 0..ROUNDS {
        let strategy = prop::collection::vec(change(), 10..30);
        let changes = strategy.new_tree(&mut runner).expect("changes").current();
        let mut changes = changes.into_iter();
        // A client lists page by page while rows change between its pages.
        let (mut known, mut newest) = (Known::new(), BTreeMap::new());
        let mut query = "entries?limit=2".to_owned();
        let mut feed = None;
        loop {
            let page = rows.get(&query).await.expect(200);
            feed.get_or_insert_with(|| page["feed_cursor"].as_str().expect("text").to_owned());
            for row in page["items"].as_array().expect("items") {
                let (key, version) = place(row);
                newest.insert(key.clone(), version);
                known.insert(key, (version, row["data"].clone()));
            }
            for change in changes.by_ref().take(3) {
                apply(&rows, &mut model, change).await;
            }
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            query = format!("entries?limit=2&cursor={cursor}");
        }
        for change in changes {
            apply(&rows, &mut model, change).await;
        }
        for event in rows.events(&feed.expect("a cursor")).await {
            hear(&mut known, &mut newest, &event);
        }
        let server = rows.get("entries?limit=200").await.expect(200);
        let items = server["items"].as_array().expect("items").iter();
        let server: Known = items
            .map(|row| {
                let (key, version) = place(row);
                (key, (version, row["data"].clone()))
            })
            .collect();
        assert_eq!(server, model.live, "the model, round {round}");
        assert_eq!(known, server, "the follower, round {round}");
    }
}
