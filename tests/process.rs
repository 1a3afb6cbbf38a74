//! The process: what the binary prints, how it refuses, how it ends.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rookery_testkit::until;
use serde_json::json;
use tokio::time::timeout;

use crate::harness::{Answer, RawConnection};

/// For what happens at once.
const TOO_LONG: Duration = Duration::from_secs(20);

/// The binary, on free ports and with `data` as its folder.
pub(crate) fn rookery(data: &Path) -> Command {
    on_free_ports(Command::new(env!("CARGO_BIN_EXE_rookery")), data)
}

/// As [`rookery`], by a shell that first sets its bounds.
fn rookery_within(ulimit: &str, data: &Path) -> Command {
    rookery_by(&format!("ulimit {ulimit} && exec \"$0\""), data)
}

/// As [`rookery`], by a shell's script that runs it.
pub(crate) fn rookery_by(script: &str, data: &Path) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_rookery")]);
    on_free_ports(shell, data)
}

fn on_free_ports(mut command: Command, data: &Path) -> Command {
    command
        .env_clear()
        .env("ROOKERY__DATA_DIR", data)
        .env("ROOKERY__SERVER__LISTEN", "127.0.0.1:0")
        .env("ROOKERY__OPS__LISTEN", "127.0.0.1:0")
        .current_dir(data)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Where it listens: for everybody, and for operators.
pub(crate) fn addresses(child: &mut Child) -> (SocketAddr, SocketAddr) {
    let line = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let line = line.strip_prefix("Rookery listens on http://").expect("where it listens");
    let (site, ops) = line.split_once(" (operators: http://").expect("both");
    (site.parse().unwrap(), ops.trim_end_matches(')').parse().unwrap())
}

/// Sends a signal, as `kill` names it.
pub fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
}

