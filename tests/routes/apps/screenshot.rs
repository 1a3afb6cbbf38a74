//! Pictures of apps: drawn without a browser; taken by a real one, which reaches nothing but the
//! app.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures::{StreamExt as _, stream::FuturesUnordered};
use reqwest::Method;
use rookery_domain::ErrorCode;
use rookery_testkit::{not_run, until};
use serde_json::json;
use tokio::net::{TcpListener, UdpSocket};

use crate::harness::{
    Answer, Builder, TestServer,
    apps::{App, Owner, guestbook},
};

/// A picture, decoded.
struct Picture {
    width: u32,
    height: u32,
    /// Red, green, blue of each pixel.
    pixels: Vec<[u8; 3]>,
    source: String,
}

impl Picture {
    /// How many pixels have this colour.
    fn count(&self, colour: [u8; 3]) -> usize {
        self.pixels.iter().filter(|pixel| **pixel == colour).count()
    }
}

/// The picture of an app, as the holder of a key gets it.
async fn picture(server: &TestServer, owner: &Owner, app: &App, query: &str) -> Picture {
    let path = app.path(&format!("/screenshot{query}"));
    let response = server.call(Method::GET, &path, owner).send().await.expect("an answer");
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "image/png");
    let source = &response.headers()["x-service-screenshot-source"];
    let source = source.to_str().expect("text").to_owned();
    let bytes = response.bytes().await.expect("the picture");
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes.as_ref()));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().expect("a PNG");
    let mut buffer = vec![0; reader.output_buffer_size().expect("its size")];
    let frame = reader.next_frame(&mut buffer).expect("its pixels");
    let samples = frame.color_type.samples();
    assert!(samples >= 3, "in colour");
    let pixels = buffer[..frame.buffer_size()].chunks(samples).map(|it| [it[0], it[1], it[2]]);
    Picture { width: frame.width, height: frame.height, pixels: pixels.collect(), source }
}

#[tokio::test]
async fn without_a_browser_the_apps_name_is_drawn_in_both_sizes() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"slug": "guestbook"})).await;
    let long = "x".repeat(63);
    let long = server.deploy(&owner, json!({"slug": long})).await;
    for (query, width, height) in
        [("", 640, 400), ("?size=card", 640, 400), ("?size=og", 1_200, 630)]
    {
        for app in [&app, &long] {
            let drawn = picture(&server, &owner, app, query).await;
            assert_eq!(
                (drawn.width, drawn.height, drawn.source.as_str()),
                (width, height, "drawn")
            );
            let ground = drawn.pixels[0];
            let ink = drawn.count([0xff; 3]);
            assert!(ground.iter().all(|part| *part <= 0x70), "dark enough for white letters");
            assert!(ink > 1_000 && ink + drawn.count(ground) == drawn.pixels.len(), "{ink}");
        }
    }
    let other = server.deploy(&owner, json!({"slug": "guestbooks"})).await;
    let (one, two) =
        (picture(&server, &owner, &app, "").await, picture(&server, &owner, &other, "").await);
    assert!(one.pixels != two.pixels, "each has its own");
}

#[tokio::test]
async fn the_owner_and_members_may_see_it_and_ask_whether_it_has_changed() {
    let server = TestServer::start().await;
    let (owner, other) = (server.owner("ann").await, server.owner("eve").await);
    let app = server.deploy(&owner, json!({})).await;
    let path = app.path("/screenshot");
    server.get(&path).await.error(ErrorCode::Unauthorized);
    server.get_as(&other, &path).await.error(ErrorCode::AppNotFound);
    for query in ["?size=huge", "?size=", "?width=10", "?size=og&size=og"] {
        let refused = server.get_as(&owner, &format!("{path}{query}")).await;
        refused.error(ErrorCode::InvalidRequest);
    }
    let added = json!({"email": "eve@example.org"});
    server.send(Method::POST, &owner, &app.path("/members"), &added).await.expect(201);
    let session = |who: &Owner| format!("service_session={}", who.session);
    for who in [&owner, &other] {
        let request = server.request(Method::GET, &path).header("cookie", session(who));
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        let etag = response.headers()["etag"].clone();
        let again = server.request(Method::GET, &path).header("cookie", session(who));
        let again = Answer::of(again.header("if-none-match", etag)).await;
        assert_eq!((again.status, again.text.as_str()), (304, ""));
    }
    // A member's agent is a stranger.
    server.get_as(&other, &path).await.error(ErrorCode::AppNotFound);
    let deleted = server.call(Method::DELETE, &app.path(""), &owner);
    assert_eq!(Answer::of(deleted).await.status, 204);
    server.get_as(&owner, &path).await.error(ErrorCode::SoftDeleted);
}

