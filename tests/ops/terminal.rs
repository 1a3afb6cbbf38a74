//! `rookery ops`: the real binary against a real server.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    num::NonZero,
    path::Path,
    process::{Command, Output, Stdio},
    time::Duration,
};

use nix::pty::{OpenptyResult, Winsize, openpty};
use reqwest::Method;
use rookery_testkit::until;
use serde_json::{Value, json};

use crate::harness::{
    Answer, TestServer,
    apps::{App, Owner, guestbook},
};

const TOKEN: &str = "a-token-of-some-length";
/// How long the live screen may take to show what a test waits for.
const SHOWN_MAX: Duration = Duration::from_secs(60);

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rookery"));
    let nowhere = Path::new(env!("CARGO_TARGET_TMPDIR"));
    command.env_clear().current_dir(nowhere).arg("ops").args(args).stdin(Stdio::null());
    command
}

/// Runs the command beside this thread's server.
async fn run(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap()
}

/// What `rookery ops` prints about `server`.
async fn ops(server: &TestServer, args: &[&str]) -> String {
    let mut command = command(args);
    command.env("ROOKERY__OPS__LISTEN", server.ops_address());
    let output = run(command).await;
    let trouble = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{trouble}");
    String::from_utf8(output.stdout).unwrap()
}

/// The one line with which the command fails.
async fn refused(command: Command) -> String {
    let output = run(command).await;
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!(line.lines().count(), 1, "{line}");
    line
}

async fn busy(server: &TestServer) -> (Owner, App) {
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"slug": "busy-app", "manifest": guestbook()})).await;
    for n in 0..5 {
        let body = json!({"key": format!("k{n}"), "data": {"n": n}});
        let path = app.path("/collections/entries");
        server.send(Method::POST, &owner, &path, &body).await.expect(201);
    }
    let state = server.state();
    state.ops.tick(state);
    (owner, app)
}

#[tokio::test]
async fn top_prints_one_picture_where_there_is_no_terminal() {
    let server = TestServer::start().await;
    assert!(ops(&server, &["top"]).await.ends_with("No app did anything of late.\n"));
    busy(&server).await;
    for args in [&["top"][..], &["top", "--once", "--by", "wait", "--window", "15m"]] {
        let text = ops(&server, args).await;
        assert!(text.starts_with("Rookery "), "{text}");
        assert!(text.contains("Apps      live 1   "), "{text}");
        assert!(text.contains("writer ok"), "{text}");
        assert!(text.lines().last().unwrap().starts_with("busy-app  live"), "{text}");
        assert!(!text.contains('\u{1b}'), "no control sequences: {text}");
    }
    let text = ops(&server, &["top", "--by", "wait", "--window", "15m"]).await;
    assert!(text.contains("\nBusiest by wait over 15m\n"), "{text}");
}

#[tokio::test]
async fn each_picture_is_also_there_as_the_listeners_json() {
    let server = TestServer::start().await;
    let (_, app) = busy(&server).await;
    let top: Value = serde_json::from_str(&ops(&server, &["top", "--json"]).await).unwrap();
    assert_eq!(top["overview"]["apps"]["live"], 1);
    assert_eq!(top["hot"]["items"][0]["id"], app.id);
    let tree: Value = serde_json::from_str(&ops(&server, &["tree", "--json"]).await).unwrap();
    assert_eq!(tree["writer"]["ok"], true);
    let one = ops(&server, &["app", "busy-app", "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&one).unwrap()["id"], app.id);
    let restarts = ops(&server, &["restarts", "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&restarts).unwrap()["items"], json!([]));
}

#[tokio::test]
async fn the_tree_leads_from_its_root_to_a_shards_apps() {
    let server = TestServer::start().await;
    let (_, app) = busy(&server).await;
    let text = ops(&server, &["tree"]).await;
    assert!(text.starts_with("root\n├── writer  running"), "{text}");
    let line = text.lines().find(|line| line.contains(" apps 1,")).expect("a shard with the app");
    let shard = line.trim_start_matches("├── shard ").split(' ').next().unwrap().to_owned();
    let text = ops(&server, &["tree", "--shard", &shard]).await;
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("busy-app  ") && last.contains(&app.id), "{text}");
}

#[tokio::test]
async fn an_app_is_shown_closely_and_looking_wakes_nothing() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"slug": "looked-at", "manifest": guestbook()})).await;
    let text = ops(&server, &["app", "looked-at"]).await;
    assert!(text.starts_with(&format!("looked-at ({})\n", app.id)), "{text}");
    assert!(text.contains("State     dormant"), "{text}");
    let body = json!({"key": "k", "data": {"n": 1}});
    server.send(Method::POST, &owner, &app.path("/collections/entries"), &body).await.expect(201);
    let text = ops(&server, &["app", &app.id]).await;
    assert!(text.contains("State     live"), "{text}");
    assert!(text.contains("\nLast messages\nKIND    OUTCOME  TOOK"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("create  ok "), "{text}");
}

