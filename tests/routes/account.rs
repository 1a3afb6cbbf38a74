//! A human's own account: profile, consent, signup source, sessions, and the account's end.

use futures::future::join_all;
use reqwest::Method;
use rookery_actors::WorkerKind;
use rookery_domain::{ErrorCode, time::DAY_S};
use serde_json::{Value, json};

use crate::harness::{Agent, Answer, Human, START, TestServer, apps::HTML, encoded};

async fn ask(server: &TestServer, human: &Human, method: Method, path: &str) -> Answer {
    Answer::of(server.by(human, method, path)).await
}

async fn tell(
    server: &TestServer,
    human: &Human,
    method: Method,
    path: &str,
    body: Value,
) -> Answer {
    Answer::of(server.by(human, method, path).json(&body)).await
}

async fn deploy(server: &TestServer, agent: &Agent, slug: &str) -> Value {
    let body = json!({"html": HTML, "slug": slug, "visibility": "public"});
    server.post("/v1/apps", &agent.key, &body.to_string()).await.expect(201)
}

#[tokio::test]
async fn a_name_is_stored_resolved_and_cleared() {
    let server = TestServer::start().await;
    let ada = server.human("ada.l@example.org").await;
    let path = "/v1/self/profile";
    let profile = ask(&server, &ada, Method::GET, path).await.expect(200);
    assert_eq!(profile["email"], "ada.l@example.org");
    assert_eq!(profile["email_verified"], true);
    assert_eq!((&profile["name"], &profile["display_name"]), (&Value::Null, &json!("ada.l")));
    assert_eq!(profile["marketing_consent"], false);

    let named = tell(&server, &ada, Method::PATCH, path, json!({"name": "  Ada Lovelace "})).await;
    let named = named.expect(200);
    assert_eq!(
        (&named["name"], &named["display_name"]),
        (&json!("Ada Lovelace"), &json!("Ada Lovelace"))
    );
    let same = tell(&server, &ada, Method::PATCH, path, json!({})).await.expect(200);
    assert_eq!(same, named);
    for clear in [json!({"name": null}), json!({"name": ""}), json!({"name": "  "})] {
        tell(&server, &ada, Method::PATCH, path, json!({"name": "x"})).await.expect(200);
        let cleared = tell(&server, &ada, Method::PATCH, path, clear).await.expect(200);
        assert_eq!((&cleared["name"], &cleared["display_name"]), (&Value::Null, &json!("ada.l")));
    }
    for bad in [
        json!({"name": "x".repeat(101)}),
        json!({"name": "a\nb"}),
        json!({"nam": "x"}),
        json!({"name": 1}),
    ] {
        tell(&server, &ada, Method::PATCH, path, bad).await.error(ErrorCode::InvalidRequest);
    }
    server.get(path).await.error_of_its_own(ErrorCode::Unauthorized);
    let foreign = server.request(Method::PATCH, path).header("cookie", &ada.cookie);
    let foreign = foreign.header("origin", "https://evil.example").json(&json!({"name": "x"}));
    Answer::of(foreign).await.error(ErrorCode::CsrfOriginMismatch);
    let server = server.restart().await;
    let after = ask(&server, &ada, Method::GET, path).await.expect(200);
    assert_eq!(after["display_name"], "ada.l");
}

#[tokio::test]
async fn a_name_that_nobody_sees_is_no_name_of_anything() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    for (method, path) in [
        (Method::PATCH, "/v1/self/profile"),
        (Method::POST, "/v1/orgs"),
        (Method::POST, "/v1/register"),
        (Method::POST, "/v1/device/code"),
    ] {
        for name in ["\u{200b}", "\u{3164} \u{2800}", "\u{ad}", "a\u{61c}b"] {
            let body = json!({"name": name});
            let error = tell(&server, &ada, method.clone(), path, body).await;
            let error = error.error(ErrorCode::InvalidRequest);
            assert!(
                error["message"].as_str().unwrap().starts_with("`name` must"),
                "{path} {error}"
            );
        }
    }
}

#[tokio::test]
async fn consent_is_given_and_taken_back() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let path = "/v1/self/marketing-consent";
    for given in [true, true, false] {
        let body = json!({"marketing_consent": given});
        let profile = tell(&server, &ada, Method::PUT, path, body).await.expect(200);
        assert_eq!(profile["marketing_consent"], given);
        let read = ask(&server, &ada, Method::GET, "/v1/self/profile").await.expect(200);
        assert_eq!(read, profile);
    }
    for bad in [json!({}), json!({"marketing_consent": "yes"}), json!({"marketing_consent": null})]
    {
        tell(&server, &ada, Method::PUT, path, bad).await.error(ErrorCode::InvalidRequest);
    }
}

