//! A database that answers and takes no writes, as a standby does, or a server that protects itself
//! from a full disk; one that a later server has taken over; and one that says nothing at all.

use std::{
    io::{self, Write},
    process::Command,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures::future;
use reqwest::Method;
use rookery_domain::ErrorCode;
use rookery_storage::{Db, StorageOptions, Writer, WriterOptions};
use rookery_testkit::{until, until_async};
use serde_json::{Value, json};
use tokio::time::timeout;
use tracing::{Dispatch, subscriber::DefaultGuard};

use crate::harness::{Answer, TestServer, apps::guestbook, database};

/// Tries until connections that were cut are replaced, one for each that the server keeps.
const TRIES_MAX: usize = 100;

/// What this thread logs: the server of a test runs on it.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("the log").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Takes this thread's lines for as long as the guards live.
    pub(crate) fn listen(&self, most: tracing::Level) -> (Dispatch, DefaultGuard) {
        let writer = self.clone();
        let lines = tracing_subscriber::fmt().json().flatten_event(true);
        let lines = lines.with_max_level(most).with_writer(move || writer.clone());
        // With a single subscriber in the process, a line that another thread is first to pass would be
        // judged by that thread, which has none, and be off for good.
        let another = Dispatch::new(tracing_subscriber::registry());
        (another, tracing::subscriber::set_default(lines.finish()))
    }

    /// What was said by this module.
    pub(crate) fn said_by(&self, module: &str) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().expect("the log").clone()).expect("text");
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.filter(|line| line["target"] == module).collect()
    }

    /// The line of the request that got this answer.
    fn line_of(&self, answer: &Answer) -> Value {
        let text = String::from_utf8(self.0.lock().expect("the log").clone()).expect("text");
        let id = answer.header("x-request-id");
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let line = lines.find(|line| line["request.id"] == id && !line["http.route"].is_null());
        line.unwrap_or_else(|| panic!("no line of {id} in {text}"))
    }
}

async fn register(server: &TestServer) -> Answer {
    let request = server.request(Method::POST, "/v1/register");
    Answer::of(request.json(&json!({"name": "robot"}))).await
}

/// The first answer that the log gives the database's own reason for: a connection that was cut has
/// another.
async fn refused(log: &Log, send: impl AsyncFn() -> Answer) -> Answer {
    for _ in 0..TRIES_MAX {
        let answer = send().await;
        let line = log.line_of(&answer);
        let cause = line["error.cause"].as_str();
        if cause.unwrap_or_else(|| panic!("no cause: {line}")).contains("read-only") {
            return answer;
        }
    }
    panic!("never refused for want of writes");
}

async fn until_created(send: impl AsyncFn() -> Answer) {
    for _ in 0..TRIES_MAX {
        if send().await.status == 201 {
            return;
        }
    }
    panic!("writes do not come back");
}

