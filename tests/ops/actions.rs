//! What operators do to apps: off unless switched on, with a reason, written down.

use reqwest::Method;
use rookery_domain::ErrorCode;
use rookery_testkit::until;
use serde_json::{Value, json};

use crate::harness::{Answer, TestServer, apps::guestbook};

async fn act(server: &TestServer, app: &str, action: &str, body: &Value) -> Answer {
    let path = format!("/ops/api/apps/{app}/actions/{action}");
    Answer::of(server.ops(Method::POST, &path).json(body)).await
}

async fn with_actions() -> TestServer {
    TestServer::builder().set("ROOKERY__OPS__ACTIONS", "true").start().await
}

#[tokio::test]
async fn actions_are_refused_unless_they_are_switched_on() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    let refused = act(&server, &app.id, "wake", &json!({"reason": "to see"})).await;
    let error = refused.error(ErrorCode::Forbidden);
    assert!(error["message"].as_str().unwrap().contains("ops.actions"));
    let list = Answer::of(server.ops(Method::GET, "/ops/api/actions")).await.expect(200);
    assert_eq!(list, json!({"enabled": false, "items": []}));
}

#[tokio::test]
async fn an_action_needs_a_reason_and_an_app_and_is_written_down() {
    let server = with_actions().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"slug": "acted-on", "manifest": guestbook()})).await;
    let why = json!({"reason": "a drill"});
    for wrong in [json!({}), json!({"reason": " "}), json!({"reason": "x".repeat(501)})] {
        act(&server, &app.id, "wake", &wrong).await.error(ErrorCode::InvalidRequest);
    }
    act(&server, &app.id, "explode", &why).await.error(ErrorCode::NotFound);
    act(&server, "no-such-app", "wake", &why).await.error_of_its_own(ErrorCode::AppNotFound);

    let state = async |action: &str| {
        act(&server, "acted-on", action, &why).await.expect(200)["state"].clone()
    };
    assert_eq!(state("wake").await, "live");
    assert_eq!(state("restart").await, "live");
    assert_eq!(state("hibernate").await, "dormant");
    assert_eq!(state("wake").await, "live");
    assert_eq!(state("kill").await, "dormant");
    act(&server, &app.id, "lift-quarantine", &why).await.error(ErrorCode::Conflict);

    let list = Answer::of(server.ops(Method::GET, "/ops/api/actions")).await.expect(200);
    let done: Vec<_> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["action"].as_str().unwrap(), item["outcome"].as_str().unwrap()))
        .collect();
    assert_eq!(done[0], ("lift-quarantine", "conflict"));
    assert_eq!(done[1], ("kill", "done"));
    assert_eq!(done.len(), 6);
    assert_eq!(list["items"][0]["reason"], "a drill");
    assert_eq!(list["items"][0]["app"], app.id);

    // So is what `rookery app close` asks for.
    Answer::of(server.close_app("acted-on")).await.expect(200);
    let list = Answer::of(server.ops(Method::GET, "/ops/api/actions")).await.expect(200);
    let last = &list["items"][0];
    assert_eq!((&last["action"], &last["outcome"]), (&json!("close"), &json!("done")));
    assert_eq!(last["app"], app.id);
    let seen = Answer::of(server.ops(Method::GET, "/ops/api/apps/acted-on")).await.expect(200);
    assert_eq!(seen["status"], "closed");
}

#[tokio::test]
async fn a_foreign_page_can_do_nothing() {
    let server = with_actions().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    let path = format!("/ops/api/apps/{}/actions/wake", app.id);
    let own = format!("http://{}", server.ops_address());
    let attempts = [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ];
    for (name, value) in attempts {
        let asked = server.ops(Method::POST, &path).header(name, value);
        Answer::of(asked.json(&json!({"reason": "x"}))).await.error(ErrorCode::Forbidden);
    }
    let asked = server.ops(Method::POST, &path).header("origin", own);
    let asked = asked.header("sec-fetch-site", "same-origin");
    Answer::of(asked.json(&json!({"reason": "from the console"}))).await.expect(200);
}