#[tokio::test]
async fn crashes_are_listed_with_their_cause() {
    let server = TestServer::start().await;
    assert_eq!(ops(&server, &["restarts"]).await, "No crashes.\n");
    let (_, app) = busy(&server).await;
    let handle = server.state().rooms.apps().find(&app.id).await.unwrap();
    let before = handle.observe().crashes;
    assert!(handle.inject_panic());
    until("a crash", || handle.observe().crashes != before).await;
    let text = ops(&server, &["restarts"]).await;
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("1 ") && last.contains("busy-app  restart"), "{text}");
}

#[tokio::test]
async fn waking_and_hibernating_need_a_reason_and_the_servers_leave() {
    let server = TestServer::builder().set("ROOKERY__OPS__ACTIONS", "true").start().await;
    let (_, app) = busy(&server).await;
    let output = run(command(&["hibernate", "busy-app"])).await;
    assert_eq!(output.status.code(), Some(2), "clap asks for --reason");
    let said = ops(&server, &["hibernate", "busy-app", "--reason", "a drill"]).await;
    assert_eq!(said, format!("busy-app ({}) is dormant\n", app.id));
    let said = ops(&server, &["wake", &app.id, "--reason", "it is over"]).await;
    assert_eq!(said, format!("busy-app ({}) is live\n", app.id));
    let actions = Answer::of(server.ops(Method::GET, "/ops/api/actions")).await.expect(200);
    let reasons: Vec<_> =
        actions["items"].as_array().unwrap().iter().map(|item| &item["reason"]).collect();
    assert_eq!(reasons, ["it is over", "a drill"]);

    let careful = TestServer::start().await;
    let mut wake = command(&["wake", "x-app", "--reason", "to see"]);
    wake.env("ROOKERY__OPS__LISTEN", careful.ops_address());
    let line = refused(wake).await;
    assert!(line.contains("(403 Forbidden): actions are switched off: ops.actions"), "{line}");
}

