//! Every operation that takes a session, a body or a page, and what a hostile client sends it. The
//! operations come from the document, so a new one is looked at as soon as it is there.

use std::collections::BTreeSet;

use reqwest::{Method, RequestBuilder};
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{Agent, Answer, Human, TestServer};

/// One operation of the document.
struct Operation {
    method: Method,
    path: String,
    schemes: BTreeSet<String>,
    /// Whether it takes JSON.
    body: bool,
    /// The names of its query parameters.
    query: BTreeSet<String>,
}

/// The operations of the site.
fn operations(document: &Value) -> Vec<Operation> {
    let mut found = Vec::new();
    let paths = document["paths"].as_object().expect("paths").iter();
    for (path, item) in paths.filter(|(path, _)| path.starts_with("/v1/")) {
        let members = item.as_object().expect("operations").iter();
        for (verb, operation) in members.filter(|(name, _)| *name != "servers") {
            let security = operation["security"].as_array().expect("every operation says who");
            let names = security.iter().flat_map(|it| it.as_object().expect("a scheme").keys());
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let query = parameters.filter(|parameter| parameter["in"] == "query");
            found.push(Operation {
                method: verb.to_uppercase().parse().expect("a verb"),
                path: path.clone(),
                schemes: names.cloned().collect(),
                body: operation.pointer("/requestBody/content/application~1json").is_some(),
                query: query.map(|it| it["name"].as_str().expect("a name").to_owned()).collect(),
            });
        }
    }
    found
}

/// A server, and somebody who may use every operation that is not about an app.
struct World {
    server: TestServer,
    human: Human,
    agent: Agent,
    operations: Vec<Operation>,
}

impl World {
    async fn start() -> Self {
        let server = TestServer::start().await;
        let human = server.human("ada@example.org").await;
        let agent = server.agent(&human).await;
        let document = server.get("/v1/openapi.json").await.expect(200);
        Self { human, agent, operations: operations(&document), server }
    }

    /// A request to an operation by who may send it; `None` for one that is about something that
    /// is not there.
    fn request(&self, operation: &Operation) -> Option<RequestBuilder> {
        let path = operation.path.replace("/v1/self/agents/{id}", &self.own_agent());
        if path.contains('{') {
            return None;
        }
        let method = operation.method.clone();
        Some(if operation.schemes.contains("human_session") {
            self.server.by(&self.human, method, &path)
        } else if operation.schemes.contains("agent_key") {
            self.server.by_agent(&self.agent, method, &path)
        } else {
            self.server.request(method, &path)
        })
    }

    fn own_agent(&self) -> String {
        format!("/v1/self/agents/{}", self.agent.id)
    }

    /// What the human has: nothing of it may change by what is refused.
    async fn possessions(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for path in ["agents", "apps", "profile", "transfers", "sessions"] {
            let path = format!("/v1/self/{path}");
            let answer = Answer::of(self.server.by(&self.human, Method::GET, &path)).await;
            let mut body = answer.expect(200);
            // When a key or a session was used last is nobody's doing here.
            for item in body["items"].as_array_mut().into_iter().flatten() {
                let item = item.as_object_mut().expect("a record");
                item.retain(|name, _| !name.starts_with("last_"));
            }
            all.push(body);
        }
        all
    }
}

#[tokio::test]
async fn whatever_a_session_can_change_is_refused_from_another_site() {
    let world = World::start().await;
    let server = &world.server;
    let before = world.possessions().await;
    let site = server.public_url().to_owned();
    let mut seen = 0;
    for operation in &world.operations {
        if !operation.schemes.contains("human_session") || operation.method == Method::GET {
            continue;
        }
        seen += 1;
        let path = operation.path.replace("/v1/self/agents/{id}", &world.own_agent());
        let path = path.replace(['{', '}'], "x");
        let send = || {
            let request = server.request(operation.method.clone(), &path);
            request.header("cookie", &world.human.cookie).json(&json!({}))
        };
        let sibling = site.replace("localhost", "an-app.localhost");
        for origin in ["null", "https://evil.example", &sibling, &format!("{site}.evil.example")] {
            let request = send().header("origin", origin).header("sec-fetch-site", "same-site");
            // A header that a page can choose makes no difference.
            let request = request.header("x-requested-with", "XMLHttpRequest");
            Answer::of(request).await.error(ErrorCode::CsrfOriginMismatch);
        }
        let elsewhere = send().header("referer", format!("https://evil.example/?{site}/"));
        Answer::of(elsewhere).await.error(ErrorCode::CsrfOriginMismatch);
        Answer::of(send()).await.error(ErrorCode::CsrfOriginMismatch);
    }
    assert!(seen >= 30, "{seen}");
    assert_eq!(world.possessions().await, before);
}