#[tokio::test]
async fn a_quarantined_app_is_shown_with_its_cause_and_lifted() {
    let server = with_actions().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"slug": "crashes", "manifest": guestbook()})).await;
    let handle = server.state().rooms.apps().find(&app.id).await.unwrap();
    let first = handle.root().await.map(|_| handle.observe().incarnation).unwrap();
    assert!(handle.inject_panic());
    until("the next incarnation", || handle.observe().incarnation != first).await;
    let path = "/ops/api/restarts";
    let restarts = Answer::of(server.ops(Method::GET, path)).await.expect(200);
    assert_eq!(restarts["items"][0]["app"], app.id);
    assert_eq!(restarts["items"][0]["subject"], "crashes");
    assert_eq!(restarts["items"][0]["decision"], "restart");
    // Two more in a row and it has to wait.
    for _ in 0..2 {
        handle.root().await.unwrap();
        let before = handle.observe().crashes;
        assert!(handle.inject_panic());
        until("a crash", || handle.observe().crashes != before).await;
    }
    let restarts = Answer::of(server.ops(Method::GET, path)).await.expect(200);
    assert_eq!(restarts["items"][0]["decision"], "backoff");
    assert_eq!(restarts["held"][0]["state"], "restarting");
    let page = server.ops(Method::GET, "/ops/api/restarts?limit=1");
    let page = Answer::of(page).await.expect(200);
    assert_eq!(page["next"], page["items"][0]["number"]);
    let lifted = act(&server, &app.id, "lift-quarantine", &json!({"reason": "fixed"})).await;
    assert_eq!(lifted.expect(200)["state"], "dormant");
}

#[tokio::test]
async fn the_form_of_an_app_works_without_its_script() {
    let server = with_actions().await;
    let owner = server.owner("ann").await;
    server.deploy(&owner, json!({"slug": "acted-on", "manifest": guestbook()})).await;
    let path = "/ops/apps/acted-on";
    let page = Answer::of(server.ops(Method::GET, path)).await;
    assert!(page.text.contains(&format!("method=\"post\" action=\"{path}\"")), "{}", page.text);
    // A page without a referrer would post its form with `Origin: null`, which is refused.
    assert_eq!(page.header("referrer-policy"), "same-origin");
    let send = async |action: &str, reason: &str, origin: &str| {
        let asked = server.ops(Method::POST, path).header("origin", origin);
        Answer::of(asked.form(&[("action", action), ("reason", reason)])).await
    };
    let own = format!("http://{}", server.ops_address());
    let done = send("hibernate", "a drill", &own).await;
    assert_eq!((done.status, done.header("location")), (303, &*format!("{path}?done=hibernate")));
    let page = Answer::of(server.ops(Method::GET, done.header("location"))).await;
    assert!(page.text.contains("<output id=\"said\">done: hibernate</output>"), "{}", page.text);
    let list = Answer::of(server.ops(Method::GET, "/ops/api/actions")).await.expect(200);
    assert_eq!(list["items"][0]["reason"], "a drill");

    let refused = send("lift-quarantine", "too <early>", &own).await;
    assert_eq!(refused.status, 409);
    assert!(refused.text.contains("neither quarantined"), "{}", refused.text);
    assert!(refused.text.contains("value=\"too &#60;early&#62;\""), "{}", refused.text);
    let blank = send("wake", " ", &own).await;
    assert_eq!(blank.status, 400);
    assert!(blank.text.contains("aria-describedby=\"said\" aria-invalid=\"true\" autofocus"));
    send("wake", "x", "https://evil.example").await.error(ErrorCode::Forbidden);
    let odd = Answer::of(server.ops(Method::GET, &format!("{path}?done=%3Cb%3E"))).await;
    assert!(odd.text.contains("<output id=\"said\"></output>"), "{}", odd.text);
}
