//! Who may share: each route of sharing, asked by everybody there is, with the first error in the
//! order of precedence.

use reqwest::{Method, RequestBuilder};
use rookery_domain::{
    ErrorCode,
    id::{CredentialId, GrantId, HumanId, PreviewId},
};
use serde_json::{Value, json};

use super::world::{World, text};
use crate::harness::Answer;

/// Every route of sharing, with a body where it takes one. The ids are of nothing.
fn routes() -> Vec<(Method, String, Option<Value>)> {
    let (human, grant) = (HumanId::new(), GrantId::new());
    let (preview, credential) = (PreviewId::new(), CredentialId::new());
    let get = |below: &str| (Method::GET, below.to_owned(), None);
    let delete = |below: String| (Method::DELETE, below, None);
    let post = |below: String, body: Value| (Method::POST, below, Some(body));
    vec![
        get("/members"),
        post("/members".into(), json!({"email": "new@example.com"})),
        (Method::PATCH, format!("/members/{human}"), Some(json!({"custom_role": null}))),
        delete(format!("/members/{human}")),
        get("/grants"),
        post("/grants".into(), json!({"role": "editor"})),
        delete(format!("/grants/{grant}")),
        post("/preview-tokens".into(), json!({})),
        delete(format!("/preview-tokens/{preview}")),
        get("/credentials"),
        post("/credentials".into(), json!({"collections": ["safe"], "operations": ["read"]})),
        delete(format!("/credentials/{credential}")),
        post(format!("/credentials/{credential}/pause"), json!({})),
        post(format!("/credentials/{credential}/resume"), json!({})),
        post(format!("/credentials/{credential}/rotate"), json!({})),
        post("/share-link/rotate".into(), json!({})),
        post("/test-session-tokens".into(), json!({})),
        get("/roles"),
    ]
}

async fn answer(request: RequestBuilder, body: Option<&Value>) -> Answer {
    Answer::of(match body {
        Some(body) => request.json(body),
        None => request,
    })
    .await
}

#[tokio::test]
async fn everybody_but_the_owner_is_refused_in_the_order_of_precedence() {
    let world = World::start().await;
    let site = world.site("private").await;
    let server = &world.server;
    let (member, _, visit) = site.member("member@example.com", Some("editor")).await;
    let members_agent = server.agent(&member).await;
    let stranger = server.human("stranger@example.com").await;
    let strangers_agent = server.agent(&stranger).await;
    let unclaimed = server.unclaimed_agent().await;
    let (_, credential) =
        site.credential(json!({"mode": "following", "operations": ["read"]})).await;
    for (method, below, body) in routes() {
        let path = site.path(&below);
        let plain = || server.request(method.clone(), &path);
        let bearer = |secret: &str| plain().bearer_auth(secret);
        let session = |human: &crate::harness::Human| server.by(human, method.clone(), &path);
        let asked = [
            (plain(), ErrorCode::Unauthorized),
            (bearer("rk_agent_nonsense"), ErrorCode::Unauthorized),
            (bearer(&visit), ErrorCode::Unauthorized),
            (session(&world.owner).bearer_auth("rk_agent_nonsense"), ErrorCode::Unauthorized),
            (bearer(&unclaimed.key), ErrorCode::AgentNotClaimed),
            (bearer(&credential), ErrorCode::Forbidden),
            (bearer(&strangers_agent.key), ErrorCode::AppNotFound),
            (bearer(&members_agent.key), ErrorCode::AppNotFound),
            (session(&stranger), ErrorCode::AppNotFound),
            (session(&member), ErrorCode::Forbidden),
        ];
        for (request, code) in asked {
            let answer = answer(request, body.as_ref()).await;
            assert_eq!(answer.status, code.status(), "{method} {below}: {}", answer.text);
            answer.error(code);
        }
        if method != Method::GET {
            let cookie = || plain().header("cookie", &world.owner.cookie);
            let sibling = format!("http://{}.localhost", site.app.slug);
            for request in [
                cookie(),
                cookie().header("origin", "https://evil.example"),
                cookie().header("origin", "null"),
                cookie().header("origin", sibling),
            ] {
                answer(request, body.as_ref()).await.error(ErrorCode::CsrfOriginMismatch);
            }
        }
        for request in [session(&world.owner), bearer(&world.agent.key)] {
            let answer = answer(request, body.as_ref()).await;
            let passed = answer.status < 300
                || ["not_found", "conflict"]
                    .iter()
                    .any(|code| answer.json()["error"]["code"] == *code);
            assert!(passed, "{method} {below}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn who_asks_comes_before_the_apps_state_and_that_before_the_body() {
    let world = World::start().await;
    let site = world.site("private").await;
    let stranger = world.server.human("stranger@example.com").await;
    let odd = json!({"odd": 1});
    site.delete("").await;
    for (method, below, body) in routes() {
        let path = site.path(&below);
        let session = world.server.by(&stranger, method.clone(), &path);
        answer(session, Some(&odd)).await.error(ErrorCode::AppNotFound);
        let wrong = body.is_some().then_some(&odd);
        let owner = site.request(method, &below);
        answer(owner, wrong).await.error(ErrorCode::SoftDeleted);
    }
    site.post("/restore", json!({})).await.expect(200);
    for (method, below, body) in routes() {
        if body.is_none() || below.contains("_") {
            continue;
        }
        let error = answer(site.request(method, &below), Some(&odd)).await;
        let error = error.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().expect("text").contains("odd"), "{below}: {error}");
    }
}

#[tokio::test]
async fn of_a_closed_app_the_owner_reads_who_is_in_and_changes_nothing() {
    use rookery_actors::app::message::{AppOp, Op};
    let world = World::start().await;
    let site = world.site("private").await;
    let handle = site.handle().await;
    let owner = rookery_domain::principal::Caller::Human {
        human: handle.record().owner,
        share: None,
        network: None,
    };
    handle.apply(owner, Op::App(AppOp::Close)).await.expect("closed");
    for (method, below, body) in routes() {
        let answer = answer(site.request(method.clone(), &below), body.as_ref()).await;
        if method == Method::GET {
            answer.expect(200);
        } else {
            answer.error(ErrorCode::AppClosed);
        }
    }
}

#[tokio::test]
async fn an_admin_of_the_organization_shares_as_the_owner_does() {
    let world = World::start().await;
    let site = world.site("private").await;
    let admin = world.server.human("admin@example.com").await;
    let org =
        world.server.by(&world.owner, Method::POST, "/v1/orgs").json(&json!({"name": "Crew"}));
    let org = text(&Answer::of(org).await.expect(201), "id");
    let path = format!("/v1/orgs/{org}/members");
    let body = json!({"email": admin.email, "role": "admin"});
    let added = world.server.by(&world.owner, Method::POST, &path).json(&body);
    let admin_id = text(&Answer::of(added).await.expect(201), "human_id");
    site.patch("", json!({"org_id": org})).await.expect(200);
    for (method, below, body) in routes() {
        let request = world.server.by(&admin, method.clone(), &site.path(&below));
        let answer = answer(request, body.as_ref()).await;
        let passed = answer.status < 300
            || ["not_found", "conflict"].iter().any(|code| answer.json()["error"]["code"] == *code);
        assert!(passed, "{method} {below}: {}", answer.text);
    }
    let gone = world.server.by(&world.owner, Method::DELETE, &format!("{path}/{admin_id}"));
    assert_eq!(Answer::of(gone).await.status, 204);
    for (method, below, body) in routes() {
        let request = world.server.by(&admin, method, &site.path(&below));
        answer(request, body.as_ref()).await.error(ErrorCode::AppNotFound);
    }
}
