//! One request, one error: the first in the order of precedence. Each case is wrong in two
//! neighbouring ways.

use reqwest::Method;
use rookery_domain::{ErrorCode, app::AppStatus};

use crate::harness::{Answer, TestServer};

#[tokio::test]
async fn route_and_verb_win_over_version_and_version_over_the_rate_limit() {
    let builder = TestServer::builder().with_probes().set("ROOKERY__RATE_LIMIT__PER_MINUTE", "1");
    let server = builder.set("ROOKERY__SERVER__MIN_CLI_VERSION", "2.0.0").start().await;
    let old = |method, path: &str| {
        Answer::of(server.request(method, path).header("x-service-cli-version", "1.0.0"))
    };
    old(Method::GET, "/v1/unknown").await.error(ErrorCode::NotFound);
    // The address has used up its minute from here on.
    server.get("/v1/unknown").await.error(ErrorCode::NotFound);
    server.get("/v1/probe/things").await.error(ErrorCode::MethodNotAllowed);
    let wrong_verb = old(Method::GET, "/v1/probe/things").await;
    wrong_verb.error(ErrorCode::MethodNotAllowed);
    assert_eq!(wrong_verb.header("allow"), "POST");
    old(Method::GET, "/v1/probe/agent").await.error(ErrorCode::CliUpgradeRequired);
    server.get("/v1/probe/agent").await.error(ErrorCode::RateLimited);
}

#[tokio::test]
async fn credential_then_kind_then_claim_then_csrf_then_app_then_state_then_body() {
    let server = TestServer::builder().with_probes().start().await;
    let owner = server.directory.human("owner");
    let stranger = server.directory.human("stranger");
    server.directory.agent("unclaimed", None);
    server.directory.agent("owners", Some(owner));
    server.directory.agent("strangers", Some(stranger));
    let app = server.directory.app(owner, "live", AppStatus::Live).await;
    server.directory.app(owner, "trash", AppStatus::Deleted).await;
    server.directory.credential("credential", app);
    let bad = "{\"nmae\": 1}";

    let forged = server.post("/v1/probe/apps/none/owner", "forged", bad).await;
    forged.error(ErrorCode::Unauthorized);
    let wrong_kind = server.post("/v1/probe/apps/none/owner", "credential", bad).await;
    wrong_kind.error(ErrorCode::Forbidden);
    let unclaimed = server.post("/v1/probe/apps/none/owner", "unclaimed", bad).await;
    unclaimed.error(ErrorCode::AgentNotClaimed);
    let cross_site = server.request(Method::POST, "/v1/probe/apps/none/owner");
    let cross_site = cross_site.header("cookie", "service_session=owner");
    Answer::of(cross_site.body(bad)).await.error(ErrorCode::CsrfOriginMismatch);
    let foreign = server.post("/v1/probe/apps/trash/owner", "strangers", bad).await;
    foreign.error(ErrorCode::AppNotFound);
    let deleted = server.post("/v1/probe/apps/trash/owner", "owners", bad).await;
    deleted.error(ErrorCode::SoftDeleted);
    let malformed = server.post("/v1/probe/apps/live/owner", "owners", bad).await;
    malformed.error(ErrorCode::InvalidRequest);
    let good = server.post("/v1/probe/apps/live/owner", "owners", r#"{"name": "x"}"#).await;
    assert_eq!(good.status, 200);
}
