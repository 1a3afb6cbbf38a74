//! The forms of a deploy: JSON, a form and a zip mean the same; what is hostile is refused.

use std::io::{Cursor, Write as _};

use reqwest::{
    Method,
    header::{HeaderMap, HeaderName, HeaderValue},
    multipart::{Form, Part},
};
use rookery::http::body::budget::BodySender;
use rookery_domain::ErrorCode;
use rookery_storage::versions;
use serde_json::{Value, json};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::harness::{
    Answer, TestServer,
    apps::{App, HTML, Owner, guestbook},
};

/// A zip of these files.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The archive with one of its entries called like another of the same length: no writer does that.
fn renamed(mut archive: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    for at in 0..=archive.len() - from.len() {
        if archive[at..].starts_with(from.as_bytes()) {
            archive[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
    }
    archive
}

/// The archive with so many more entries that have the content of its last one, as no writer makes it.
fn shared(archive: &[u8], copies: u16) -> Vec<u8> {
    let last = |signature: &[u8]| archive.windows(4).rposition(|it| it == signature).unwrap();
    let (entry, end) = (last(b"PK\x01\x02"), last(b"PK\x05\x06"));
    let number =
        |at: usize| u32::from_le_bytes(archive[end + at..end + at + 4].try_into().unwrap());
    let (size, mut whole) = (number(12), archive[..end].to_vec());
    for copy in 0..copies {
        let mut record = archive[entry..end].to_vec();
        // Names of four characters, at the end of a record without extra fields.
        record[46..50].copy_from_slice(format!("f{copy:03}").as_bytes());
        whole.extend(record);
    }
    let entries = 2 + copies;
    let mut tail = archive[end..].to_vec();
    tail[8..10].copy_from_slice(&entries.to_le_bytes());
    tail[10..12].copy_from_slice(&entries.to_le_bytes());
    let added = u32::from(copies) * (end - entry) as u32;
    tail[12..16].copy_from_slice(&(size + added).to_le_bytes());
    [whole, tail].concat()
}

async fn send_zip(server: &TestServer, owner: &Owner, query: &str, bytes: Vec<u8>) -> Answer {
    let request = server.call(Method::POST, &format!("/v1/apps{query}"), owner);
    Answer::of(request.header("content-type", "application/zip").body(bytes)).await
}

async fn send_form(server: &TestServer, owner: &Owner, form: Form) -> Answer {
    Answer::of(server.call(Method::POST, "/v1/apps", owner).multipart(form)).await
}

/// Everything of the app's first version that storage has.
async fn stored(server: &TestServer, record: &Value) -> (String, String, Vec<Value>) {
    let db = &server.state().rooms.db;
    let id = record["id"].as_str().unwrap().parse().unwrap();
    let html = versions::html(db, id, 1).await.unwrap().unwrap().to_string();
    let manifest = versions::manifest(db, id, 1).await.unwrap().unwrap().to_string();
    let mut assets = Vec::new();
    for info in versions::assets(db, id, 1).await.unwrap() {
        let asset = versions::asset(db, id, 1, &info.path).await.unwrap().unwrap();
        assets.push(json!([asset.path, asset.content_type, asset.bytes.to_vec()]));
    }
    (html, manifest, assets)
}

#[tokio::test]
async fn names_of_files_in_a_form_are_what_its_encoding_made_of_them() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let send = async |filename: &str| {
        let body = format!(
            "--x\r\ncontent-disposition: form-data; name=\"html\"\r\n\r\n<p>\r\n--x\r\n\
             content-disposition: form-data; name=\"assets\"; filename=\"{filename}\"\r\n\r\n1\r\n--x--\r\n"
        );
        let request = server.call(Method::POST, "/v1/apps", &owner);
        let request = request.header("content-type", "multipart/form-data; boundary=x");
        Answer::of(request.body(body)).await
    };
    let named = send("a %22b%22.txt").await.expect(201);
    assert_eq!(stored(&server, &named).await.2[0][0], "a \"b\".txt");
    let encoded = send("a%2Fb.js").await;
    let refused = encoded.error(ErrorCode::InvalidRequest);
    assert!(refused["message"].as_str().unwrap().contains("a%2Fb.js"), "{refused}");
}

#[tokio::test]
async fn json_form_and_zip_make_the_same_app() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let manifest = guestbook().to_string();
    let body = format!(
        r#"{{"html": {html}, "manifest": {manifest}, "timezone": "Europe/Berlin",
            "visibility": "public", "assets": [
            {{"path": "/css/site.css", "text": "p{{}}"}}, {{"path": "dot.png", "base64": "AAEC/w"}}]}}"#,
        html = json!(HTML),
    );
    let by_json = server.post("/v1/apps", &owner.key, &body).await.expect(201);
    let form = Form::new()
        .text("html", HTML)
        .text("manifest", manifest.clone())
        .text("timezone", "Europe/Berlin")
        .text("visibility", "public")
        .part("assets", Part::bytes(b"p{}".as_slice()).file_name("css/site.css"))
        .part("assets", Part::bytes([0, 1, 2, 255].as_slice()).file_name("dot.png"));
    let by_form = send_form(&server, &owner, form).await.expect(201);
    let files: [(&str, &[u8]); 4] = [
        ("index.html", HTML.as_bytes()),
        ("manifest.json", manifest.as_bytes()),
        ("css/site.css", b"p{}"),
        ("dot.png", &[0, 1, 2, 255]),
    ];
    let query = "?timezone=Europe/Berlin&visibility=public";
    let by_zip = send_zip(&server, &owner, query, zip(&files)).await.expect(201);
    // Many tools zip the folder itself, with macOS's litter and what a project hides.
    let folder: Vec<(String, &[u8])> =
        files.iter().map(|(name, bytes)| (format!("site/{name}"), *bytes)).collect();
    let mut folder: Vec<(&str, &[u8])> =
        folder.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
    folder.push(("__MACOSX/site/._index.html", b"x"));
    folder.push(("site/css/.DS_Store", b"x"));
    folder.push(("site/.env", b"SECRET=1"));
    folder.push(("site/.git/config", b"x"));
    let objects: Vec<String> = (0..1_000).map(|n| format!("site/.git/objects/{n}")).collect();
    folder.extend(objects.iter().map(|name| (name.as_str(), &b""[..])));
    let by_folder = send_zip(&server, &owner, query, zip(&folder)).await.expect(201);

    let first = stored(&server, &by_json).await;
    assert_eq!(first.2.len(), 2);
    assert_eq!(first.2[0][1], "text/css; charset=utf-8");
    for other in [by_form, by_zip, by_folder] {
        assert_eq!(stored(&server, &other).await, first);
        for member in ["visibility", "timezone", "collections"] {
            assert_eq!(other[member], by_json[member]);
        }
    }
}

