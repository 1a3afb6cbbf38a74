//! Files of the data folder that somebody takes away: from a server that runs, which then tells nobody
//! of success, and before a start, which then makes no new database in the place of the lost one.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Output,
};

use reqwest::Method;
use rookery_domain::ErrorCode;
use rookery_testkit::until_async;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::{
    harness::{Answer, process::Process},
    process::rookery,
};

const DATABASE: &str = "rookery.db";
const WAL: &str = "rookery.db-wal";
const LOCK: &str = "rookery.lock";

/// A server in a folder of its own, with an app that has one row.
struct World {
    home: TempDir,
    server: Process,
    key: String,
    app: String,
}

impl World {
    async fn new() -> Self {
        let home = tempdir().unwrap();
        fs::create_dir(home.path().join("data")).unwrap();
        Self::of(home).await
    }

    async fn of(home: TempDir) -> Self {
        let server = start(home.path());
        let key = server.enroll("ann@example.org").await;
        let app = server.deploy(&key, &manifest()).await;
        let world = Self { home, server, key, app };
        world.write("before").await.expect(201);
        world
    }

    async fn write(&self, row: &str) -> Answer {
        let path = format!("/v1/apps/{}/collections/rows", self.app);
        let body = json!({"key": row, "data": {"n": 1}});
        Answer::of(self.server.request(Method::POST, &path, &self.key).json(&body)).await
    }

    async fn ready(&self) -> Answer {
        Answer::of(self.server.client.get(format!("{}/ready", self.server.url))).await
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("data").join(name)
    }
}

fn manifest() -> Value {
    json!({"collections": {"rows": {"permissions":
        {"read": ["owner"], "write": ["owner"], "delete": ["owner"]}}}})
}

fn start(home: &Path) -> Process {
    let log = File::options().create(true).append(true).open(home.join("log")).unwrap();
    let settings = [("ROOKERY__LOG__LEVEL", "info")];
    Process::start_logging_to(&home.join("data"), &settings, log.into())
}

/// The lines of a server's log with this in them.
fn lines(home: &Path, what: &str) -> Vec<String> {
    let log = fs::read_to_string(home.join("log")).unwrap();
    log.lines().filter(|line| line.contains(what)).map(str::to_owned).collect()
}

/// Puts something else in the place of a file, as an editor or `mv` does.
fn replace(path: &Path) {
    let other = path.with_extension("other");
    fs::copy(path, &other).unwrap();
    fs::rename(other, path).unwrap();
}

fn remove(path: &Path) {
    fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn nobody_is_told_of_success_once_a_file_was_taken_away() {
    for (name, is_replaced) in
        [DATABASE, WAL, LOCK].into_iter().flat_map(|n| [(n, false), (n, true)])
    {
        let take_away = if is_replaced { replace } else { remove };
        let world = World::new().await;
        take_away(&world.path(name));
        let answer = world.write("after").await;
        assert_eq!(answer.status, 500, "{name}: {}", answer.text);
        assert_eq!(answer.json()["error"]["details"]["outcome"], "unknown", "{}", answer.text);
        let World { home, server, .. } = world;
        assert_eq!(server.ended(), Some(1), "{name}");
        let errors = lines(home.path(), "nothing is written any more");
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains("ERROR") && errors[0].contains(name), "{errors:?}");
    }
}

#[tokio::test]
async fn an_account_is_not_made_in_a_file_that_is_gone() {
    let world = World::new().await;
    remove(&world.path(DATABASE));
    let register = format!("{}/v1/register", world.server.url);
    let register = world.server.client.post(register).json(&json!({"name": "robot"}));
    let answer = Answer::of(register).await;
    assert_eq!(answer.status, 500, "{}", answer.text);
    assert_eq!(answer.json()["error"]["details"]["outcome"], "unknown", "{}", answer.text);
    let World { home, server, .. } = world;
    assert_eq!(server.ended(), Some(1));
    assert_eq!(lines(home.path(), "nothing is written any more").len(), 1);
}

