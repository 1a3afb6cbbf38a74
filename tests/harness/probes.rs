//! Routes of the tests' own: each shows what one extractor lets through, or misbehaves on purpose.

use std::{future::pending, sync::LazyLock};

use axum::{Json, response::Response};
use rookery::{
    http::{
        auth::permission::{
            AgentKey, AppMember, AppOwner, ClaimedAgent, HumanOwner, HumanSession, Operator,
            Public, RowCaller,
        },
        body::{BodyBound, RequestBody, StrictJson},
        conditional::{IfMatchHeader, IfNoneMatch},
        idempotency::IdempotencyKey,
        params::StrictQuery,
        reply::{Created, RawJson},
    },
    operation,
    state::AppState,
};
use rookery_domain::ErrorCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;

const NONE: &[ErrorCode] = &[];

/// Permits of `/v1/probe/wait`: each lets one request go on.
pub static GATE: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(0));
/// One permit for each request that has arrived at `/v1/probe/wait`.
pub static ARRIVED: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(0));

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(operation!(agent, NONE))
        .routes(operation!(claimed, &[ErrorCode::Conflict]))
        .routes(operation!(human, NONE))
        .routes(operation!(operator, NONE))
        .routes(operation!(owner, NONE))
        .routes(operation!(member, NONE))
        .routes(operation!(owner_in_person, NONE))
        .routes(operation!(rows, NONE))
        .routes(operation!(create, NONE))
        .routes(operation!(query, NONE))
        .routes(operation!(tagged, NONE))
        .routes(operation!(panics, NONE))
        .routes(operation!(wait, NONE))
        .routes(operation!(stuck, NONE))
}

/// A body with one required and one optional member.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Thing {
    name: String,
    size: Option<u32>,
}

impl RequestBody for Thing {
    const BOUND: BodyBound = BodyBound::Small;
}

/// A query with one parameter.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Paging {
    /// How many.
    limit: Option<usize>,
}

/// Shows the agent.
#[utoipa::path(get, path = "/v1/probe/agent", responses((status = 200, body = Value)))]
async fn agent(agent: AgentKey) -> Json<Value> {
    Json(json!({"claimed": agent.owner.is_some()}))
}

/// For claimed agents.
#[utoipa::path(post, path = "/v1/probe/claimed", responses((status = 200, body = Value)))]
async fn claimed(agent: ClaimedAgent) -> Json<Value> {
    Json(json!({"owner": agent.owner}))
}

/// Shows the human.
#[utoipa::path(post, path = "/v1/probe/human", responses((status = 200, body = Value)))]
async fn human(human: HumanSession) -> Json<Value> {
    Json(json!({"human": human.human}))
}

/// For operators.
#[utoipa::path(get, path = "/v1/probe/operator", responses((status = 200, body = Value)))]
async fn operator(_: Operator) -> Json<Value> {
    Json(json!({}))
}

/// For the owner, with a body.
#[utoipa::path(post, path = "/v1/probe/apps/{id}/owner", request_body = Thing,
    params(("id" = String, Path)), responses((status = 200, body = Value)))]
async fn owner(owner: AppOwner, StrictJson(thing): StrictJson<Thing>) -> Json<Value> {
    Json(json!({"slug": &*owner.app.record().slug, "name": thing.name, "size": thing.size}))
}

/// For the owner and members.
#[utoipa::path(get, path = "/v1/probe/apps/{id}/member",
    params(("id" = String, Path)), responses((status = 200, body = Value)))]
async fn member(member: AppMember) -> Json<Value> {
    Json(json!({"slug": &*member.app.record().slug}))
}

/// For the owner in person.
#[utoipa::path(get, path = "/v1/probe/apps/{id}/person",
    params(("id" = String, Path)), responses((status = 200, body = Value)))]
async fn owner_in_person(owner: HumanOwner) -> Json<Value> {
    Json(json!({"slug": &*owner.app.record().slug}))
}

/// For whoever may ask for rows.
#[utoipa::path(get, path = "/v1/probe/apps/{id}/rows",
    params(("id" = String, Path)), responses((status = 200, body = Value)))]
async fn rows(caller: RowCaller) -> Json<Value> {
    Json(json!({"by": caller.caller.principal().kind}))
}

/// Makes a thing.
#[utoipa::path(post, path = "/v1/probe/things", request_body = Thing,
    responses((status = 201, body = Thing)))]
async fn create(
    _: Public,
    key: IdempotencyKey,
    StrictJson(thing): StrictJson<Thing>,
) -> Created<Value> {
    let record = json!({"name": thing.name, "size": thing.size, "key": key.0});
    Created { location: "/v1/probe/things/1".to_owned(), record }
}

/// Shows its query.
#[utoipa::path(get, path = "/v1/probe/query", params(Paging),
    responses((status = 200, body = Value)))]
async fn query(_: Public, StrictQuery(query): StrictQuery<Paging>) -> Json<Value> {
    Json(json!({"limit": query.limit}))
}

/// Has an entity tag.
#[utoipa::path(get, path = "/v1/probe/tagged", responses((status = 200, body = Value)))]
async fn tagged(_: Public, cached: IfNoneMatch, condition: IfMatchHeader) -> Response {
    use axum::response::IntoResponse as _;
    let met = condition.0.is_none_or(|condition| condition.check(7, None).is_ok());
    let body = json!({"if_match": met}).to_string();
    cached.answer("\"7\"", || RawJson(body).into_response())
}

/// Panics.
#[utoipa::path(method(get, post), path = "/v1/probe/panic", responses((status = 200, body = Value)))]
async fn panics(_: Public) -> Json<Value> {
    panic!("the canary of a cause")
}

/// Waits until a test lets it go.
#[utoipa::path(get, path = "/v1/probe/wait", responses((status = 200, body = Value)))]
async fn wait(_: Public) -> Json<Value> {
    ARRIVED.add_permits(1);
    GATE.acquire().await.expect("the gate stays").forget();
    Json(json!({"waited": true}))
}

/// Never answers.
#[utoipa::path(get, path = "/v1/probe/stuck", responses((status = 200, body = Value)))]
async fn stuck(_: Public) -> Json<Value> {
    ARRIVED.add_permits(1);
    pending().await
}