#[tokio::test]
async fn the_server_prints_three_lines_and_ends_with_0_at_sigterm() {
    let data = tempfile::tempdir().unwrap();
    let mut child = rookery(data.path()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut line = || lines.next().expect("three lines").unwrap();
    let (listens, docs, next) = (line(), line(), line());
    let address = listens.strip_prefix("Rookery listens on http://").expect("where it listens");
    let address = address.split(' ').next().unwrap().to_owned();
    assert!(docs.starts_with("Docs: http://localhost:") && docs.ends_with("/docs"), "{docs}");
    assert!(next.starts_with("Next: "), "{next}");

    // A connection that is kept alive does not hold the drain up.
    rookery::outbound::install_tls();
    let client = reqwest::Client::new();
    let answer = Answer::of(client.get(format!("http://{address}/alive"))).await;
    assert_eq!(answer.status, 200);
    signal(&child, "-TERM");
    let status = tokio::task::spawn_blocking(move || child.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(lines.next().is_none(), "three lines and no more");
}

#[test]
fn the_demo_shows_each_request_as_a_curl_line_that_works_when_pasted() {
    let data = tempfile::tempdir().unwrap();
    let mut child = rookery(data.path()).arg("demo").spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let lines: Vec<_> = lines.take_while(|line| !line.starts_with("The apps go on")).collect();
    let pasted = paste(&lines);
    signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(0));

    let is_answer =
        |line: &&String| line.strip_prefix("  ").is_some_and(|l| l.starts_with(['2', '3', '4']));
    let answers: Vec<_> = lines.iter().filter(is_answer).map(|line| &line.trim()[..3]).collect();
    let curl: Vec<_> = lines.iter().filter(|line| line.starts_with("curl ")).collect();
    assert_eq!(curl.len(), answers.len(), "{lines:#?}");
    assert!(curl.len() > 15, "{curl:#?}");
    let Some(pasted) = pasted else { return };
    assert_eq!(pasted.len(), answers.len(), "{pasted:?}");
    // Again, each means the same; what can be done once only says that it was done.
    let once = [("/verify?", "401"), ("/agents/claim'", "409"), ("slug=", "409"), ("PATCH", "409")];
    let once = [&once[..], &[("A bench by the pond", "409")]].concat();
    for ((line, first), again) in curl.iter().zip(answers).zip(pasted) {
        let done = once.iter().find(|(part, _)| line.contains(part));
        assert_eq!(again, done.map_or(first, |(_, status)| status), "{line}");
    }
}

#[test]
fn the_demo_asks_nothing_of_another_server() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}", elsewhere.local_addr().unwrap().port());
    let data = tempfile::tempdir().unwrap();
    let mut command = rookery(data.path());
    command
        .arg("demo")
        .env("ROOKERY__SERVER__PUBLIC_URL", url)
        .env("SMTP_URL", "smtp://127.0.0.1:9");
    let out = command.output().unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(!out.status.success() && said.contains("needs the development mailbox"), "{said}");
    elsewhere.set_nonblocking(true).unwrap();
    assert_eq!(elsewhere.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

/// Has a shell run what the demo printed, and returns the status of each answer; `None`, when there is
/// no curl.
fn paste(lines: &[String]) -> Option<Vec<String>> {
    if Command::new("curl").arg("--version").output().is_err() {
        rookery_testkit::not_run("tests/process.rs", "curl");
        return None;
    }
    let script: String = lines
        .iter()
        .filter_map(|line| match line.split_once(' ')? {
            ("export", _) => Some(format!("{line}\n")),
            ("curl", _) => Some(format!("{line} -s -o /dev/null -w '%{{http_code}}\\n'\n")),
            _ => None,
        })
        .collect();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &script]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let said = shell.output().unwrap();
    Some(String::from_utf8(said.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[tokio::test]
async fn a_request_has_one_line_that_names_its_route_and_trace_but_not_its_path() {
    let data = tempfile::tempdir().unwrap();
    let mut child = rookery(data.path()).env("ROOKERY__LOG__FORMAT", "json").spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let listens = lines.next().unwrap().unwrap();
    let address = listens.strip_prefix("Rookery listens on http://").unwrap();
    let address = address.split(' ').next().unwrap().to_owned();
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    rookery::outbound::install_tls();
    let client = reqwest::Client::new();
    for path in ["/reference/errors?token=canary", "/v1/unknown/canary"] {
        let request = client.get(format!("http://{address}{path}"));
        let request = request.header("x-request-id", "from-a-test");
        let request = request.header("traceparent", format!("00-{trace}-00f067aa0ba902b7-01"));
        Answer::of(request.bearer_auth("canary")).await;
    }
    signal(&child, "-TERM");
    let out = tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap();
    let log = String::from_utf8(out.unwrap().stderr).unwrap();
    assert!(!log.contains("canary"), "{log}");
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let requests: Vec<_> = lines.iter().filter(|l| l["target"] == "rookery::request").collect();
    assert_eq!(requests.len(), 2, "{log}");
    assert_eq!(requests[0]["request.id"], "from-a-test");
    assert_eq!(requests[0]["trace.id"], trace);
    assert_eq!(requests[0]["http.route"], "/reference/errors");
    assert_eq!(requests[0]["http.status"], 200);
    assert_eq!(requests[1]["error.code"], "not_found");
    assert_eq!(requests[1]["level"], "INFO");
}

#[test]
fn a_wrong_setting_stops_the_start_with_one_line() {
    let data = tempfile::tempdir().unwrap();
    let mut child = rookery(data.path()).env("ROOKERY__SERVER__PROT", "1").spawn().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(1));
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "rookery: ROOKERY__SERVER__PROT: no such setting\n");
}

#[test]
fn a_start_that_finds_no_room_for_its_data_or_no_program_names_the_setting() {
    let data = tempfile::tempdir().unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("postgres://ann:hunter2@{closed}/rookery");
    for (name, value, setting) in [
        ("ROOKERY__DATA_DIR", "/proc/x", "data_dir"),
        ("ROOKERY__STORAGE__DATABASE_URL", url.as_str(), "storage.database_url"),
        ("ROOKERY__SCREENSHOT__CHROMIUM", "/nope", "screenshot.chromium"),
    ] {
        let mut command = rookery(data.path());
        command.env("ROOKERY__SERVER__LISTEN", "127.0.0.1:0");
        command.env("ROOKERY__OPS__LISTEN", "127.0.0.1:0").env("ROOKERY__LOG__LEVEL", "off");
        // It is for an address without a host, as docs/OPERATING.md says.
        command.env("PGHOSTADDR", "nowhere.invalid");
        let out = command.env(name, value).output().unwrap();
        let text = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(1), "{text}");
        assert!(setting != "storage.database_url" || text.contains("refused"), "{text}");
        assert!(text.starts_with(&format!("rookery: {setting}: ")), "{text}");
        assert!(text.lines().count() == 1 && !text.contains("hunter2"), "{text}");
    }
}