#[tokio::test]
async fn the_signup_source_is_answered_once() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let path = "/v1/self/signup-source";
    for bad in [json!({}), json!({"source": ""}), json!({"source": "x".repeat(101)})] {
        tell(&server, &ada, Method::POST, path, bad).await.error(ErrorCode::InvalidRequest);
    }
    let say = |text: &str| tell(&server, &ada, Method::POST, path, json!({"source": text}));
    let answers = join_all((0..64).map(|_| say("a friend"))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    for late in answers.iter().filter(|answer| answer.status != 201) {
        late.error(ErrorCode::Conflict);
    }
    // Whoever did not hear the first answer asks again and gets it.
    let other = server.human("bob@example.org").await;
    let again = async || {
        let request = server.by(&other, Method::POST, path).header("idempotency-key", "once");
        Answer::of(request.json(&json!({"source": "a book"}))).await
    };
    let first = again().await;
    assert!(!first.headers.contains_key("idempotent-replayed"));
    let replayed = again().await;
    assert_eq!(replayed.header("idempotent-replayed"), "true");
    assert_eq!(first.expect(201), replayed.expect(201));
}

#[tokio::test]
async fn sessions_are_listed_and_ended_one_by_one() {
    let server = TestServer::start().await;
    let email = "ada@example.org";
    let phone = server.human(email).await;
    let clock = &server.state().clock;
    clock.set(clock.now().plus_seconds(60));
    let laptop = server.human(email).await;
    let stranger = server.human("eve@example.org").await;
    let path = "/v1/self/sessions";
    let list = ask(&server, &laptop, Method::GET, path).await;
    assert!(!list.text.contains("rk_sess_"));
    let list = list.expect(200);
    let items = list["items"].as_array().unwrap();
    assert_eq!(items.len(), 2);
    assert_eq!((&items[0]["current"], &items[1]["current"]), (&json!(true), &json!(false)));
    assert_eq!(items[1]["created_at"], "2026-01-31T12:00:00.000Z");
    let page = ask(&server, &laptop, Method::GET, &format!("{path}?limit=1")).await.expect(200);
    let next = page["next_cursor"].as_str().unwrap();
    let query = format!("{path}?limit=1&cursor={}", encoded(next));
    let second = ask(&server, &laptop, Method::GET, &query).await.expect(200);
    assert_eq!((&second["items"][0], &second["next_cursor"]), (&items[1], &Value::Null));
    ask(&server, &stranger, Method::GET, &query).await.error(ErrorCode::InvalidRequest);

    let of_phone = format!("{path}/{}", items[1]["id"].as_str().unwrap());
    ask(&server, &stranger, Method::DELETE, &of_phone).await.error(ErrorCode::NotFound);
    ask(&server, &phone, Method::GET, path).await.expect(200);
    let ended = ask(&server, &laptop, Method::DELETE, &of_phone).await;
    assert_eq!(ended.status, 204);
    assert!(!ended.headers.contains_key("set-cookie"));
    ask(&server, &phone, Method::GET, path).await.error_of_its_own(ErrorCode::Unauthorized);
    ask(&server, &laptop, Method::DELETE, &of_phone).await.error(ErrorCode::NotFound);

    let own = format!("{path}/{}", items[0]["id"].as_str().unwrap());
    let out = ask(&server, &laptop, Method::DELETE, &own).await;
    assert_eq!(out.status, 204);
    assert!(out.header("set-cookie").contains("Max-Age=0"));
    ask(&server, &laptop, Method::GET, path).await.error_of_its_own(ErrorCode::Unauthorized);
}

