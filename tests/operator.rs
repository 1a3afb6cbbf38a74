//! What an operator does from the command line: backup on a live server, restore, closing an app.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use reqwest::Method;
use rookery_actors::{
    AppHandle,
    app::message::{NewRow, Op},
};
use rookery_domain::{ErrorCode, json::Object, principal::Caller};
use rookery_testkit::until_async;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::harness::{Answer, TestServer, apps::guestbook, database};

/// Runs the binary on the data in `data`, beside this thread's server.
async fn rookery(data: &Path, ops: &str, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rookery"));
    command
        .env_clear()
        .env("ROOKERY__DATA_DIR", data)
        .env("ROOKERY__OPS__LISTEN", ops)
        .current_dir(data)
        .args(args)
        .stdin(Stdio::null());
    tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap()
}

fn said(output: &Output) -> (bool, String) {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

/// An address of this machine that nobody listens on.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

async fn write(app: &AppHandle, caller: &Caller, n: u32) {
    let item = NewRow {
        key: Some(format!("k{n}").into()),
        data: Object::parse(&json!({"n": n}).to_string()).unwrap(),
    };
    let op = Op::Create { collection: "entries".into(), item, challenge: None };
    app.apply(caller.clone(), op).await.expect("written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_a_busy_server_holds_all_that_was_acknowledged_before_it() {
    let builder = TestServer::builder().on_sqlite().set("MAX_ROWS_PER_APP", "1000000");
    let server = builder.set("MAX_ROWS_PER_ACCOUNT", "1000000").start().await;
    let owner = server.owner("ann").await;
    let body = json!({"slug": "kept-safe", "manifest": guestbook(), "html": "<p>kept",
        "assets": [{"path": "a.txt", "text": "a"}]});
    let app = server.deploy(&owner, body).await;
    let handle = server.state().rooms.apps().find(&app.id).await.unwrap();
    let caller = Caller::human(owner.human);
    let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    for n in 1..=100 {
        write(&handle, &caller, n).await;
    }
    acknowledged.store(100, Ordering::SeqCst);
    let writer = tokio::spawn({
        let (stop, acknowledged, handle) = (stop.clone(), acknowledged.clone(), handle.clone());
        async move {
            while !stop.load(Ordering::SeqCst) {
                let n = acknowledged.load(Ordering::SeqCst) + 1;
                write(&handle, &caller, n).await;
                acknowledged.store(n, Ordering::SeqCst);
            }
        }
    });
    let copies = tempdir().unwrap();
    let file = copies.path().join("copy.db");
    let name = file.to_str().unwrap();
    let data = server.state().config.data_dir.clone();
    let before = acknowledged.load(Ordering::SeqCst);
    let made = said(&rookery(&data, &nobody(), &["backup", name]).await);
    assert!(made.0, "{}", made.1);
    stop.store(true, Ordering::SeqCst);
    writer.await.unwrap();
    let again = said(&rookery(&data, &nobody(), &["backup", name]).await);
    assert!(!again.0 && again.1.contains("never overwrite"), "{}", again.1);
    let refused = said(&rookery(&data, &nobody(), &["restore", name, "--force"]).await);
    assert!(!refused.0, "the folder is in use: {}", refused.1);

    let home = tempdir().unwrap();
    // What an earlier one leaves that was killed.
    std::fs::write(home.path().join("rookery.db.restoring"), "half").unwrap();
    let restored = said(&rookery(home.path(), &nobody(), &["restore", name]).await);
    assert!(restored.0, "{}", restored.1);
    let refused = said(&rookery(home.path(), &nobody(), &["restore", name]).await);
    assert!(!refused.0 && refused.1.contains("not empty"), "{}", refused.1);
    let forced = said(&rookery(home.path(), &nobody(), &["restore", name, "--force"]).await);
    assert!(forced.0, "{}", forced.1);

    let second = TestServer::builder().in_folder(home.path()).on_sqlite().start().await;
    second.directory.admit(owner.human, &owner.session, &owner.key);
    let shown = second.get_as(&owner, "/v1/apps/kept-safe").await.expect(200);
    for member in ["id", "version", "visibility", "created_at", "owner"] {
        assert_eq!(shown[member], app.record[member], "{member}");
    }
    let rows = shown["collections"][0]["row_count"].as_u64().unwrap();
    let after = u64::from(acknowledged.load(Ordering::SeqCst));
    assert!(rows >= u64::from(before) && rows <= after, "{before} <= {rows} <= {after}");
    let document = second.get_as(&owner, "/v1/apps/kept-safe/document").await;
    assert_eq!(document.text, "<p>kept");
    // Every row up to the last one is there, and new ones can be written.
    let handle = second.state().rooms.apps().find(&app.id).await.unwrap();
    let caller = Caller::human(owner.human);
    write(&handle, &caller, u32::try_from(rows).unwrap() + 1).await;
    let root = handle.root().await.unwrap();
    assert_eq!(root.live_rows("entries"), Some(rows + 1));
}

#[tokio::test]
async fn a_new_volume_takes_a_restore_and_what_is_no_place_for_a_backup_is_named() {
    let server = TestServer::builder().on_sqlite().start().await;
    let data = server.state().config.data_dir.clone();
    let out = tempdir().unwrap();
    let ask = async |args: &[&str]| said(&rookery(&data, &nobody(), args).await);

    let nowhere = out.path().join("nowhere");
    let refused = ask(&["backup", nowhere.join("copy.db").to_str().unwrap()]).await;
    let named = format!("rookery: {}: there is no such folder\n", nowhere.display());
    assert_eq!(refused, (false, named));
    let refused = ask(&["backup", "-"]).await;
    assert!(!refused.0 && refused.1.contains("standard output"), "{}", refused.1);
    assert!(!data.join("-").exists());

    let file = out.path().join("copy.db");
    let made = ask(&["backup", file.to_str().unwrap()]).await;
    assert!(made.0, "{}", made.1);
    let refused = ask(&["restore", out.path().to_str().unwrap()]).await;
    let named =
        format!("rookery: {}: it is a folder, and a backup is a file\n", out.path().display());
    assert_eq!(refused, (false, named));
    let volume = tempdir().unwrap();
    std::fs::create_dir(volume.path().join("lost+found")).unwrap();
    let restore = ["restore", file.to_str().unwrap()];
    let restored = said(&rookery(volume.path(), &nobody(), &restore).await);
    assert!(restored.0, "{}", restored.1);
    let refused = said(&rookery(volume.path(), &nobody(), &restore).await);
    assert!(!refused.0 && refused.1.contains("--force"), "{}", refused.1);
}

/// [`rookery`] on a PostgreSQL database, on a machine where it finds neither the server that serves it
/// nor that one's folder.
async fn close_beside(url: &str, key: &str, app: &str) -> (bool, String) {
    let home = tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rookery"));
    command
        .env_clear()
        .env("ROOKERY__DATA_DIR", home.path().join("nowhere"))
        .env("ROOKERY__OPS__LISTEN", nobody())
        .env("ROOKERY__STORAGE__DATABASE_URL", url)
        .env("ROOKERY__SERVER__KEY", key)
        .args(["app", "close", app])
        .stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    assert!(!home.path().join("nowhere").exists(), "nothing is made there");
    said(&output)
}

#[tokio::test]
async fn closing_an_app_from_elsewhere_leaves_the_server_of_its_postgresql_ready() {
    let Some(database) = database::on_postgres().await else { return };
    let url = database.url.clone();
    let server = TestServer::builder().on(database).start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"slug": "far-away", "manifest": guestbook()})).await;
    let other = server.deploy(&owner, json!({"slug": "beside", "manifest": guestbook()})).await;
    let write =
        async |path: &str| server.send(Method::POST, &owner, path, &json!({"data": {}})).await;
    let rows = app.path("/collections/entries");
    write(&rows).await.expect(201);

    let keyless = close_beside(&url, "", "far-away").await;
    assert!(!keyless.0 && keyless.1.contains("set server.key"), "{}", keyless.1);
    let key = std::fs::read(server.data_dir().join("server.key")).unwrap();
    let key = rookery_domain::text::hex(&key);
    let unknown = close_beside(&url, &key, "no-such-app").await;
    assert!(!unknown.0 && unknown.1.contains("no such app"), "{}", unknown.1);
    let closed = close_beside(&url, &key, "far-away").await;
    assert_eq!(closed, (true, format!("closed {} (far-away)\n", app.id)));

    server.until_ready().await;
    write(&other.path("/collections/entries")).await.expect(201);
    // The server knows of it from its next write on, which is refused.
    until_async("the server notices", async || write(&rows).await.status == 410).await;
    write(&rows).await.error(ErrorCode::AppClosed);
}

