//! What a request says of itself before its body: the host, the path's segments, the names in its
//! query; and a body that nobody reads to its end.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::json;

use crate::harness::{
    Answer, TestServer,
    apps::{guestbook, open_collection},
};

#[tokio::test]
async fn a_misspelt_parameter_is_refused_and_named_whatever_the_route_takes() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    let rows = app.path("/collections/entries");
    for (method, path, body) in [
        (Method::GET, app.path("?include_delete=true"), json!({})),
        (Method::GET, format!("{rows}?filtre={{}}"), json!({})),
        (Method::GET, format!("{rows}/count?filter={{}}"), json!({})),
        (Method::POST, format!("{rows}?key=k"), json!({"data": {}})),
        (Method::PATCH, format!("{rows}/k?if-match=1"), json!({"data": {}})),
        (Method::DELETE, format!("{rows}/k?version=1"), json!({})),
        (Method::DELETE, format!("{rows}/k/purge?force"), json!({})),
        (Method::POST, app.path("/wake?now=1"), json!({})),
        (Method::POST, app.path("/restore?x"), json!({})),
        (Method::GET, app.path("/document?version=1"), json!({})),
        (Method::GET, "/v1/keys?limit=1".to_owned(), json!({})),
    ] {
        let answer = server.send(method.clone(), &owner, &path, &body).await;
        let error = answer.error(ErrorCode::InvalidRequest);
        let name = path.split_once('?').expect("a query").1;
        let name = name.split('=').next().expect("a name");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(name), "{method} {path}: {message}");
    }
    // The owner first, then what it asked for.
    let nobody = Answer::of(server.request(Method::GET, &app.path("?x=1"))).await;
    nobody.error(ErrorCode::Unauthorized);
    let stranger = server.owner("bob").await;
    server.get_as(&stranger, &app.path("?x=1")).await.error(ErrorCode::AppNotFound);
    // A page is no part of the API.
    assert_eq!(server.get("/docs?utm_source=mail").await.status, 200);
}

#[tokio::test]
async fn a_value_that_is_no_text_is_refused_with_its_name() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    for path in [
        "/v1/apps?slug=%ff".to_owned(),
        "/v1/apps?limit=1&slug=a%C3".to_owned(),
        app.path("/collections/entries?sort=%ff"),
        app.path("/collections/entries/k?include_deleted=%ff"),
        app.path("/feed?wait=0&since=%ff"),
    ] {
        let error = server.get_as(&owner, &path).await.error(ErrorCode::InvalidRequest);
        let (query, _) = path.rsplit_once('=').expect("a query");
        let name = query.rsplit(['?', '&']).next().expect("a name");
        assert!(error["message"].as_str().expect("a message").contains(name), "{path}: {error}");
    }
    // A page leaves alone what it does not know.
    assert_eq!(server.get("/docs?utm_source=%ff").await.status, 200);
}

#[tokio::test]
async fn what_programs_add_to_a_link_is_left_alone() {
    let server = TestServer::start().await;
    for mark in ["utm_source=mail", "fbclid=%ff"] {
        let token = server.link_token("ada@example.org", None).await;
        let signed_in = server.get(&format!("/v1/auth/verify?token={token}&{mark}")).await;
        assert_eq!((signed_in.status, signed_in.header("location")), (303, "/"), "{mark}");
        let no_link = server.get(&format!("/v1/auth/verify?token=abc&{mark}")).await;
        no_link.error_of_its_own(ErrorCode::Unauthorized);
        let no_provider = server.get(&format!("/v1/auth/idp?{mark}")).await;
        no_provider.error(ErrorCode::NotImplemented);
    }
    // What the routes know is held to its rules.
    for query in
        ["verify?utm_source=mail", "verify?token=a&token=b", "idp?redirect_to=/&redirect_to=/"]
    {
        server.get(&format!("/v1/auth/{query}")).await.error(ErrorCode::InvalidRequest);
    }
}