#[tokio::test]
async fn writes_are_unavailable_and_the_log_tells_why_while_the_database_only_reads() {
    let Some(database) = database::on_postgres().await else { return };
    let log = Log::default();
    let _guards = log.listen(tracing::Level::WARN);
    let server = TestServer::builder().on(database).start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    let path = app.path("/collections/entries");
    let write = async |key: &str| {
        let body = json!({"key": key, "data": {"n": 1}});
        server.send(Method::POST, &owner, &path, &body).await
    };
    write("before").await.expect(201);
    let human = server.human("ada@example.org").await;
    let agent = server.agent(&human).await;
    let own = server.deploy(&agent.key, json!({"manifest": guestbook()})).await;
    let ask_for_code = async || {
        let form = server.by(&human, Method::POST, "/agents").form(&[("action", "claim-code")]);
        Answer::of(form).await
    };
    let database = server.database().expect("PostgreSQL");

    database.set("default_transaction_read_only", "on").await;
    let refusals = [
        refused(&log, async || register(&server).await).await,
        refused(&log, async || write("during").await).await,
    ];
    for refusal in refusals {
        refusal.error(ErrorCode::Unavailable);
        refusal.header("retry-after");
        assert!(!refusal.text.contains("read-only"), "{}", refusal.text);
    }
    let page = refused(&log, &ask_for_code).await;
    assert_eq!(page.status, 503, "{}", page.text);
    assert_eq!(log.line_of(&page)["error.code"], "unavailable");
    page.header("retry-after");
    assert!(!page.text.contains("read-only"), "{}", page.text);
    // That an app is opened cannot be noted, and leads there all the same.
    let open = server.by(&human, Method::POST, &format!("/apps/{}", own.id));
    let opened = Answer::of(open.form(&[("action", "open")])).await;
    assert_eq!(opened.status, 303, "{}", opened.text);
    assert!(opened.header("location").starts_with("/authorize?app="));
    server.get("/ready").await.error(ErrorCode::Unavailable);
    let rows = Answer::of(server.call(Method::GET, &path, &owner)).await.expect(200);
    assert_eq!(rows["items"].as_array().expect("items").len(), 1, "reads go on");
    for path in [own.path("/usage"), own.path("/analytics"), "/v1/self/usage".to_owned()] {
        Answer::of(server.by(&human, Method::GET, &path)).await.expect(200);
    }

    database.set("default_transaction_read_only", "off").await;
    until_created(async || register(&server).await).await;
    until_created(async || write("after").await).await;
}

#[tokio::test]
async fn a_server_whose_database_a_later_one_serves_is_not_ready() {
    let Some(database) = database::on_postgres().await else { return };
    let url = database.url.clone();
    let server = TestServer::builder().on(database).start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    let path = app.path("/collections/entries");
    let write = async || server.send(Method::POST, &owner, &path, &json!({"data": {}})).await;
    server.until_ready().await;

    // All that a later server's start does to this one.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let later =
        Db::connect(&StorageOptions::postgres(url, folder.path())).await.expect("connected");
    let epoch = later.next_epoch().await.expect("drawn");
    let writer = Writer::start(&later, epoch, WriterOptions::default()).expect("started");
    writer.take_over().await.expect("noted");

    // Though it goes on to commit, which is no proof.
    until_async("the next look", async || {
        write().await;
        server.get("/ready").await.status == 503
    })
    .await;
    write().await;
    let refusal = server.get("/ready").await;
    assert!(refusal.text.contains("a later server"), "{}", refusal.text);
    later.close().await;
}

#[tokio::test]
async fn a_server_that_cannot_write_to_apps_is_not_ready_though_it_can_write() {
    let Some(database) = database::on_postgres().await else { return };
    let server = TestServer::builder().on(database).start().await;
    server.until_ready().await;
    let database = server.database().expect("PostgreSQL");
    let written = ["app_head", "rows", "events", "budgets", "spent_challenges", "idempotency"];
    for table in written.into_iter().chain(["participants"]) {
        let held = database.hold_table(table).await;
        until_async(table, async || server.get("/ready").await.status == 503).await;
        drop(held);
        until_async(table, async || server.get("/ready").await.status == 200).await;
    }
}

#[tokio::test]
async fn an_account_that_waits_keeps_nobody_elses_connections() {
    let Some(database) = database::on_postgres().await else { return };
    let server = TestServer::builder().on(database).start().await;
    let (ann, bob) = (server.owner("ann").await, server.owner("bob").await);
    let human = server.human("ann@example.org").await;
    let app = server.deploy(&ann, json!({})).await;
    let database = server.database().expect("PostgreSQL");
    let held = database.hold_account("ann@example.org").await;
    // Of each more than the server has connections.
    let deploys = future::join_all((0..40).map(|_| server.deploy(&ann, json!({}))));
    let looks = [(Method::POST, "view"), (Method::PUT, "favorite")].map(|(method, what)| {
        let path = format!("/v1/self/apps/{}/{what}", app.id);
        future::join_all((0..40).map(|_| server.by(&human, method.clone(), &path)).map(Answer::of))
    });
    let looks = future::join_all(looks);
    let others = async {
        until_async("the first waits", async || database.waiting().await > 0).await;
        server.deploy(&bob, json!({})).await;
        server.until_ready().await;
        let waiting = database.waiting().await;
        drop(held);
        waiting
    };
    let (made, looked, waiting) = tokio::join!(deploys, looks, others);
    assert_eq!((made.len(), waiting), (40, 1), "the others of the account wait for it in memory");
    assert!(looked.iter().flatten().all(|answer| answer.status == 204), "each was noted");
}