#[tokio::test]
async fn an_app_is_closed_on_a_running_server_and_on_a_stopped_one() {
    let home = tempdir().unwrap();
    let builder = || TestServer::builder().in_folder(home.path()).on_sqlite();
    let server = builder().set("ROOKERY__OPS__TOKEN", "a-token-of-some-length").start().await;
    let owner = server.owner("ann").await;
    let first = server.deploy(&owner, json!({"slug": "first-app"})).await;
    let second = server.deploy(&owner, json!({"slug": "second-app"})).await;
    let status = |record: Value| record["status"].clone();

    // Without the token it is refused, and the running server's database is left alone.
    let ops = server.ops_address();
    let refused = said(&rookery(home.path(), &ops, &["app", "close", "first-app"]).await);
    assert!(!refused.0 && refused.1.contains("401"), "{}", refused.1);
    let refused = said(&rookery(home.path(), &nobody(), &["app", "close", "first-app"]).await);
    assert!(!refused.0, "another process has the database: {}", refused.1);
    assert_eq!(status(server.get_as(&owner, &first.path("")).await.expect(200)), "dormant");
    let trashed = Answer::of(server.call(Method::DELETE, &first.path(""), &owner)).await;
    assert!(trashed.status < 300, "{}", trashed.text);
    server.stop().await;

    let server = builder().start().await;
    server.directory.admit(owner.human, &owner.session, &owner.key);
    let ops = server.ops_address();
    let closed = said(&rookery(home.path(), &ops, &["app", "close", "first-app"]).await);
    assert_eq!(closed, (true, format!("closed {} (first-app)\n", first.id)));
    assert_eq!(status(server.get_as(&owner, &first.path("")).await.expect(200)), "closed");
    let unknown = said(&rookery(home.path(), &ops, &["app", "close", "no-such-app"]).await);
    assert!(!unknown.0 && unknown.1.contains("404"), "{}", unknown.1);
    server.stop().await;

    let closed = said(&rookery(home.path(), &nobody(), &["app", "close", &second.id]).await);
    assert_eq!(closed, (true, format!("closed {} (second-app)\n", second.id)));
    let unknown = said(&rookery(home.path(), &nobody(), &["app", "close", "no-such-app"]).await);
    assert!(!unknown.0, "{}", unknown.1);
    let server = builder().start().await;
    server.directory.admit(owner.human, &owner.session, &owner.key);
    for app in [first, second] {
        let record = server.get_as(&owner, &app.path("")).await.expect(200);
        assert_eq!(status(record.clone()), "closed");
        // Not even the one that was to be destroyed with the trash is.
        assert_eq!((&record["deleted_at"], &record["purge_at"]), (&Value::Null, &Value::Null));
        let again = json!({"html": "<h1>x</h1>", "slug": record["slug"]});
        let taken = server.send(Method::POST, &owner, "/v1/apps", &again).await;
        taken.error_of_its_own(ErrorCode::SlugTaken);
        assert_eq!(taken.json()["error"]["details"]["app"]["id"], record["id"]);
        let patch = json!({"timezone": "UTC"});
        let answer = server.send(Method::PATCH, &owner, &app.path(""), &patch).await;
        answer.error(ErrorCode::AppClosed);
    }
}