#[tokio::test]
async fn a_manifest_may_sit_in_the_document_but_not_in_two_places() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let html = format!(
        "{HTML}<script type=\"application/json\" id=\"x-service-manifest\">{}</script>",
        guestbook()
    );
    let app = server.deploy(&owner, json!({"html": html})).await;
    assert_eq!(app.record["collections"][0]["name"], "entries");
    let both = json!({"html": html, "manifest": guestbook()});
    let answer = server.send(Method::POST, &owner, "/v1/apps", &both).await;
    answer.error(ErrorCode::InvalidRequest);
    let form = Form::new().text("html", html.clone()).text("manifest", "{}");
    send_form(&server, &owner, form).await.error(ErrorCode::InvalidRequest);
    let files = [("index.html", html.as_bytes()), ("manifest.json", b"{}".as_slice())];
    let answer = send_zip(&server, &owner, "", zip(&files)).await;
    answer.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn a_file_of_no_known_type_is_sent_by_its_path() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let file = |name: &'static str, kind: &str| {
        Part::bytes(b"p{}".as_slice()).file_name(name).mime_str(kind).unwrap()
    };
    // What curl says of every file that it does not know.
    let unknown = "application/octet-stream";
    let form = Form::new().text("html", HTML).part("assets", file("a.css", unknown));
    let form = form.part("assets", file("b.js", unknown)).part("assets", file("c", unknown));
    let app = send_form(&server, &owner, form.part("assets", file("d.css", "text/x-mine"))).await;
    let (_, _, assets) = stored(&server, &app.expect(201)).await;
    let kinds: Vec<_> = assets.iter().map(|asset| asset[1].as_str().unwrap()).collect();
    let sent = ["text/css; charset=utf-8", "text/javascript; charset=utf-8", unknown];
    assert_eq!(kinds[..3], sent);
    assert_eq!(kinds[3], "text/x-mine; charset=utf-8");
    for wrong in [
        "css",
        "",
        "text/",
        "a/b\r\nx: y",
        "text/html; charset=\"x",
        "text/html;;; charset",
        "text/html; a=b c",
        "text/html; a=\u{fc}",
    ] {
        let asset = json!({"path": "a.css", "text": "p{}", "content_type": wrong});
        let body = json!({"html": HTML, "assets": [asset]}).to_string();
        let refused = server.post("/v1/apps", &owner.key, &body).await;
        let error = refused.error(ErrorCode::InvalidRequest);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("content_type") && message.contains("a.css"), "{message}");
        assert!(message.ends_with(&format!(": {wrong:?}")), "{message}");
    }
}