#[tokio::test]
async fn no_body_that_a_client_can_think_of_does_more_than_be_refused() {
    let world = World::start().await;
    let before = world.possessions().await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let mut bodies: Vec<Vec<u8>> = [
        "[]",
        "null",
        "7",
        "\"x\"",
        "true",
        "{",
        "{}{}",
        r#"{"no_such_member": 1}"#,
        r#"{"email": {}, "code": [], "name": 7, "confirm_email": 1, "source": [1]}"#,
        r#"{"__proto__": {"x": 1}}"#,
        r#"{"name": "a", "name": "b"}"#,
        r#"{"name": "\u0000"}"#,
        r#"{"name": "\ud800"}"#,
        r#"{"name": 1e400}"#,
        &deep,
    ]
    .map(|text| text.as_bytes().to_vec())
    .into();
    bodies.push(b"{\"name\": \"\xff\xfe\"}".to_vec());
    bodies.push(b"\xef\xbb\xbf{}".to_vec());
    let mut seen = 0;
    for operation in world.operations.iter().filter(|operation| operation.body) {
        // Bodies of deploys are bounded otherwise and looked at in `routes/apps`.
        if operation.path == "/v1/apps" || world.request(operation).is_none() {
            continue;
        }
        seen += 1;
        let send = |kind: &'static str, body: Vec<u8>| {
            let request = world.request(operation).expect("a request");
            Answer::of(request.header("content-type", kind).body(body))
        };
        for body in &bodies {
            let answer = send("application/json", body.clone()).await;
            let said = format!("{} {}", operation.path, String::from_utf8_lossy(body));
            assert_eq!(answer.status, 400, "{said}: {}", answer.text);
            answer.error(ErrorCode::InvalidRequest);
        }
        let typo = send("application/json", br#"{"no_such_member": 1}"#.to_vec()).await;
        let error = typo.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().unwrap().contains("no_such_member"), "{error}");
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
            let answer = send(kind, br#"{"name": "x"}"#.to_vec()).await;
            answer.error(ErrorCode::InvalidRequest);
        }
        let big = format!(r#"{{"name": "{}"}}"#, "x".repeat(80 << 10));
        let answer = send("application/json", big.into_bytes()).await;
        answer.error(ErrorCode::PayloadTooLarge);
    }
    assert!(seen >= 12, "{seen}");
    assert_eq!(world.possessions().await, before);
}

#[tokio::test]
async fn a_query_that_makes_no_sense_is_refused_by_the_name_of_the_parameter() {
    let world = World::start().await;
    let mut seen = 0;
    for operation in world.operations.iter().filter(|operation| operation.method == Method::GET) {
        if !operation.query.contains("limit") {
            continue;
        }
        let Some(_) = world.request(operation) else { continue };
        seen += 1;
        let ask = |query: &str| {
            let asked = Operation {
                method: Method::GET,
                path: format!("{}?{query}", operation.path),
                schemes: operation.schemes.clone(),
                body: false,
                query: BTreeSet::new(),
            };
            Answer::of(world.request(&asked).expect("a request"))
        };
        for (query, named) in [
            ("limit=0", "limit"),
            ("limit=201", "limit"),
            ("limit=-1", "limit"),
            ("limit=1.5", "limit"),
            ("limit=", "limit"),
            ("limit=99999999999999999999", "limit"),
            ("limit=1&limit=2", "limit"),
            ("no_such=1", "no_such"),
            ("cursor=x", "cursor"),
            ("cursor=", "cursor"),
        ] {
            if named == "cursor" && !operation.query.contains("cursor") {
                continue;
            }
            let error = ask(query).await.error(ErrorCode::InvalidRequest);
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(named), "{}?{query}: {message}", operation.path);
        }
        assert_eq!(ask("limit=200").await.status, 200, "{}", operation.path);
    }
    assert!(seen >= 5, "{seen}");
}

#[tokio::test]
async fn a_cookie_of_another_kind_opens_nothing() {
    let world = World::start().await;
    let server = &world.server;
    let secret = world.human.cookie.split_once('=').unwrap().1;
    let path = "/v1/self/profile";
    let ask =
        |cookie: String| Answer::of(server.request(Method::GET, path).header("cookie", cookie));
    for cookie in [
        // The right secret under another name, another secret under the right one.
        format!("__Host-service_session={secret}"),
        format!("service_participant={secret}"),
        format!("Service_Session={secret}"),
        format!("service_session={}", world.agent.key),
        "service_session=".to_owned(),
        "service_session".to_owned(),
        format!("service_session=\"{secret}"),
        format!("service_session={secret}x"),
        format!("service_session={}", secret.to_uppercase()),
        format!("service_session={}", "x".repeat(4_000)),
        format!("service_session=rk_sess_{}", "0".repeat(49)),
    ] {
        ask(cookie.clone()).await.error_of_its_own(ErrorCode::Unauthorized);
    }
    // Of two of one name the first counts, and nothing falls through to the other.
    let forged_first = format!("service_session=forged; service_session={secret}");
    ask(forged_first).await.error_of_its_own(ErrorCode::Unauthorized);
    let bearer = server.request(Method::GET, path).bearer_auth(secret);
    Answer::of(bearer).await.error_of_its_own(ErrorCode::Unauthorized);
    ask(format!("a=b; service_session={secret}; c=d")).await.expect(200);
}
