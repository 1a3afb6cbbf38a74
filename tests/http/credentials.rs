//! Permissions: each extractor lets through exactly whom it names.

use reqwest::{Method, RequestBuilder, header::HeaderValue};
use rookery_domain::{ErrorCode, app::AppStatus};
use serde_json::{Value, json};

use crate::harness::{Answer, TestServer};

async fn started() -> TestServer {
    TestServer::builder().with_probes().start().await
}

fn with_cookie(request: RequestBuilder, secret: &str) -> RequestBuilder {
    request.header("cookie", format!("other=1; service_session={secret}"))
}

#[tokio::test]
async fn an_agent_route_takes_agents_only() {
    let server = started().await;
    let human = server.directory.human("cookie");
    server.directory.agent("claimed", Some(human));
    server.directory.agent("new", None);
    let get = |path: &str| server.request(Method::GET, path);

    let answer = Answer::of(get("/v1/probe/agent").bearer_auth("new")).await;
    assert_eq!(answer.expect(200)["claimed"], false);
    let answer = Answer::of(get("/v1/probe/agent").bearer_auth("claimed")).await;
    assert_eq!(answer.expect(200)["claimed"], true);
    let session = Answer::of(with_cookie(get("/v1/probe/agent"), "cookie")).await;
    session.error(ErrorCode::Forbidden);
    server.post("/v1/probe/claimed", "new", "").await.error(ErrorCode::AgentNotClaimed);
    assert_eq!(server.post("/v1/probe/claimed", "claimed", "").await.status, 200);
}

#[tokio::test]
async fn a_revoked_key_is_unknown_on_the_very_next_request() {
    let server = started().await;
    server.directory.agent("key", None);
    let request = || server.request(Method::GET, "/v1/probe/agent").bearer_auth("key");
    assert_eq!(Answer::of(request()).await.status, 200);
    server.directory.revoke("key");
    let answer = Answer::of(request()).await;
    answer.error(ErrorCode::Unauthorized);
    assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"rookery\"");
}

#[tokio::test]
async fn a_cookie_in_any_script_stands_beside_the_sessions() {
    let server = started().await;
    server.directory.human("cookie");
    let ask = async |line: &[u8]| {
        let line = HeaderValue::from_bytes(line).expect("a header");
        let request = server.request(Method::POST, "/v1/probe/human").header("cookie", line);
        Answer::of(request.header("origin", server.public_url())).await
    };
    for line in [
        "theme=größe; service_session=cookie".as_bytes(),
        b"theme=\xff\xfe; service_session=cookie",
        "service_session=cookie; \u{1f426}=1".as_bytes(),
        "größe; =;;service_session=cookie;".as_bytes(),
    ] {
        assert_eq!(ask(line).await.status, 200, "{}", line.escape_ascii());
    }
    // What looks like its name to some is another cookie's.
    for name in ["\u{2000}service_session", "\u{85}service_session", "service_ſession"] {
        let line = format!("{name}=cookie");
        ask(line.as_bytes()).await.error_of_its_own(ErrorCode::Unauthorized);
    }
}

#[tokio::test]
async fn a_bad_bearer_does_not_fall_through_to_a_good_cookie() {
    let server = started().await;
    server.directory.human("cookie");
    for header in ["Bearer forged", "Bearer ", "Basic dXNlcg==", "nonsense"] {
        let request = with_cookie(server.request(Method::POST, "/v1/probe/human"), "cookie");
        let request = request.header("origin", server.public_url());
        Answer::of(request.header("authorization", header))
            .await
            .error_of_its_own(ErrorCode::Unauthorized);
    }
}

#[tokio::test]
async fn a_good_bearer_beside_a_bad_one_is_none() {
    let server = started().await;
    server.directory.agent("key", None);
    for pair in [["Bearer key", "Bearer forged"], ["Bearer forged", "Bearer key"]] {
        let request = server.request(Method::GET, "/v1/probe/agent");
        let request = request.header("authorization", pair[0]).header("authorization", pair[1]);
        Answer::of(request).await.error(ErrorCode::Unauthorized);
    }
}