#[tokio::test]
async fn signing_out_everywhere_ends_every_session_at_once_and_for_good() {
    let server = TestServer::start().await;
    let email = "ada@example.org";
    let (first, second) = (server.human(email).await, server.human(email).await);
    let other = server.human("bob@example.org").await;
    let agent = server.agent(&first).await;
    let path = "/v1/self/sessions";
    let foreign = server.request(Method::DELETE, path).header("cookie", &first.cookie);
    Answer::of(foreign.header("origin", "null")).await.error(ErrorCode::CsrfOriginMismatch);
    let out = ask(&server, &first, Method::DELETE, path).await;
    assert_eq!(out.status, 204);
    assert!(out.header("set-cookie").contains("Max-Age=0"));
    for ended in [&first, &second] {
        ask(&server, ended, Method::GET, path).await.error_of_its_own(ErrorCode::Unauthorized);
    }
    ask(&server, &other, Method::GET, path).await.expect(200);
    // Keys are the agents': they go on.
    server.get_as(&agent.key, "/v1/keys").await.expect(200);
    let server = server.restart().await;
    ask(&server, &second, Method::GET, path).await.error_of_its_own(ErrorCode::Unauthorized);
    ask(&server, &other, Method::GET, path).await.expect(200);
}

#[tokio::test]
async fn a_deleted_account_is_gone_at_once_and_its_apps_after_their_time() {
    let server = TestServer::start().await;
    let email = "ada@example.org";
    let (ada, elsewhere) = (server.human(email).await, server.human(email).await);
    let agent = server.agent(&ada).await;
    let app = deploy(&server, &agent, "ada-app").await;
    let trashed = deploy(&server, &agent, "ada-trash").await;
    let delete = server.by_agent(
        &agent,
        Method::DELETE,
        &format!("/v1/apps/{}", trashed["id"].as_str().unwrap()),
    );
    assert!(Answer::of(delete).await.status < 300);
    let code = server.claim_code(&ada).await;
    let link = server.link_token(email, None).await;

    for bad in [
        json!({}),
        json!({"confirm_email": ""}),
        json!({"confirm_email": "bob@example.org"}),
        json!({"confirm_email": "not an address"}),
    ] {
        tell(&server, &ada, Method::DELETE, "/v1/self", bad).await.error(ErrorCode::InvalidRequest);
    }
    server.get_as(&agent.key, "/v1/keys").await.expect(200);
    let body = json!({"confirm_email": "Ada@Example.org"});
    let gone = tell(&server, &ada, Method::DELETE, "/v1/self", body).await;
    assert_eq!(gone.status, 204, "{}", gone.text);
    assert!(gone.header("set-cookie").contains("Max-Age=0"));

    for session in [&ada, &elsewhere] {
        ask(&server, session, Method::GET, "/v1/self/profile")
            .await
            .error_of_its_own(ErrorCode::Unauthorized);
    }
    server.get_as(&agent.key, "/v1/keys").await.error(ErrorCode::Unauthorized);
    let robot = server.unclaimed_agent().await;
    server.claim(&robot, &code).await.error(ErrorCode::NotFound);
    let late = server.get(&format!("/v1/auth/verify?token={link}")).await;
    late.error_of_its_own(ErrorCode::Unauthorized);
    let page = server.request(Method::GET, "/").header("host", host(&server, "ada-app"));
    assert_eq!(Answer::of(page).await.status, 410);

    // Whoever signs in with the address again is somebody else.
    let again = server.human(email).await;
    let apps = ask(&server, &again, Method::GET, "/v1/self/apps").await.expect(200);
    assert_eq!(apps["items"], json!([]));
    let profile = ask(&server, &again, Method::GET, "/v1/self/profile").await.expect(200);
    assert_eq!(profile["name"], Value::Null);

    let server = server.restart().await;
    server.get_as(&agent.key, "/v1/keys").await.error(ErrorCode::Unauthorized);
    let slug_is_free = async |server: &TestServer| {
        let newcomer = server.human("newcomer@example.org").await;
        let agent = server.agent(&newcomer).await;
        let body = json!({"html": HTML, "slug": app["slug"]});
        server.post("/v1/apps", &agent.key, &body.to_string()).await.status == 201
    };
    assert!(!slug_is_free(&server).await);
    server.state().clock.set(START.plus_seconds(31 * DAY_S));
    server.round(WorkerKind::Sweeper).await;
    // The app is gone, and its slug is the closed account's for ever.
    assert!(!slug_is_free(&server).await);
    let slug = app["slug"].as_str().expect("a slug");
    assert!(server.state().rooms.apps().find(slug).await.is_err());
}

fn host(server: &TestServer, slug: &str) -> String {
    let (_, port) = server.public_url().rsplit_once(':').expect("a port");
    format!("{slug}.localhost:{port}")
}