#[tokio::test]
async fn a_deploy_as_json_is_in_utf_8() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let deploy = async |charset: &str| {
        let request = server.call(Method::POST, "/v1/apps?dry_run=true", &owner);
        let kind = format!("application/json; charset={charset}");
        Answer::of(request.header("content-type", kind).body(r#"{"html": "x"}"#)).await
    };
    for charset in ["utf-8", "UTF-8", "\"utf-8\"", "utf8"] {
        deploy(charset).await.expect(200);
    }
    let refused = deploy("iso-8859-1").await.error(ErrorCode::InvalidRequest);
    assert!(
        refused["message"].as_str().unwrap().starts_with("Content-Type: charset must be utf-8")
    );
}

#[tokio::test]
async fn a_malformed_form_is_refused() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let html = || Form::new().text("html", HTML);
    let forms = [
        Form::new().text("manifest", "{}"),
        html().text("colour", "red"),
        html().text("html", HTML),
        html().text("visibility", "secret"),
        html().text("force", "perhaps"),
        html().text("input_data", "[]"),
        html().text("manifest", "{"),
        html().part("assets", Part::bytes(b"x".as_slice())),
        html().part("assets", Part::bytes(b"x".as_slice()).file_name("../x")),
        Form::new().part("html", Part::bytes([0xff, 0xfe].as_slice())),
    ];
    for form in forms {
        send_form(&server, &owner, form).await.error(ErrorCode::InvalidRequest);
    }
    // What it is called is not told back whole.
    let endless = html().text("\u{202e}".repeat(100_000), "x");
    let refused = send_form(&server, &owner, endless).await;
    assert!(refused.text.len() < 2_000, "{} bytes", refused.text.len());
    refused.error(ErrorCode::InvalidRequest);
    for (encoding, status) in [("8bit", 201), ("BINARY", 201), ("base64", 400)] {
        let said = HeaderName::from_static("content-transfer-encoding");
        let said = HeaderMap::from_iter([(said, HeaderValue::from_static(encoding))]);
        let part = Part::text("PHA+aGVsbG88L3A+").headers(said);
        let sent = send_form(&server, &owner, Form::new().part("html", part)).await;
        assert_eq!(sent.status, status, "{encoding}: {}", sent.text);
        assert_eq!(sent.text.contains("Content-Transfer-Encoding"), status == 400, "{encoding}");
    }
    let request = server.call(Method::POST, "/v1/apps", &owner).body("--x\r\nbroken");
    let request = request.header("content-type", "multipart/form-data; boundary=x");
    Answer::of(request).await.error(ErrorCode::InvalidRequest);
    let request = server.call(Method::POST, "/v1/apps", &owner).body("<p>hello");
    Answer::of(request.header("content-type", "text/html")).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn an_entry_that_is_compressed_in_another_way_is_named() {
    /// The methods of an entry are there twice: in front of it, and in the directory at the end.
    const METHOD_AT: [(&[u8], usize); 2] = [(b"PK\x03\x04", 8), (b"PK\x01\x02", 10)];
    /// Deflate64, which some tools use for large files.
    const DEFLATE_64: u8 = 9;
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let mut bytes = zip(&[("index.html", b"<p>x")]);
    for (signature, offset) in METHOD_AT {
        let found = bytes.windows(4).position(|window| window == signature).expect("a record");
        bytes[found + offset] = DEFLATE_64;
    }
    let refused = send_zip(&server, &owner, "", bytes).await.error(ErrorCode::InvalidRequest);
    let message = refused["message"].as_str().expect("a message");
    assert!(message.contains("\"index.html\" is compressed in a way"), "{message}");
}

#[tokio::test]
async fn a_hostile_zip_is_refused_before_it_is_unpacked() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    // 16 MiB of zeros are 16 KiB of zip.
    let zeros = vec![0; 16 << 20];
    let index = ("index.html", HTML.as_bytes());
    let bomb = zip(&[index, ("bomb.bin", &zeros)]);
    assert!(bomb.len() < 50_000);
    send_zip(&server, &owner, "", bomb).await.error(ErrorCode::PayloadTooLarge);
    let document = zip(&[("index.html", &zeros)]);
    send_zip(&server, &owner, "", document).await.error(ErrorCode::PayloadTooLarge);
    let manifest = zip(&[index, ("manifest.json", &zeros)]);
    send_zip(&server, &owner, "", manifest).await.error(ErrorCode::ManifestTooLarge);
    let names: Vec<String> = (0..1_000).map(|i| format!("f{i}")).collect();
    let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    send_zip(&server, &owner, "", zip(&many)).await.error(ErrorCode::PayloadTooLarge);

    for name in ["../up.js", "a/../../up.js", "/s/sdk.js", "a\\b.js", "a//b.js"] {
        let answer = send_zip(&server, &owner, "", zip(&[index, (name, b"x")])).await;
        answer.error(ErrorCode::InvalidRequest);
    }
    for (name, other) in [("index.html", "1ndex.html"), ("a.js", "b.js")] {
        let files = [index, (name, b"one".as_slice()), (other, b"two")];
        let files = if name == index.0 { &files[1..] } else { &files[..] };
        let twice = renamed(zip(files), other, name);
        let error = send_zip(&server, &owner, "", twice).await.error(ErrorCode::InvalidRequest);
        let message = error["message"].as_str().unwrap();
        assert_eq!(message, format!("the zip holds two entries named {name:?}"));
    }
    let mut linked = ZipWriter::new(Cursor::new(Vec::new()));
    linked.start_file("index.html", SimpleFileOptions::default()).unwrap();
    linked.write_all(HTML.as_bytes()).unwrap();
    linked.add_symlink("key", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    let linked = linked.finish().unwrap().into_inner();
    send_zip(&server, &owner, "", linked).await.error(ErrorCode::InvalidRequest);
    for bytes in [b"PK".to_vec(), vec![], zip(&[("readme.md", b"x")])] {
        send_zip(&server, &owner, "", bytes).await.error(ErrorCode::InvalidRequest);
    }
    // One content under many names would be unpacked as often.
    let noise: Vec<u8> =
        (0..4_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let whole = zip(&[index, ("last", &noise)]);
    let refused = send_zip(&server, &owner, "", shared(&whole, 9)).await;
    let refused = refused.error(ErrorCode::InvalidRequest)["message"].clone();
    assert_eq!(refused, "the zip's entry \"f000\" shares its content with others");
    send_zip(&server, &owner, "", shared(&whole, 0)).await.expect(201);
    let cut = zip(&[index]);
    let cut = cut[..cut.len() / 2].to_vec();
    send_zip(&server, &owner, "", cut).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn what_a_zip_unpacks_to_counts_among_the_bodies_that_are_held() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let bundle = zip(&[("index.html", HTML.as_bytes()), ("zeros.bin", &vec![0; 8 << 20])]);
    assert!(bundle.len() < 64 << 10);
    let bodies = server.state().bodies.clone();
    let mut others = bodies.share(BodySender::Service, [127, 0, 0, 1].into());
    // One address may hold half of them all.
    others.grow(server.state().config.server.bodies_bytes_max / 2 - (4 << 20)).unwrap();
    send_zip(&server, &owner, "", bundle.clone()).await.error(ErrorCode::RateLimited);
    drop(others);
    send_zip(&server, &owner, "", bundle).await.expect(201);
    assert_eq!(bodies.held(), 0);
}

#[tokio::test]
async fn what_is_too_large_is_said_by_name() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let large = "x".repeat((2 << 20) + 1);
    let file = |i: usize, text: &str| json!({"path": format!("f{i}"), "text": text});
    let half = "x".repeat(5 << 20);
    let many: Vec<Value> = (0..201).map(|i| file(i, "")).collect();
    let cases = [
        (json!({"html": large}), "html"),
        (json!({"html": HTML, "assets": [file(0, &half), file(1, &half)]}), "assets"),
        (json!({"html": HTML, "assets": many}), "assets"),
    ];
    for (body, named) in cases {
        let answer = server.send(Method::POST, &owner, "/v1/apps", &body).await;
        let error = answer.error(ErrorCode::PayloadTooLarge);
        assert!(error["message"].as_str().unwrap().contains(named), "{error}");
    }
}

#[tokio::test]
async fn an_idempotency_key_knows_a_deploy_in_any_form() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let key = ("idempotency-key", "k");
    let form = || Form::new().text("html", HTML).text("slug", "same-app");
    let request = || server.call(Method::POST, "/v1/apps", &owner).header(key.0, key.1);
    // Each form draws a boundary of its own: the bytes differ, the deploy does not.
    let first = App::of(Answer::of(request().multipart(form())).await.expect(201));
    let again = Answer::of(request().multipart(form())).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(201)["id"], first.id.as_str());
    let as_json = Answer::of(request().json(&json!({"html": HTML, "slug": "same-app"}))).await;
    assert_eq!(as_json.header("idempotent-replayed"), "true");
}