#[tokio::test]
async fn a_segment_that_is_no_text_answers_as_an_unknown_one() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    for (path, code) in [
        ("/v1/apps/%ff".to_owned(), ErrorCode::AppNotFound),
        ("/v1/apps/%ff/collections/entries".to_owned(), ErrorCode::AppNotFound),
        (app.path("/collections/%ff"), ErrorCode::CollectionNotFound),
        (app.path("/collections/%C3%28/count"), ErrorCode::CollectionNotFound),
        (app.path("/collections/entries/%ff"), ErrorCode::RowNotFound),
        (app.path("/collections/entries/%00"), ErrorCode::RowNotFound),
        ("/v1/orgs/%ff".to_owned(), ErrorCode::NotFound),
        ("/static/%ff".to_owned(), ErrorCode::NotFound),
    ] {
        server.get_as(&owner, &path).await.error(code);
    }
    let page = format!("/apps/{}/data/%ff", app.id);
    let request = server.request(Method::GET, &page).header("accept", "text/html");
    let request = request.header("cookie", format!("service_session={}", owner.session));
    let page = Answer::of(request).await;
    assert_eq!((page.status, page.header("content-type")), (404, "text/html; charset=utf-8"));
    let rows = app.path("/collections/entries/%ff");
    let patch = server.send(Method::PATCH, &owner, &rows, &json!({"data": {}})).await;
    patch.error(ErrorCode::RowNotFound);
    let delete = Answer::of(server.call(Method::DELETE, &rows, &owner)).await;
    delete.error(ErrorCode::RowNotFound);
}

#[tokio::test]
async fn a_request_names_exactly_one_host() {
    let server = TestServer::start().await;
    for (head, status) in [
        ("GET /alive HTTP/1.1\r\n", "400"),
        ("GET /alive HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n", "400"),
        ("GET /alive HTTP/1.1\r\nhost: localhost\r\nHost: evil.example\r\n", "400"),
        ("GET /alive HTTP/1.1\r\nhost: localhost\r\n", "200"),
        ("GET /alive HTTP/1.0\r\n", "200"),
        ("GET /alive HTTP/1.1\r\nhost:\r\n", "400"),
        ("GET /alive HTTP/1.1\r\nhost: a b/c\r\n", "400"),
        ("GET /alive HTTP/1.1\r\nhost: ann@localhost\r\n", "400"),
        ("GET /alive HTTP/1.1\r\nhost: localhost:http\r\n", "400"),
        ("GET /alive HTTP/1.1\r\nhost: [::1]:8080\r\n", "200"),
        ("GET http://ann@localhost/alive HTTP/1.1\r\nhost: localhost\r\n", "400"),
        ("GET http://localhost/alive HTTP/1.1\r\nhost: a b/c\r\n", "400"),
        ("GET http://localhost:80/alive HTTP/1.1\r\nhost: localhost\r\n", "200"),
    ] {
        let mut connection = server.raw().await;
        connection.send(&format!("{head}connection: close\r\n\r\n")).await;
        let answer = connection.read_to_end().await;
        let first = answer.lines().next().expect("a status line");
        assert_eq!(first.split(' ').nth(1), Some(status), "{head:?}: {answer}");
        assert_eq!(answer.contains("invalid_request"), status == "400", "{answer}");
    }
}

#[tokio::test]
async fn the_host_of_the_target_wins_over_the_header() {
    let server = TestServer::start().await;
    // The site has documents, an app's origin has none.
    for (target, host, status) in
        [("localhost", "notes.localhost", "200"), ("notes.localhost", "localhost", "404")]
    {
        let mut connection = server.raw().await;
        let head = format!("GET http://{target}/docs HTTP/1.1\r\nhost: {host}\r\n");
        connection.send(&format!("{head}connection: close\r\n\r\n")).await;
        let answer = connection.read_to_end().await;
        assert_eq!(answer.split(' ').nth(1), Some(status), "{head}: {answer}");
    }
}

#[tokio::test]
async fn whoever_sends_a_long_body_hears_why_it_is_refused() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server
        .deploy(&owner, json!({"manifest": {"collections": {"entries": open_collection()}}}))
        .await;
    let long = " ".repeat(24 << 20);
    // All of it is sent before anything is read, as simple clients do.
    for (path, bearer, said) in [
        (app.path("/collections/entries"), owner.key.as_str(), "payload_too_large"),
        (app.path("/collections/entries"), "rk_agent_wrong", "unauthorized"),
        ("/v1/nothing".to_owned(), owner.key.as_str(), "not_found"),
    ] {
        let mut connection = server.raw().await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             authorization: Bearer {bearer}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
            long.len()
        );
        connection.send(&head).await;
        connection.send(&long).await;
        let answer = connection.read_to_end().await;
        assert!(answer.contains(said), "{said}: {answer}");
    }
}