#[tokio::test]
async fn the_token_comes_from_the_settings_a_variable_or_a_file_and_is_never_shown() {
    let server = TestServer::builder().set("ROOKERY__OPS__TOKEN", TOKEN).start().await;
    let url = format!("http://{}/", server.ops_address());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let file = file.to_str().unwrap();

    let mut by_settings = command(&["tree", "--url", &url]);
    by_settings.env("ROOKERY__OPS__TOKEN", TOKEN);
    let mut by_variables = command(&["tree"]);
    by_variables.env("ROOKERY_OPS_URL", &url).env("ROOKERY_OPS_TOKEN", TOKEN);
    let by_file = command(&["tree", "--url", &url, "--token-file", file]);
    for command in [by_settings, by_variables, by_file] {
        let output = run(command).await;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let mut wrong = command(&["tree", "--url", &url]);
    wrong.env("ROOKERY_OPS_TOKEN", "another-token-of-some-length");
    let line = refused(wrong).await;
    assert!(line.starts_with("rookery: the server refused (401 Unauthorized): "), "{line}");
    assert!(!line.contains("another-token"), "{line}");
}

#[tokio::test]
async fn what_is_wrong_with_the_address_is_said_in_one_line() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = format!("http://{gone}");
    let line = refused(command(&["top", "--url", &nobody])).await;
    assert_eq!(line, format!("rookery: no server answers at {nobody}\n"));
    for wrong in ["localhost:8081", "http://h/path", "ftp://h", "http://user:secret@h"] {
        let line = refused(command(&["top", "--url", wrong])).await;
        assert!(line.ends_with("not of the form http://host:port\n"), "{line}");
    }
    let site = TestServer::start().await;
    let line = refused(command(&["app", "none", "--url", &site.url("")])).await;
    assert!(line.starts_with("rookery: the server refused (404 Not Found): "), "{line}");
    assert!(line.contains("is another listener than the one of operators (ops.listen)"), "{line}");
    for absent in [&["app", "none"][..], &["tree", "--shard", "4096"]] {
        let mut absent = command(absent);
        absent.env("ROOKERY__OPS__LISTEN", site.ops_address());
        let line = refused(absent).await;
        assert!(line.contains("404") && !line.contains("another listener"), "{line}");
    }
}

/// The terminal that the live screen is shown on. Only cells that change are sent, so a text can
/// arrive in pieces: it is looked for on the screen, not in what was sent.
struct Screen {
    end: File,
    shown: vt100::Parser,
}

impl Screen {
    fn new(end: File, size: Winsize) -> Self {
        let cells = |n| NonZero::new(n).unwrap();
        Self { end, shown: vt100::Parser::new(cells(size.ws_row), cells(size.ws_col), 0) }
    }

    /// Reads until the screen is as it is wanted.
    fn wait_until(&mut self, what: &str, is: impl Fn(&vt100::Screen) -> bool) {
        let mut part = [0; 4_096];
        while !is(self.shown.screen()) {
            let n = self.end.read(&mut part).unwrap_or(0);
            assert!(n > 0, "{what} was not shown:\n{}", self.shown.screen().contents());
            self.shown.process(&part[..n]);
        }
    }

    fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |screen| screen.contents().contains(text));
    }

    fn press(&mut self, keys: &str) {
        self.end.write_all(keys.as_bytes()).unwrap();
    }
}

#[tokio::test]
async fn top_is_a_live_screen_in_a_terminal_and_leaves_it_as_it_was() {
    let server = TestServer::start().await;
    busy(&server).await;
    let size = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
    let OpenptyResult { master, slave } = openpty(Some(&size), None).unwrap();
    let mut top = command(&["top"]);
    top.env("ROOKERY__OPS__LISTEN", server.ops_address()).env("TERM", "xterm");
    top.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(slave);
    let mut child = top.spawn().unwrap();
    // The terminal ends with the child: no other copy of its end stays open.
    drop(top);
    let pid = child.id();
    let ended = tokio::task::spawn_blocking(move || child.wait());
    let mut shown = tokio::task::spawn_blocking(move || {
        let mut screen = Screen::new(File::from(master), size);
        screen.wait_until("the other screen", vt100::Screen::alternate_screen);
        screen.wait_for("busy-app");
        screen.press("\r");
        screen.wait_for("newest event");
        screen.press("?");
        screen.wait_for("Keys:");
        screen.press("q");
        screen.wait_until("what was there before", |screen| !screen.alternate_screen());
    });
    match tokio::time::timeout(SHOWN_MAX, &mut shown).await {
        Ok(shown) => shown.unwrap(),
        Err(_) => {
            // Its end closes the terminal, and the reader says what it missed.
            Command::new("kill").arg(pid.to_string()).status().unwrap();
            shown.await.unwrap();
        }
    }
    assert_eq!(ended.await.unwrap().unwrap().code(), Some(0));
}
