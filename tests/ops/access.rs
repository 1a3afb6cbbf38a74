//! Who may ask on the operator's listener.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use reqwest::Method;
use rookery_domain::ErrorCode;

use crate::harness::{Answer, RawConnection, TestServer};

const TOKEN: &str = "a-token-of-some-length";

#[tokio::test]
async fn every_page_and_figure_asks_for_the_token_where_one_is_set() {
    let server = TestServer::builder().set("ROOKERY__OPS__TOKEN", TOKEN).start().await;
    for path in ["/metrics", "/ops/api/overview", "/ops/api/openapi.json"] {
        let plain = Answer::of(server.ops(Method::GET, path)).await;
        plain.error(ErrorCode::Unauthorized);
        // A browser asks its human for the password then.
        let schemes: Vec<_> = plain.headers.get_all("www-authenticate").iter().collect();
        assert!(schemes.iter().any(|s| s.to_str().unwrap().starts_with("Basic ")), "{schemes:?}");
    }
    for wrong in ["", "x", "a-token-of-some-lengtH"] {
        let asked = server.ops(Method::GET, "/metrics").basic_auth("ops", Some(wrong));
        Answer::of(asked).await.error(ErrorCode::Unauthorized);
    }
    let basic = server.ops(Method::GET, "/metrics").basic_auth("anybody", Some(TOKEN));
    assert_eq!(Answer::of(basic).await.status, 200);
    let bearer = server.ops(Method::GET, "/ops/api/overview").bearer_auth(TOKEN);
    assert_eq!(Answer::of(bearer).await.status, 200);
    // The case of a scheme does not matter.
    let pair = BASE64.encode(format!("anybody:{TOKEN}"));
    for (given, status) in [
        (format!("bearer {TOKEN}"), 200),
        (format!("BASIC {pair}"), 200),
        (format!("digest {TOKEN}"), 401),
        (TOKEN.to_owned(), 401),
    ] {
        let asked = server.ops(Method::GET, "/metrics").header("authorization", &given);
        assert_eq!(Answer::of(asked).await.status, status, "{given}");
    }
}

#[tokio::test]
async fn without_a_token_a_foreign_name_that_leads_here_gets_nothing() {
    let server = TestServer::start().await;
    for path in ["/metrics", "/ops/api/overview"] {
        let asked = server.ops(Method::GET, path).header("host", "rebound.example");
        Answer::of(asked).await.error(ErrorCode::Forbidden);
        let names = ["localhost:8081", "LocalHost:8081", "localhost.:8081", "localhost"];
        for host in names.into_iter().chain(["127.0.0.1:8081", "[::1]:8081"]) {
            let asked = server.ops(Method::GET, path).header("host", host);
            assert_eq!(Answer::of(asked).await.status, 200, "{path} {host}");
        }
    }
    let health = server.ops(Method::GET, "/alive").header("host", "rookery.internal");
    assert_eq!(Answer::of(health).await.status, 200);
    // What a request's target names is what it is for, whatever the header says.
    for (target, status) in [("localhost", 200), ("rebound.example", 403)] {
        let address = server.ops_address().parse().unwrap();
        let mut connection = RawConnection::open(address).await;
        let head = format!("GET http://{target}/metrics HTTP/1.1\r\nhost: localhost\r\n");
        connection.send(&format!("{head}connection: close\r\n\r\n")).await;
        let answer = connection.read_to_end().await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{target}: {answer}");
    }
}

#[tokio::test]
async fn the_public_listener_has_nothing_of_it() {
    let server = TestServer::start().await;
    for path in ["/metrics", "/ops/api/overview", "/ops/api/openapi.json"] {
        server.get(path).await.error(ErrorCode::NotFound);
    }
}

#[tokio::test]
async fn the_document_names_every_operation_and_leads_somewhere() {
    let server = TestServer::start().await;
    let document = Answer::of(server.ops(Method::GET, "/ops/api/openapi.json")).await.expect(200);
    for path in ["overview", "tree", "hot", "restarts", "actions", "apps/{id}"] {
        let item = &document["paths"][format!("/ops/api/{path}")];
        assert!(item["get"]["responses"]["200"].is_object(), "{path}");
    }
    assert_eq!(document["servers"][0]["url"], "/", "where it listens is where this was read");
    let act = &document["paths"]["/ops/api/apps/{id}/actions/{action}"]["post"];
    assert!(act["requestBody"].is_object());
    assert_eq!(act["security"][0]["ops_token"], serde_json::json!([]));
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}