#[tokio::test]
async fn a_session_that_changes_something_must_come_from_the_site() {
    let server = started().await;
    server.directory.human("cookie");
    let post = || with_cookie(server.request(Method::POST, "/v1/probe/human"), "cookie");
    let site = server.public_url().to_owned();
    let sibling = site.replace("localhost", "app.localhost");
    let dressed_up = site.replace("localhost", "localhost.evil.example");

    assert_eq!(Answer::of(post().header("origin", &site)).await.status, 200);
    assert_eq!(Answer::of(post().header("referer", format!("{site}/x?y"))).await.status, 200);
    let whole = format!("{site}/");
    let whose = site.replace("localhost", "evil.example@localhost");
    let wrong = ["null", "http://evil.example", &sibling, &dressed_up, "http://localhost:1"];
    for origin in wrong.into_iter().chain([&*whole, &whose]) {
        let answer = Answer::of(post().header("origin", origin)).await;
        answer.error(ErrorCode::CsrfOriginMismatch);
    }
    // A foreign origin is not made good by a referer.
    let both = post().header("origin", "null").header("referer", &site);
    Answer::of(both).await.error(ErrorCode::CsrfOriginMismatch);
    let two = post().header("origin", &site).header("origin", "http://evil.example");
    Answer::of(two).await.error(ErrorCode::CsrfOriginMismatch);
    Answer::of(post()).await.error(ErrorCode::CsrfOriginMismatch);
}

#[tokio::test]
async fn an_operator_is_known_by_a_verified_address() {
    let builder = TestServer::builder().with_probes();
    let builder = builder.set("COMMUNITY_REVIEW_OPERATOR_EMAILS", "a@example.org, ops@example.org");
    let server = builder.start().await;
    let human = server.directory.human("cookie");
    server.directory.agent("key", Some(human));
    let request = || server.request(Method::GET, "/v1/probe/operator").bearer_auth("key");
    Answer::of(request()).await.error(ErrorCode::EmailNotVerified);
    server.directory.verify(human, "ops@example.org.evil.example");
    Answer::of(request()).await.error(ErrorCode::NotAReviewer);
    server.directory.verify(human, "Ops@Example.org");
    assert_eq!(Answer::of(request()).await.status, 200);
}