#[test]
fn a_setting_that_was_nearly_named_or_is_no_text_stops_the_start() {
    let data = tempfile::tempdir().unwrap();
    let printed = |name: &str, value: &OsStr| {
        let out = rookery(data.path()).arg("config").env(name, value).output().unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    let near = printed("ROOKERY_REGISTRATION__MODE", OsStr::new("closed"));
    assert_eq!(near.0, Some(1));
    assert!(near.1.contains("ROOKERY_REGISTRATION__MODE: settings begin with ROOKERY__"));
    let no_text = printed("REGISTRATION_MODE", OsStr::from_bytes(b"closed\xff"));
    assert_eq!(no_text.0, Some(1));
    assert!(no_text.1.contains("registration.mode"), "{}", no_text.1);
    // Nor is another folder taken, whose name has something else for the byte.
    let no_text = printed("ROOKERY__DATA_DIR", OsStr::from_bytes(b"data\xff"));
    let line = "rookery: data_dir: expected UTF-8 (in environment: ROOKERY__DATA_DIR)\n";
    assert_eq!(no_text, (Some(1), line.to_owned()));
    let token = OsStr::from_bytes(b"a token of some length\xff");
    let out = rookery(data.path()).args(["ops", "tree"]).env("ROOKERY_OPS_TOKEN", token).output();
    let said = String::from_utf8(out.unwrap().stderr).unwrap();
    assert_eq!(said, "rookery: ROOKERY_OPS_TOKEN: expected UTF-8\n");
    // What a start would refuse is said, and printed all the same.
    let alone = OsStr::new("https://rookery.example.org");
    let incomplete = printed("ROOKERY__SERVER__PUBLIC_URL", alone);
    assert_eq!(incomplete.0, Some(1));
    assert!(incomplete.1.contains("apps_domain"), "{}", incomplete.1);
    let out = rookery(data.path())
        .arg("config")
        .env("SMTP_URL", "smtps://mail.example.org")
        .env("ROOKERY__MAIL__CA_FILE", "/nope")
        .output()
        .unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert_eq!((out.status.code(), &*said), (Some(1), "rookery: mail.ca_file: cannot be read\n"));
    let nowhere = printed("ROOKERY__SCREENSHOT__CHROMIUM", OsStr::new("/nope"));
    assert_eq!(
        nowhere,
        (Some(1), "rookery: screenshot.chromium: \"/nope\" is no program here\n".into())
    );
    let link = data.path().join("link");
    symlink("/no/such/folder", &link).unwrap();
    for (folder, why) in [
        (Path::new("/dev/null"), "/dev/null is no folder"),
        (Path::new("/dev/null/x/y"), "/dev/null is no folder"),
        (&link.join("x"), "link is a link that leads nowhere"),
    ] {
        let (code, line) = printed("ROOKERY__DATA_DIR", folder.as_os_str());
        assert_eq!(code, Some(1), "{line}");
        assert!(line.starts_with("rookery: data_dir: the folder "), "{line}");
        assert!(line.ends_with(&format!("{why}\n")), "{line}");
    }
    let absent = data.path().join("made/at/the/start");
    assert_eq!(printed("ROOKERY__DATA_DIR", absent.as_os_str()), (Some(0), String::new()));
    assert!(!absent.exists());
    let no_address = OsStr::new("http://127.0.0.1:4318/<");
    let untraced = printed("ROOKERY__TRACES__ENDPOINT", no_address);
    assert_eq!(untraced.0, Some(1));
    assert!(untraced.1.contains("traces.endpoint"), "{}", untraced.1);
}

#[test]
fn what_has_a_settings_files_name_is_read_or_refused() {
    let data = tempfile::tempdir().unwrap();
    let printed = |arguments: &[&str]| {
        let mut command = rookery(data.path());
        command.arg("config").args(arguments).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It may have refused before it read.
        let _ = child.stdin.take().unwrap().write_all(b"[limits]\nmax_embeds = 7\n");
        let out = child.wait_with_output().unwrap();
        (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap())
    };
    let (text, line) = printed(&["--config", "/dev/stdin"]);
    assert!(text.contains("max_embeds = 7 # /dev/stdin"), "{line}");
    let path = data.path().join("rookery.toml");
    for named in [&[][..], &["--config", "rookery.toml"]] {
        fs::create_dir(&path).unwrap();
        let line = "rookery: settings file rookery.toml: a folder\n";
        assert_eq!(printed(named), (String::new(), line.to_owned()));
        fs::remove_dir(&path).unwrap();
        symlink("/no/such/file.toml", &path).unwrap();
        let line = "rookery: settings file rookery.toml: a link that leads nowhere\n";
        assert_eq!(printed(named), (String::new(), line.to_owned()));
        fs::remove_file(&path).unwrap();
    }
    assert!(printed(&[]).0.contains("\nmax_embeds = 50\n"));
}

#[test]
fn a_setting_of_what_is_not_built_is_said_to_do_nothing() {
    let data = tempfile::tempdir().unwrap();
    let out =
        rookery(data.path()).arg("config").env("INGEST_MAX_BODY_BYTES", "5").output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success() && text.starts_with("# INGEST_MAX_BODY_BYTES is set: "), "{text}");
}