#[tokio::test]
async fn a_server_that_may_have_too_few_connections_does_not_start_or_is_not_ready() {
    /// What a server takes, as docs/OPERATING.md says.
    const ENOUGH: u32 = 20;
    /// What a start needs, as it says as well.
    const AT_START: u32 = 8;
    /// How long a start that is refused may take.
    const START_MAX: Duration = Duration::from_secs(60);
    let Some(database) = database::on_postgres().await else { return };
    let url = database.of_role(3).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_rookery"));
    command
        .env_clear()
        .env("ROOKERY__DATA_DIR", folder.path())
        .env("ROOKERY__SERVER__LISTEN", "127.0.0.1:0")
        .env("ROOKERY__OPS__LISTEN", "127.0.0.1:0")
        .env("ROOKERY__STORAGE__DATABASE_URL", &url)
        .current_dir(folder.path())
        .kill_on_drop(true);
    let output = timeout(START_MAX, command.output()).await.expect("it ended").expect("it ran");
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().find(|line| line.starts_with("rookery: ")).expect("a line");
    assert!(!output.status.success() && line.contains("storage.database_url: "), "{line}");
    let told = format!("up to {ENOUGH} connections, {AT_START} of them at its start");
    assert!(line.contains(&told), "{line}");

    database.of_role(AT_START).await;
    let builder = TestServer::builder().on_sqlite().set("ROOKERY__STORAGE__DATABASE_URL", &url);
    let server = builder.start().await;
    server.until_ready().await;
    let said = async |ready: bool, what: &str| {
        until_async(what, async || {
            let answer = server.get("/ready").await;
            (answer.status == 200) == ready && (ready || answer.text.contains(what))
        })
        .await;
    };
    database.of_role(2).await;
    said(false, "a part of the writer cannot reach the database").await;
    database.of_role(ENOUGH).await;
    said(true, "it is ready again").await;
    server.stop().await;
}

/// Sends a signal to the processes on the other side of the server's connections.
fn signal(name: &str, backends: &[i32]) {
    let pids = backends.iter().map(ToString::to_string);
    let sent = Command::new("kill").arg(name).args(pids).status().expect("kill runs");
    assert!(sent.success(), "{name}");
}

#[tokio::test]
async fn with_a_silent_database_the_server_is_not_ready_and_stops_in_its_time() {
    const DRAIN: Duration = Duration::from_secs(2);
    let Some(database) = database::on_postgres().await else { return };
    let builder = TestServer::builder().on(database);
    let seconds = DRAIN.as_secs().to_string();
    let server = builder.set("ROOKERY__SERVER__DRAIN_TIMEOUT_S", &seconds).start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    let create = || {
        let create = server.call(Method::POST, &app.path("/collections/entries"), &owner);
        create.json(&json!({"data": {"n": 1}}))
    };
    Answer::of(create()).await.expect(201);
    let backends = server.database().expect("PostgreSQL").backends().await;

    signal("-STOP", &backends);
    let hanging = tokio::spawn(create().send());
    until("the write is under way", || server.state().rooms.writer.health().in_flight > 0).await;
    let refusal = server.get("/ready").await;
    refusal.error(ErrorCode::Unavailable);
    assert!(refusal.text.contains("a commit takes too long"), "{}", refusal.text);

    let before = Instant::now();
    server.stop().await;
    let took = before.elapsed();
    signal("-CONT", &backends);
    // What is over the bound is what a busy machine takes to run the test itself.
    assert!(took < DRAIN * 3, "{took:?}");
    let _ = hanging.await.expect("no panic");
}