#[tokio::test]
async fn an_app_is_there_for_its_owner_and_for_nobody_else() {
    let server = started().await;
    let owner = server.directory.human("owner");
    let member = server.directory.human("member");
    server.directory.human("stranger");
    server.directory.agent("owners-agent", Some(owner));
    server.directory.agent("members-agent", Some(member));
    let app = server.directory.app(owner, "notes", AppStatus::Live).await;
    server.directory.member(app, member);

    let get = |route: &str| server.request(Method::GET, &format!("/v1/probe/apps/notes/{route}"));
    let bearer = |route: &str, key: &str| Answer::of(get(route).bearer_auth(key));
    let session = |route: &str, key: &str| Answer::of(with_cookie(get(route), key));

    let by_id = format!("/v1/probe/apps/{app}/owner");
    let answer = server.post(&by_id, "owners-agent", r#"{"name": "x"}"#).await;
    assert_eq!(answer.expect(200)["slug"], "notes");
    server.post(&by_id, "members-agent", "{}").await.error(ErrorCode::AppNotFound);

    let by_session = |who: &str| {
        let request = with_cookie(server.request(Method::POST, &by_id), who);
        Answer::of(request.header("origin", server.public_url()).json(&serde_json::json!({
            "name": "x"
        })))
    };
    assert_eq!(by_session("owner").await.status, 200);
    by_session("member").await.error(ErrorCode::Forbidden);
    by_session("stranger").await.error(ErrorCode::AppNotFound);

    assert_eq!(session("member", "member").await.status, 200);
    bearer("member", "members-agent").await.error(ErrorCode::AppNotFound);
    session("member", "stranger").await.error(ErrorCode::AppNotFound);
    assert_eq!(session("person", "owner").await.status, 200);
    bearer("person", "owners-agent").await.error(ErrorCode::Forbidden);
    session("person", "member").await.error(ErrorCode::Forbidden);
}

#[tokio::test]
async fn an_unknown_and_a_foreign_app_have_the_same_answer() {
    let server = started().await;
    let owner = server.directory.human("owner");
    server.directory.app(owner, "taken", AppStatus::Live).await;
    server.directory.agent("other", Some(server.directory.human("other")));
    let mut bodies = Vec::new();
    for slug in ["taken", "free"] {
        let request = server.request(Method::GET, &format!("/v1/probe/apps/{slug}/member"));
        let request = request.bearer_auth("other").header("x-request-id", "same");
        bodies.push(Answer::of(request).await.text);
    }
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test]
async fn rows_also_answer_a_service_credential_of_the_same_app() {
    let server = started().await;
    let owner = server.directory.human("owner");
    let app = server.directory.app(owner, "mine", AppStatus::Live).await;
    server.directory.app(owner, "second", AppStatus::Live).await;
    server.directory.credential("credential", app);
    let rows = |slug: &str, key: &str| {
        let path = format!("/v1/probe/apps/{slug}/rows");
        Answer::of(server.request(Method::GET, &path).bearer_auth(key))
    };
    assert_eq!(rows("mine", "credential").await.expect(200)["by"], "credential");
    rows("second", "credential").await.error(ErrorCode::AppNotFound);
    let member = server.request(Method::GET, "/v1/probe/apps/mine/member");
    Answer::of(member.bearer_auth("credential")).await.error(ErrorCode::Forbidden);
}

#[tokio::test]
async fn a_route_works_on_the_states_it_names() {
    let server = started().await;
    let owner = server.directory.human("owner");
    server.directory.agent("key", Some(owner));
    server.directory.app(owner, "trash", AppStatus::Deleted).await;
    server.directory.app(owner, "closed", AppStatus::Closed).await;
    server.directory.app(owner, "gone", AppStatus::Purging).await;
    let write = |slug: &str| {
        let path = format!("/v1/probe/apps/{slug}/owner");
        let request = server.request(Method::POST, &path).bearer_auth("key");
        Answer::of(request)
    };
    write("trash").await.error(ErrorCode::SoftDeleted);
    write("closed").await.error(ErrorCode::AppClosed);
    write("gone").await.error(ErrorCode::AppNotFound);
    let read = server.request(Method::GET, "/v1/probe/apps/closed/member").bearer_auth("key");
    assert_eq!(Answer::of(read).await.status, 200);
}

/// Every operation of the document that asks for a credential, with its parameters filled in.
/// The operations of the document that not everybody may ask for, and whether only a session does there.
fn guarded(document: &Value) -> Vec<(Method, String, bool)> {
    let mut found = Vec::new();
    let paths = document["paths"].as_object().expect("paths").iter();
    // What apps' own origins answer is looked at in `visitors`.
    for (path, item) in paths.filter(|(path, _)| !path.starts_with("/s/")) {
        // Beside its operations a path may name its servers.
        let members = item.as_object().expect("operations").iter();
        for (verb, operation) in members.filter(|(name, _)| *name != "servers") {
            let security = operation["security"].as_array().expect("every operation says who");
            if security.iter().any(|scheme| scheme.as_object().expect("a scheme").is_empty()) {
                continue;
            }
            let method = verb.to_uppercase().parse().expect("a verb");
            let for_humans = *security == [json!({"human_session": []})];
            found.push((method, path.replace(['{', '}'], "x"), for_humans));
        }
    }
    found
}

#[tokio::test]
async fn every_guarded_operation_refuses_who_presents_nothing_or_a_forgery() {
    let server = started().await;
    let document = server.get("/v1/openapi.json").await.expect(200);
    let operations = guarded(&document);
    assert!(operations.len() >= 7, "the probes are among them");
    for (method, path, for_humans) in operations {
        let request = || server.request(method.clone(), &path);
        let forged = request().bearer_auth("rk_agent_forged");
        for request in [request(), forged, with_cookie(request(), "forged")] {
            let answer = Answer::of(request).await;
            match for_humans {
                true => answer.error_of_its_own(ErrorCode::Unauthorized),
                false => answer.error(ErrorCode::Unauthorized),
            };
        }
    }
}
