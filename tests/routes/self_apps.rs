//! The apps that a human sees: owned, deleted, looked at lately, favorites.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{Agent, Answer, Human, TestServer, apps::HTML, encoded};

const LIST: &str = "/v1/self/apps";

async fn ask(server: &TestServer, human: &Human, method: Method, path: &str) -> Answer {
    Answer::of(server.by(human, method, path)).await
}

async fn deploy(server: &TestServer, agent: &Agent, slug: &str) -> String {
    let body = json!({"html": HTML, "slug": slug});
    let app = server.post("/v1/apps", &agent.key, &body.to_string()).await.expect(201);
    let clock = &server.state().clock;
    clock.set(clock.now().plus_seconds(1));
    app["id"].as_str().unwrap().to_owned()
}

fn slugs(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|app| app["slug"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_human_sees_its_apps_with_role_and_favorite_page_by_page() {
    let server = TestServer::start().await;
    let (ada, eve) = (server.human("ada@example.org").await, server.human("eve@example.org").await);
    let agent = server.agent(&ada).await;
    for slug in ["one", "two", "three"] {
        deploy(&server, &agent, &format!("app-{slug}")).await;
    }
    let mark = format!("{LIST}/app-two/favorite");
    for _ in 0..2 {
        assert_eq!(ask(&server, &ada, Method::PUT, &mark).await.status, 204);
    }
    let whole = ask(&server, &ada, Method::GET, LIST).await.expect(200);
    assert_eq!(slugs(&whole), ["app-three", "app-two", "app-one"]);
    let flags: Vec<_> = whole["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|app| (&app["role"], &app["favorite"]))
        .collect();
    let (owner, yes, no) = (json!("owner"), json!(true), json!(false));
    assert_eq!(flags, [(&owner, &no), (&owner, &yes), (&owner, &no)]);
    let first = ask(&server, &ada, Method::GET, &format!("{LIST}?limit=2")).await.expect(200);
    let next = encoded(first["next_cursor"].as_str().unwrap());
    let query = format!("{LIST}?limit=2&cursor={next}");
    let second = ask(&server, &ada, Method::GET, &query).await.expect(200);
    assert_eq!((slugs(&second), &second["next_cursor"]), (vec!["app-one"], &Value::Null));
    ask(&server, &eve, Method::GET, &query).await.error(ErrorCode::InvalidRequest);
    let of_trash = format!("{LIST}/deleted?cursor={next}");
    ask(&server, &ada, Method::GET, &of_trash).await.error(ErrorCode::InvalidRequest);
    assert_eq!(slugs(&ask(&server, &eve, Method::GET, LIST).await.expect(200)), [""; 0]);

    for _ in 0..2 {
        assert_eq!(ask(&server, &ada, Method::DELETE, &mark).await.status, 204);
    }
    let whole = ask(&server, &ada, Method::GET, LIST).await.expect(200);
    assert!(whole["items"].as_array().unwrap().iter().all(|app| app["favorite"] == false));
}

#[tokio::test]
async fn favorites_and_own_apps_are_asked_for_apart() {
    let server = TestServer::start().await;
    let (ada, eve) = (server.human("ada@example.org").await, server.human("eve@example.org").await);
    let (hers, others) = (server.agent(&ada).await, server.agent(&eve).await);
    for slug in ["own-marked", "own"] {
        deploy(&server, &hers, slug).await;
    }
    for slug in ["shared-marked", "shared", "shared-too"] {
        let id = deploy(&server, &others, slug).await;
        let member = json!({"email": ada.email}).to_string();
        let path = format!("/v1/apps/{id}/members");
        server.post(&path, &others.key, &member).await.expect(201);
    }
    for slug in ["own-marked", "shared-marked"] {
        ask(&server, &ada, Method::PUT, &format!("{LIST}/{slug}/favorite")).await;
    }
    for (part, expected) in [
        ("favorite=true", &["shared-marked", "own-marked"][..]),
        ("favorite=false", &["shared-too", "shared", "own"]),
        ("shared=false", &["own", "own-marked"]),
        ("shared=true", &["shared-too", "shared", "shared-marked"]),
        ("favorite=false&shared=true", &["shared-too", "shared"]),
        ("favorite=true&shared=false", &["own-marked"]),
    ] {
        let (mut found, mut next) = (Vec::new(), String::new());
        loop {
            let path = format!("{LIST}?{part}&limit=1{next}");
            let page = ask(&server, &ada, Method::GET, &path).await.expect(200);
            found.extend(slugs(&page).into_iter().map(str::to_owned));
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            next = format!("&cursor={}", encoded(cursor));
            // It leads on in its own part alone.
            let whole = format!("{LIST}?limit=1{next}");
            ask(&server, &ada, Method::GET, &whole).await.error(ErrorCode::InvalidRequest);
        }
        assert_eq!(found, expected, "{part}");
    }
    let org = server.by(&ada, Method::POST, "/v1/orgs").json(&json!({"name": "Guild"}));
    let org = Answer::of(org).await.expect(201);
    let of_org = format!("{LIST}?org_id={}", org["id"].as_str().expect("an id"));
    let taken = server.by_agent(&hers, Method::PATCH, "/v1/apps/own-marked");
    Answer::of(taken.json(&json!({"org_id": org["id"]}))).await.expect(200);
    for (part, count) in [("", 1), ("&favorite=true", 1), ("&favorite=false", 0)] {
        let found = ask(&server, &ada, Method::GET, &format!("{of_org}{part}")).await.expect(200);
        assert_eq!(slugs(&found).len(), count, "{part}");
    }
    let both = ask(&server, &ada, Method::GET, &format!("{of_org}&shared=true")).await;
    both.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn what_a_stranger_marks_or_opens_is_not_there() {
    let server = TestServer::start().await;
    let (ada, eve) = (server.human("ada@example.org").await, server.human("eve@example.org").await);
    let agent = server.agent(&ada).await;
    let id = deploy(&server, &agent, "secret-app").await;
    for (method, below) in
        [(Method::PUT, "favorite"), (Method::DELETE, "favorite"), (Method::POST, "view")]
    {
        let foreign = ask(&server, &eve, method.clone(), &format!("{LIST}/{id}/{below}")).await;
        let unknown = ask(&server, &eve, method.clone(), &format!("{LIST}/app_x/{below}")).await;
        let foreign = foreign.error(ErrorCode::AppNotFound);
        assert_eq!(foreign["message"], unknown.error(ErrorCode::AppNotFound)["message"]);
        let path = format!("{LIST}/{id}/{below}");
        let bearer = server.by_agent(&agent, method.clone(), &path);
        Answer::of(bearer).await.error(ErrorCode::Forbidden);
        let sibling = server.request(method, &path).header("cookie", &ada.cookie);
        let sibling = sibling.header("origin", "http://secret-app.localhost:1");
        Answer::of(sibling).await.error(ErrorCode::CsrfOriginMismatch);
    }
    let recent = format!("{LIST}/recent");
    assert_eq!(slugs(&ask(&server, &eve, Method::GET, &recent).await.expect(200)), [""; 0]);
}

#[tokio::test]
async fn the_last_opened_app_comes_first_and_a_deleted_one_not_at_all() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let agent = server.agent(&ada).await;
    let one = deploy(&server, &agent, "app-one").await;
    deploy(&server, &agent, "app-two").await;
    deploy(&server, &agent, "app-never").await;
    for slug in ["app-one", "app-two", "app-one"] {
        let clock = &server.state().clock;
        clock.set(clock.now().plus_seconds(1));
        let seen = ask(&server, &ada, Method::POST, &format!("{LIST}/{slug}/view")).await;
        assert_eq!(seen.status, 204);
    }
    let recent = format!("{LIST}/recent");
    let list = ask(&server, &ada, Method::GET, &recent).await.expect(200);
    assert_eq!(slugs(&list), ["app-one", "app-two"]);
    assert!(
        list["items"][0]["last_viewed_at"].as_str() > list["items"][1]["last_viewed_at"].as_str()
    );
    let one_only = ask(&server, &ada, Method::GET, &format!("{recent}?limit=1")).await.expect(200);
    assert_eq!(slugs(&one_only), ["app-one"]);
    let next = encoded(one_only["next_cursor"].as_str().unwrap());
    let rest = format!("{recent}?limit=1&cursor={next}");
    let rest = ask(&server, &ada, Method::GET, &rest).await.expect(200);
    assert_eq!((slugs(&rest), &rest["next_cursor"]), (vec!["app-two"], &Value::Null));

    let mark = format!("{LIST}/{one}/favorite");
    assert_eq!(ask(&server, &ada, Method::PUT, &mark).await.status, 204);
    let gone =
        Answer::of(server.by_agent(&agent, Method::DELETE, &format!("/v1/apps/{one}"))).await;
    assert!(gone.status < 300, "{}", gone.text);
    let list = ask(&server, &ada, Method::GET, &recent).await.expect(200);
    assert_eq!(slugs(&list), ["app-two"]);
    ask(&server, &ada, Method::POST, &format!("{LIST}/{one}/view"))
        .await
        .error(ErrorCode::SoftDeleted);
    ask(&server, &ada, Method::PUT, &mark).await.error(ErrorCode::SoftDeleted);
    assert_eq!(ask(&server, &ada, Method::DELETE, &mark).await.status, 204);
    let own = ask(&server, &ada, Method::GET, LIST).await.expect(200);
    assert_eq!(slugs(&own), ["app-never", "app-two"]);
    let trash = ask(&server, &ada, Method::GET, &format!("{LIST}/deleted")).await.expect(200);
    assert_eq!(slugs(&trash), ["app-one"]);
    let item = &trash["items"][0];
    assert_eq!(item["status"], "deleted");
    assert!(item["deleted_at"].as_str().unwrap() < item["purge_at"].as_str().unwrap());
}

#[tokio::test]
async fn an_admin_finds_the_apps_of_its_organization_once_each() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let org = server.org(&ada).await;
    let org_id = org.rsplit_once('/').unwrap().1;
    let mut paths = Vec::new();
    for slug in ["of-the-rooks", "joined-as-well"] {
        let body = json!({"html": HTML, "slug": slug, "org_id": org_id});
        let app = server.tell(&ada, Method::POST, "/v1/apps", body).await.expect(201);
        paths.push(format!("/v1/apps/{}", app["id"].as_str().unwrap()));
        let clock = &server.state().clock;
        clock.set(clock.now().plus_seconds(1));
    }
    deploy(&server, &ada.agent, "ada-alone").await;
    let member = json!({"email": bob.human.email});
    server.tell(&ada, Method::POST, &format!("{}/members", paths[1]), member).await.expect(201);
    let seen = async |query: &str| {
        let list = ask(&server, &bob.human, Method::GET, &format!("{LIST}{query}")).await;
        let list = list.expect(200);
        let of = |app: &Value| format!("{} {}", app["slug"], app["role"]).replace('"', "");
        let apps: Vec<_> = list["items"].as_array().unwrap().iter().map(of).collect();
        (apps, list["next_cursor"].as_str().map(encoded))
    };

    server.join(&org, &ada, &bob, "member").await;
    assert_eq!(seen("").await.0, ["joined-as-well member"]);
    server.set_role(&org, &ada, &bob, "admin").await.expect(200);
    assert_eq!(seen("").await.0, ["joined-as-well admin", "of-the-rooks admin"]);
    let (first, next) = seen("?limit=1").await;
    assert_eq!(first, ["joined-as-well admin"]);
    let (second, end) = seen(&format!("?limit=1&cursor={}", next.unwrap())).await;
    assert_eq!((second, end), (vec!["of-the-rooks admin".to_owned()], None));
    let favorite = format!("{LIST}/of-the-rooks/favorite");
    assert_eq!(ask(&server, &bob.human, Method::PUT, &favorite).await.status, 204);

    server.set_role(&org, &ada, &bob, "member").await.expect(200);
    assert_eq!(seen("").await.0, ["joined-as-well member"]);
}