#[tokio::test]
async fn readiness_finds_what_was_taken_away_from_an_idle_server_and_the_log_says_so_once() {
    for name in [DATABASE, WAL, LOCK] {
        let world = World::new().await;
        world.ready().await.expect(200);
        remove(&world.path(name));
        let error = world.ready().await;
        let message = error.error(ErrorCode::Unavailable)["message"].clone();
        assert!(message.as_str().unwrap().contains("gone or was replaced"), "{message}");
        let World { home, server, .. } = world;
        assert_eq!(server.ended(), Some(1), "{name}");
        let told = lines(home.path(), "not ready");
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("gone or was replaced"), "{told:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_stopped_after_its_file_is_gone_does_not_end_well() {
    let world = World::new().await;
    remove(&world.path(DATABASE));
    assert_eq!(world.server.end(), Some(1));
    assert_eq!(lines(world.home.path(), "nothing is written any more").len(), 1);
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_log_that_was_removed() {
    let world = World::new().await;
    remove(&world.path(WAL));
    assert_eq!(world.write("after").await.status, 500);
    let World { home, server, key, app } = world;
    assert_eq!(server.ended(), Some(1));
    let server = start(home.path());
    server.get(&format!("/v1/apps/{app}/collections/rows/before"), &key).await;
    assert_eq!(server.end(), Some(0));
}

#[tokio::test]
async fn a_database_that_takes_the_place_of_another_is_not_given_its_log() {
    let other = World::new().await;
    let (key, app) = (other.key.clone(), other.app.clone());
    let elsewhere = other.path(DATABASE);
    let World { home: other, server, .. } = other;
    assert_eq!(server.end(), Some(0));

    let world = World::new().await;
    fs::rename(elsewhere, world.path(DATABASE)).unwrap();
    assert_eq!(world.write("after").await.status, 500);
    let World { home, server, app: lost, .. } = world;
    assert_eq!(server.ended(), Some(1));
    let names: Vec<_> = fs::read_dir(home.path().join("data")).unwrap().collect();
    let is_log = |name: &str| name.starts_with(&format!("{WAL}.")) && name.len() > WAL.len() + 1;
    let kept = names
        .into_iter()
        .map(|entry| entry.unwrap())
        .find(|entry| entry.file_name().to_str().is_some_and(is_log));
    let kept = kept.expect("the log of the database that is gone is kept");
    assert!(kept.metadata().unwrap().len() > 0);
    let name = kept.file_name().into_string().unwrap();
    let told = lines(home.path(), "nothing is written any more");
    assert!(told.len() == 1 && told[0].contains(&name), "{name} is named: {told:?}");

    // The key of the other server is needed for its agents' keys.
    fs::copy(other.path().join("data/server.key"), home.path().join("data/server.key")).unwrap();
    let server = start(home.path());
    server.get(&format!("/v1/apps/{app}/collections/rows/before"), &key).await;
    let unknown = server.request(Method::GET, &format!("/v1/apps/{lost}"), &key);
    assert_eq!(Answer::of(unknown).await.status, 404);
    assert_eq!(server.end(), Some(0));
}

#[tokio::test]
async fn of_two_servers_on_one_folder_the_first_is_not_ready() {
    let world = World::new().await;
    remove(&world.path(LOCK));
    let second = start(world.home.path());
    let is_ready = async |server: &Process| {
        let ready = server.client.get(format!("{}/ready", server.url)).send().await;
        ready.is_ok_and(|ready| ready.status() == 200)
    };
    // It may have looked by itself, and be gone.
    assert!(!is_ready(&world.server).await);
    until_async("the second", async || is_ready(&second).await).await;
    let World { home, server, .. } = world;
    assert_eq!(server.ended(), Some(1));
    assert_eq!(second.end(), Some(0));
    drop(home);
}

#[tokio::test]
async fn a_folder_or_a_database_behind_a_link_is_like_any_other() {
    let home = tempdir().unwrap();
    let (volume, disk) = (home.path().join("volume"), home.path().join("disk"));
    fs::create_dir(&volume).unwrap();
    fs::create_dir(&disk).unwrap();
    symlink(&volume, home.path().join("data")).unwrap();
    symlink(disk.join("kept.db"), volume.join(DATABASE)).unwrap();
    let world = World::of(home).await;
    assert!(disk.join("kept.db-wal").exists(), "SQLite's log is beside the file itself");
    world.ready().await.expect(200);
    world.write("after").await.expect(201);

    // One that leads elsewhere now takes no log from the file that it led to.
    fs::copy(disk.join("kept.db"), disk.join("other.db")).unwrap();
    remove(&volume.join(DATABASE));
    symlink(disk.join("other.db"), volume.join(DATABASE)).unwrap();
    assert_eq!(world.write("lost").await.status, 500);
    let World { home, server, .. } = world;
    assert_eq!(server.ended(), Some(1));
    let aside = |name: &str| name.starts_with("kept.db-wal.");
    let mut left = fs::read_dir(&disk).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!left.any(|name| name.to_str().is_some_and(aside)));
    drop(home);
}

/// A start that is to be refused.
async fn refused(home: &Path) -> String {
    let mut command = rookery(&home.join("data"));
    let out: Output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert!(text.starts_with("rookery: data_dir: ") && text.lines().count() == 1, "{text}");
    text
}

#[tokio::test]
async fn no_new_database_is_made_where_one_was_lost() {
    let world = World::new().await;
    let (database, wal, key) = (world.path(DATABASE), world.path(WAL), world.path("server.key"));
    let World { home, server, .. } = world;
    server.kill();
    let kept = home.path().join("kept.db");
    fs::rename(&database, &kept).unwrap();
    let log = fs::read(&wal).unwrap();
    assert!(!log.is_empty());

    let text = refused(home.path()).await;
    for part in ["rookery.db is missing", "rookery.db-wal and server.key", "restore", "anew"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!database.exists());
    fs::write(&database, "").unwrap();
    assert!(refused(home.path()).await.contains("rookery.db is empty"));
    assert_eq!(fs::read(&wal).unwrap(), log, "it is left as it was");

    // With the file put back all is there.
    fs::rename(&kept, &database).unwrap();
    assert_eq!(start(home.path()).end(), Some(0));
    // A clean stop leaves no log, and the key tells all the same.
    assert!(!wal.exists());
    fs::remove_file(&database).unwrap();
    assert!(refused(home.path()).await.contains("server.key"));
    fs::rename(&key, home.path().join("key")).unwrap();
    assert_eq!(start(home.path()).end(), Some(0), "a folder without them is a new one");
}

#[tokio::test]
async fn a_key_that_is_none_is_named_with_its_length() {
    let home = tempdir().unwrap();
    fs::create_dir(home.path().join("data")).unwrap();
    assert_eq!(start(home.path()).end(), Some(0));
    let key = home.path().join("data/server.key");
    for (content, said) in [(&b""[..], "is empty"), (b"short", "has 5"), (&[7; 33], "has more")] {
        fs::write(&key, content).unwrap();
        let text = refused(home.path()).await;
        assert!(text.contains(key.to_str().unwrap()), "{text}");
        assert!(text.contains("32 bytes") && text.contains(said), "{text}");
    }
}
