//! `kill -9` in the middle of 64 writers: what was acknowledged is there, nothing is there by
//! half, and the feed has no gap. The journal of acknowledgements is kept outside the server.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rookery_testkit::until;
use serde_json::{Value, json};

use crate::harness::{
    database,
    process::{Process, kills_or},
};

/// Times the server is killed. `ROOKERY_KILLS` sets another number.
const KILLS: usize = 50;
/// Requests that write at the same time.
const WRITERS: usize = 64;
/// Acknowledgements after which the server is killed: well inside the first bursts of writing.
const ACKNOWLEDGED_BEFORE_KILL: usize = 300;
/// Rows of an atomic batch.
const BATCH: usize = 3;

/// What one writer was told: key to the version it must have at least.
type Journal = BTreeMap<String, u64>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_kill_9_in_the_middle_of_64_writers() {
    let kills = kills_or(KILLS);
    let data = tempfile::tempdir().unwrap();
    let database = database::postgres().await;
    let settings = database::settings(database.as_ref());
    let mut server = Process::start(data.path(), &settings);
    let key = server.enroll("writer@example.org").await;
    let mut acknowledged = 0;
    for _ in 0..kills {
        let app = server.deploy(&key, &manifest()).await;
        let start = server.get(&format!("/v1/apps/{app}/feed"), &key).await["cursor"].clone();
        let journals = write_until_killed(server, &key, &app).await;
        server = Process::start(data.path(), &settings);
        acknowledged += check(&server, &key, &app, &start, &journals).await;
    }
    assert!(acknowledged >= kills * ACKNOWLEDGED_BEFORE_KILL, "{acknowledged} acknowledged writes");
}

fn manifest() -> Value {
    json!({
        "collections": {"rows": {
            "schema": {"$ref": "#/$defs/Row"},
            "permissions": {"read": ["owner"], "write": ["owner"], "delete": ["owner"]},
            "unique": ["name"]
        }},
        "$defs": {"Row": {"type": "object", "properties": {
            "name": {"type": "string", "maxLength": 64}, "n": {"type": "integer"}
        }}}
    })
}

/// Lets the writers loose and kills the server when enough of them were told of success.
async fn write_until_killed(server: Process, key: &str, app: &str) -> Vec<Journal> {
    let told = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let rows = format!("{}/v1/apps/{app}/collections/rows", server.url);
            let (client, key, told) = (server.client.clone(), key.to_owned(), told.clone());
            tokio::spawn(write(client, rows, key, writer, told))
        })
        .collect();
    until("enough acknowledgements", || told.load(Ordering::Acquire) >= ACKNOWLEDGED_BEFORE_KILL)
        .await;
    server.kill();
    let mut journals = Vec::new();
    for writer in writers {
        journals.push(writer.await.unwrap());
    }
    journals
}

/// Creates rows, changes them and writes atomic batches until the server is gone.
async fn write(
    client: reqwest::Client,
    rows: String,
    key: String,
    writer: usize,
    told: Arc<AtomicUsize>,
) -> Journal {
    let mut journal = Journal::new();
    for round in 0.. {
        let name = format!("w{writer}-{round}");
        let create = json!({"key": name, "data": {"name": name, "n": 0}});
        let Some(201) = status(client.post(&rows).bearer_auth(&key).json(&create)).await else {
            return journal;
        };
        journal.insert(name.clone(), 1);
        let update = json!({"data": {"n": 1}, "if_match": 1});
        let request = client.patch(format!("{rows}/{name}")).bearer_auth(&key).json(&update);
        let Some(200) = status(request).await else { return journal };
        journal.insert(name.clone(), 2);
        let batch: Vec<Value> = (0..BATCH)
            .map(|i| json!({"key": format!("b{writer}-{round}-{i}"), "data": {"n": i}}))
            .collect();
        let body = json!({"rows": batch, "atomic": true});
        let request = client.post(format!("{rows}/batch")).bearer_auth(&key).json(&body);
        let Some(200) = status(request).await else { return journal };
        for i in 0..BATCH {
            journal.insert(format!("b{writer}-{round}-{i}"), 1);
        }
        told.fetch_add(2 + BATCH, Ordering::AcqRel);
    }
    journal
}

/// The status of an answer, if there was one.
async fn status(request: reqwest::RequestBuilder) -> Option<u16> {
    let answer = request.send().await.ok()?;
    let status = answer.status().as_u16();
    answer.bytes().await.ok()?;
    Some(status)
}

/// Holds what the server has now against the journals; the number of acknowledged writes.
async fn check(
    server: &Process,
    key: &str,
    app: &str,
    start: &Value,
    journals: &[Journal],
) -> usize {
    let stored = rows(server, key, app).await;
    let mut acknowledged = 0;
    for (name, version) in journals.iter().flatten() {
        let found = stored.get(name).copied().unwrap_or(0);
        assert!(found >= *version, "{name}: version {version} was acknowledged, found {found}");
        acknowledged += usize::try_from(*version).unwrap();
    }
    let mut batches: BTreeMap<&str, usize> = BTreeMap::new();
    for name in stored.keys().filter(|name| name.starts_with('b')) {
        *batches.entry(name.rsplit_once('-').unwrap().0).or_default() += 1;
    }
    for (batch, found) in batches {
        assert_eq!(found, BATCH, "half of the atomic batch {batch}");
    }
    assert_eq!(follow(server, key, app, start).await, stored, "rows and feed tell the same");
    acknowledged
}

/// Every row's version, by key.
async fn rows(server: &Process, key: &str, app: &str) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/v1/apps/{app}/collections/rows?limit=200{cursor}");
        let page = server.get(&path, key).await;
        for row in page["items"].as_array().unwrap() {
            let name = row["key"].as_str().unwrap().to_owned();
            all.insert(name, row["version"].as_u64().unwrap());
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

/// Every row's last version by the feed, whose numbers must have no gap.
async fn follow(server: &Process, key: &str, app: &str, start: &Value) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    let mut cursor = start.as_str().unwrap().to_owned();
    let mut last = None;
    loop {
        let path = format!("/v1/apps/{app}/feed?wait=0&limit=200&since={cursor}");
        let page = server.get(&path, key).await;
        for event in page["events"].as_array().unwrap() {
            let seq = event["seq"].as_u64().unwrap();
            assert!(last.is_none_or(|last| seq == last + 1), "a gap before event {seq}");
            last = Some(seq);
            let name = event["key"].as_str().unwrap().to_owned();
            all.insert(name, event["version"].as_u64().unwrap());
        }
        cursor = page["cursor"].as_str().unwrap().to_owned();
        if !page["more"].as_bool().unwrap() {
            return all;
        }
    }
}