/// Tries to reach the network that the server is in, and to write.
const REACH: &str = r#"<img hidden src="http://INSIDE/a.png" onload="red()"><iframe hidden
    src="http://INSIDE/b"></iframe><script>
    const colour = (colour) => { document.body.style.background = colour };
    const red = () => colour('#f00');
    try { new WebSocket("ws://INSIDE/c").onopen = red } catch {}
    fetch("http://INSIDE/d", {mode: "no-cors"}).then(red, () => {});
    navigator.sendBeacon("http://INSIDE/e", "x");
    fetch("/s/collections/entries", {method: "POST", body: "{\"data\":{}}",
        headers: {"content-type": "application/json"}}).then(red, () => {});
    window.open("http://INSIDE/f");
    </script>"#;

/// Tries the same by UDP, which calls between browsers use: by servers that tell a caller its address or
/// relay for it, and by a peer's own address. It asks for something now and then, so that the browser
/// looks on meanwhile.
const CALL: &str = r#"<script>
    const servers = [{urls: "stun:INSIDE"},
        {urls: "turn:INSIDE?transport=udp", username: "u", credential: "p"}];
    const offer = async (call) => {
        call.createDataChannel("c");
        await call.setLocalDescription(await call.createOffer());
    };
    const [near, far] = [new RTCPeerConnection({iceServers: servers}), new RTCPeerConnection()];
    offer(near).then(async () => {
        await far.setRemoteDescription(near.localDescription);
        await far.setLocalDescription(await far.createAnswer());
        await near.setRemoteDescription(far.localDescription);
        const candidate = "candidate:1 1 udp 2122260223 HOST PORT typ host";
        await near.addIceCandidate({candidate, sdpMid: "0", sdpMLineIndex: 0});
    });
    let asked = 0;
    const timer = setInterval(() => {
        fetch("/nothing?" + asked).catch(() => {});
        if (++asked === 10) clearInterval(timer);
    }, 200);
    </script>"#;

/// The browser, where this machine has one.
fn chromium() -> Option<String> {
    let program = std::env::var("CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".to_owned());
    let found = Command::new(&program).arg("--version").output();
    if found.is_ok_and(|it| it.status.success()) {
        return Some(program);
    }
    not_run("tests/routes/apps/screenshot.rs", "chromium");
    None
}

/// A server that has the browser take pictures.
fn browsing(program: &str) -> Builder {
    TestServer::builder()
        .set("ROOKERY__SCREENSHOT__CHROMIUM", program)
        // The tests may run as root.
        .set("ROOKERY__SCREENSHOT__ARGUMENTS", "--no-sandbox")
        .set("ROOKERY__SCREENSHOT__TIMEOUT_S", "120")
}

/// A listener inside the network, which counts who comes.
async fn bystander() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let visits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&visits);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    (address, visits)
}