#[test]
fn who_reads_no_further_is_no_failure() {
    let data = tempfile::tempdir().unwrap();
    let mut child = rookery(data.path()).arg("openapi").spawn().unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success() && out.stderr.is_empty(), "{out:?}");
}

/// A terminal that was stopped, or a supervisor that does not read.
#[tokio::test]
async fn who_reads_nothing_holds_up_neither_a_start_nor_an_end() {
    let data = tempfile::tempdir().unwrap();
    let (_unread, mut full) = std::io::pipe().unwrap();
    // What a pipe takes, so that whoever writes to it waits.
    full.write_all(&[b'x'; 64 << 10]).unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut server = rookery(data.path());
    server.env("ROOKERY__SERVER__LISTEN", free.to_string());
    server.stdout(full.try_clone().unwrap()).stderr(full.try_clone().unwrap());
    let mut child = server.spawn().unwrap();
    until("it serves", || TcpStream::connect(free).is_ok()).await;
    signal(&child, "-TERM");
    let ended = tokio::task::spawn_blocking(move || child.wait().unwrap().code());
    assert_eq!(timeout(TOO_LONG, ended).await.expect("it ends").unwrap(), Some(0));

    let mut refused = rookery(data.path());
    refused.env("ROOKERY__SERVER__LISTEN", "nowhere").stderr(full);
    let ended = tokio::task::spawn_blocking(move || refused.status().unwrap().code());
    assert_eq!(timeout(TOO_LONG, ended).await.expect("it ends").unwrap(), Some(1));
}

#[test]
fn the_settings_in_force_and_the_document_are_printed() {
    let data = tempfile::tempdir().unwrap();
    let out = rookery(data.path()).arg("config").env("MAX_EMBEDS", "4").output().unwrap();
    assert!(out.status.success());
    assert!(String::from_utf8(out.stdout).unwrap().contains("max_embeds = 4 # environment"));
    let out = rookery(data.path()).arg("openapi").output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(document["info"]["title"], "Rookery");
}

#[tokio::test]
async fn connections_may_take_more_files_than_a_shell_hands_out() {
    let data = tempfile::tempdir().unwrap();
    let mut child = rookery_within("-Sn 64", data.path()).spawn().unwrap();
    let (site, _) = addresses(&mut child);
    let mut open = Vec::new();
    for _ in 0..100 {
        let mut connection = RawConnection::open(site).await;
        connection.send("GET /alive HTTP/1.1\r\nhost: x\r\n\r\n").await;
        let answered = timeout(TOO_LONG, connection.read_until("\"alive\"}")).await;
        answered.expect("it has a permit");
        open.push(connection);
    }
    signal(&child, "-TERM");
    assert!(child.wait().unwrap().success());
}

#[tokio::test]
async fn connections_leave_files_to_the_database_and_to_operators() {
    let data = tempfile::tempdir().unwrap();
    let mut child = rookery_within("-n 96", data.path()).spawn().unwrap();
    let (site, ops) = addresses(&mut child);
    rookery::outbound::install_tls();
    let client = reqwest::Client::builder().timeout(TOO_LONG).build().unwrap();
    let url = |path: &str| format!("http://{site}{path}");
    // This connection is the client's from now on.
    Answer::of(client.get(url("/alive"))).await.expect(200);
    let mut open = Vec::new();
    for _ in 0..200 {
        open.push(RawConnection::open(site).await);
    }
    let registered = client.post(url("/v1/register")).json(&json!({"name": "robin"}));
    Answer::of(registered).await.expect(201);
    // Whether there is such an app is read from the database.
    let page = client.get(url("/")).header("host", "notes.localhost");
    assert_eq!(Answer::of(page).await.status, 404);
    Answer::of(client.get(url("/ready"))).await.expect(200);
    Answer::of(client.get(format!("http://{ops}/alive"))).await.expect(200);
    signal(&child, "-TERM");
    let out = child.wait_with_output().unwrap();
    let log = String::from_utf8(out.stderr).unwrap();
    assert!(log.contains("server.connections_max is lowered"), "{log}");
    assert!(!log.contains("no connection was accepted"), "{log}");
}

#[test]
fn a_start_that_meets_the_bound_of_file_sizes_ends_with_a_line() {
    let data = tempfile::tempdir().unwrap();
    // Not enough for a new database, whatever the shell counts in.
    let out = rookery_within("-f 64", data.path()).output().unwrap();
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert!(text.starts_with("rookery: data_dir: ") && text.contains("disk is full"), "{text}");
}

#[test]
fn a_system_without_trust_anchors_is_said_once_and_stops_neither_a_start_nor_an_operator() {
    let data = tempfile::tempdir().unwrap();
    let without = |mut command: Command| {
        let nowhere = data.path().join("none.pem");
        command.env("SSL_CERT_FILE", nowhere).env("SSL_CERT_DIR", data.path());
        command
    };
    let collected = |address: &str| {
        let mut command = without(rookery(data.path()));
        command.env("ROOKERY__TRACES__ENDPOINT", address);
        command
    };
    let refused = collected("https://collector.example").output().unwrap();
    let text = String::from_utf8(refused.stderr).unwrap();
    let line = "rookery: traces.endpoint: this system has no trust anchors";
    assert!(!refused.status.success() && text.lines().any(|said| said == line), "{text}");
    // Plain http needs none.
    let mut child = collected("http://127.0.0.1:9").spawn().unwrap();
    let (_, operators) = addresses(&mut child);
    let mut ops = without(rookery(data.path()));
    ops.args(["ops", "restarts", "--url", &format!("http://{operators}")]);
    let told = ops.output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    signal(&child, "-TERM");
    let log = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    assert_eq!(log.matches("this system has no trust anchors").count(), 1, "{log}");
}

#[test]
fn a_taken_port_is_named_by_its_setting() {
    let data = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let out = rookery(data.path()).env("ROOKERY__SERVER__LISTEN", &address).output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    let text = String::from_utf8(out.stderr).unwrap();
    assert!(text.starts_with(&format!("rookery: server.listen: cannot listen on {address}: ")));
}