/// One that counts packets. A browser does not call by the loopback address, so it has another one
/// where this machine does.
async fn udp_bystander() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = UdpSocket::bind("0.0.0.0:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    // Nothing is sent: it only chooses the interface.
    let outward = UdpSocket::bind("0.0.0.0:0").await.expect("a port");
    let host = match outward.connect("192.0.2.1:9").await {
        Ok(()) => outward.local_addr().expect("an address").ip(),
        Err(_) => Ipv4Addr::LOCALHOST.into(),
    };
    let packets = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&packets);
    tokio::spawn(async move {
        while listener.recv(&mut [0; 2_048]).await.is_ok() {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    (SocketAddr::new(host, port), packets)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_browser_takes_it_and_reaches_nothing_but_the_app() {
    let Some(program) = chromium() else { return };
    let server = browsing(&program).start().await;
    let owner = server.owner("ann").await;
    let (address, visits) = bystander().await;
    // Blue, once a row that anybody may read has come and the style sheet with it; red, if anything
    // inside the network answers, or the page could write.
    let reach = REACH.replace("INSIDE", &address);
    let html = format!(
        r#"<!doctype html><title>T</title><link rel="stylesheet" href="asset.css"><body>{reach}<script>
        const request = new XMLHttpRequest();
        request.open("GET", "/s/collections/entries", false);
        request.send();
        const styled = getComputedStyle(document.body).color === "rgb(1, 2, 3)";
        if (JSON.parse(request.responseText).items.length === 1 && styled) colour('#00f');
        alert("does not hold it up");
        </script>"#
    );
    let css = "body { margin: 0; background: #080; color: rgb(1, 2, 3) }";
    let assets = json!([{"path": "asset.css", "text": css}]);
    let body = json!({"html": html, "assets": assets, "manifest": guestbook(),
        "visibility": "public", "input_data": {"entries": [{"data": {}}]}});
    let app = server.deploy(&owner, body).await;
    for (query, width, height) in [("?size=card", 640, 400), ("?size=og", 1_200, 630)] {
        let taken = picture(&server, &owner, &app, query).await;
        assert_eq!((taken.width, taken.height, taken.source.as_str()), (width, height, "browser"));
        assert_eq!(taken.count([0, 0, 255]), taken.pixels.len(), "at first {:?}", taken.pixels[0]);
    }
    let count = server.get_as(&owner, &app.path("/collections/entries/count")).await;
    assert_eq!(count.expect(200)["count"], 1);
    let seen = server.get_as(&owner, &app.path("/analytics")).await.expect(200);
    assert_eq!(seen["totals"]["pageviews"], 0, "{seen}");

    // A private app's page is shown too, to those who may see the picture. Its policy may allow
    // everything: the browser itself reaches nothing.
    let (udp, packets) = udp_bystander().await;
    let call = CALL.replace("INSIDE", &udp.to_string()).replace("HOST", &udp.ip().to_string());
    let call = call.replace("PORT", &udp.port().to_string());
    let html = format!("<!doctype html><body style='margin:0;background:#00f'>{reach}{call}");
    let private = server.deploy(&owner, json!({"html": html})).await;
    let open = server.request(Method::POST, &private.path("/unrestricted"));
    let open = open.header("cookie", format!("service_session={}", owner.session));
    let open = open.header("origin", server.public_url()).json(&json!({"on": true}));
    assert_eq!(Answer::of(open).await.expect(200)["unrestricted"], true);
    let taken = picture(&server, &owner, &private, "").await;
    assert_eq!((taken.pixels[0], taken.source.as_str()), ([0, 0, 255], "browser"));
    assert_eq!(visits.load(Ordering::Relaxed), 0, "nobody inside was asked");
    assert_eq!(packets.load(Ordering::Relaxed), 0, "nobody inside was called");
    // The next version has its own.
    let next = json!({"html": "<!doctype html><body style='margin:0;background:#ff0'>"});
    server.send(Method::POST, &owner, &private.path("/versions"), &next).await.expect(201);
    assert_eq!(picture(&server, &owner, &private, "").await.pixels[0], [255, 255, 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_asks_without_end_is_taken_as_it_is() {
    let Some(program) = chromium() else { return };
    let server = browsing(&program).start().await;
    let owner = server.owner("ann").await;
    let html = "<!doctype html><body style='margin:0;background:#00f'><script>
        const ask = () => fetch('/s/session').finally(() => setTimeout(ask, 50));
        ask();
        </script>";
    let app = server.deploy(&owner, json!({"html": html, "visibility": "public"})).await;
    let taken = picture(&server, &owner, &app, "").await;
    assert_eq!((taken.pixels[0], &*taken.source), ([0, 0, 255], "browser"));
}

#[tokio::test]
async fn whoever_asks_for_one_picture_waits_for_one_of_those_that_another_asked_for() {
    let Some(program) = chromium() else { return };
    let server = browsing(&program).start().await;
    let (ann, bob) = (server.owner("ann").await, server.owner("bob").await);
    let mut apps = Vec::new();
    let mut flood = FuturesUnordered::new();
    for _ in 0..5 {
        apps.push(server.deploy(&ann, json!({"html": "<p>one of many"})).await);
    }
    for app in &apps {
        flood.push(picture(&server, &ann, app, ""));
    }
    let app = server.deploy(&bob, json!({"html": "<p>one"})).await;
    let waiting = || server.state().screenshots.waiting();
    let one = async {
        until("most of them wait", || waiting() >= 3).await;
        picture(&server, &bob, &app, "").await
    };
    let mut one = std::pin::pin!(one);
    let mut before = 0;
    let taken = loop {
        tokio::select! {
            taken = &mut one => break taken,
            Some(_) = flood.next() => before += 1,
        }
    };
    assert_eq!(taken.source, "browser");
    assert!(before <= 3, "behind {before} of five");
    while let Some(taken) = flood.next().await {
        assert_eq!(taken.source, "browser");
    }
}

/// Pages that go away: before they are quiet, at once, and to where nothing answers.
const LEADS: [&str; 3] = [
    "<script>onload = () => setTimeout(() => location.reload(), 300)</script>",
    "<meta http-equiv=refresh content=0>",
    "<script>onload = () => location.assign('https://elsewhere.example/')</script>",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_leads_away_without_end_is_taken_as_it_is() {
    let Some(program) = chromium() else { return };
    let server = browsing(&program).start().await;
    let owner = server.owner("ann").await;
    for lead in LEADS {
        let html = format!("<!doctype html><title>T</title>{lead}<body style='background:#00f'>");
        let app = server.deploy(&owner, json!({"html": html, "visibility": "public"})).await;
        let taken = picture(&server, &owner, &app, "").await;
        assert_eq!((taken.pixels[0], &*taken.source), ([0, 0, 255], "browser"), "{lead}");
    }
}

#[tokio::test]
async fn a_browser_that_fails_leaves_a_drawn_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    let count = |name: &str| {
        let file = std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        file.lines().count()
    };
    let script = |name: &str, then: &str| {
        let path = folder.path().join(name);
        let log = folder.path().join(format!("{name}.log"));
        let text = format!("#!/bin/sh\necho run >> {}\n{then}\n", log.display());
        std::fs::write(&path, text).expect("a script");
        make_executable(&path);
        path.display().to_string()
    };
    let silent = script("silent", "cat <&3 > /dev/null");
    let nonsense = script("nonsense", "printf 'no json\\0' >&4; cat <&3 > /dev/null");
    let gone = script("gone", "exit 1");
    let broken = script("broken", "");
    std::fs::write(&broken, "#!/nowhere/sh\n").expect("a script");
    for (program, timeout) in
        [(silent.as_str(), "1"), (&nonsense, "60"), (&gone, "60"), (&broken, "60")]
    {
        let builder = TestServer::builder()
            .set("ROOKERY__SCREENSHOT__CHROMIUM", program)
            .set("ROOKERY__SCREENSHOT__TIMEOUT_S", timeout);
        let server = builder.start().await;
        let owner = server.owner("ann").await;
        let app = server.deploy(&owner, json!({})).await;
        for _ in 0..2 {
            assert_eq!(picture(&server, &owner, &app, "").await.source, "drawn", "{program}");
        }
    }
    // The second request did not try again.
    for name in ["silent.log", "nonsense.log", "gone.log"] {
        assert!(count(name) <= 1, "{name}");
    }
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// A page that goes by the SDK: blue once it has a row, red as long as it has none.
const BY_SDK: &str = r#"<!doctype html><title>T</title><body style="margin:0;background:#f00"><script>
    app.collection("entries").subscribe(([row]) => {
        if (row) document.body.style.background = row.data.colour;
    });
    </script>"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_the_sdk_shows_its_rows_until_they_are_destroyed() {
    let Some(program) = chromium() else { return };
    for mode in ["subdomain", "path"] {
        let server = browsing(&program).set("ROOKERY__APPS_MODE", mode).start().await;
        let owner = server.owner("ann").await;
        let body = json!({"html": BY_SDK, "manifest": guestbook(), "visibility": "public",
            "input_data": {"entries": [{"key": "k", "data": {"colour": "#00f"}}]}});
        let app = server.deploy(&owner, body).await;
        let taken = picture(&server, &owner, &app, "").await;
        assert_eq!((taken.pixels[0], &*taken.source), ([0, 0, 255], "browser"), "{mode}");
        let row = app.path("/collections/entries/k/purge");
        Answer::of(server.call(Method::DELETE, &row, &owner)).await.expect(200);
        assert_eq!(picture(&server, &owner, &app, "").await.pixels[0], [255, 0, 0], "{mode}");
    }
}
