//! Proof of work before writes: asked of everybody, for one collection, once.

use reqwest::Method;
use rookery_domain::{ErrorCode, challenge::Challenge};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::rows::{OWNER, Rows, SIBLING};
use crate::harness::{Answer, services::Service};

/// Solves a task as a client does, from what it was given alone.
fn solve(task: &Value) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let text = |name: &str| task[name].as_str().expect("text").to_owned();
    let (salt, goal) = (text("salt"), text("challenge"));
    let max = task["maxnumber"].as_u64().expect("a number");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let number = (0..=max)
        .find(|number| hex(&Sha256::digest(format!("{salt}{number}"))) == goal)
        .expect("a solution");
    let answer = json!({"algorithm": task["algorithm"], "challenge": goal, "number": number,
        "salt": salt, "signature": task["signature"]});
    STANDARD.encode(answer.to_string())
}

/// An answer to a task that is quick to solve, signed with the server's key.
fn quick(rows: &Rows, collection: &str) -> String {
    let state = rows.server.state();
    let (key, now, rng) = (&state.rooms.key, state.clock.now(), &mut rand::rng());
    Challenge::new(key, rows.app, collection, now, 100, rng).solve().expect("a solution")
}

async fn post(rows: &Rows, path: &str, token: &str, body: Value) -> Answer {
    let request = rows.request(OWNER, Method::POST, path);
    Answer::of(request.header("x-service-challenge-token", token).json(&body)).await
}

async fn task(rows: &Rows, query: &str) -> Answer {
    let path = format!("/v1/apps/{}/challenge{query}", rows.app);
    Answer::of(rows.server.request(Method::GET, &path).bearer_auth(rows.key(OWNER))).await
}

#[tokio::test]
async fn a_task_is_solved_and_spent_once() {
    let rows = Rows::start().await;
    let body = json!({"data": {}});
    rows.post("guarded", body.clone()).await.error(ErrorCode::ChallengeRequired);
    let given = task(&rows, "?collection=guarded").await.expect(200);
    assert_eq!(given["algorithm"], "SHA-256");
    let token = solve(&given);
    let two = rows.request(OWNER, Method::POST, "guarded");
    let two =
        two.header("x-service-challenge-token", &token).header("x-service-challenge-token", "");
    Answer::of(two.json(&body)).await.error(ErrorCode::ChallengeVerificationFailed);
    post(&rows, "guarded", &token, body.clone()).await.expect(201);
    let spent = post(&rows, "guarded", &token, body.clone()).await;
    spent.error(ErrorCode::ChallengeVerificationFailed);
    let rows = rows.restart().await;
    let spent = post(&rows, "guarded", &token, body).await;
    spent.error(ErrorCode::ChallengeVerificationFailed);
}

#[tokio::test]
async fn the_protocols_own_library_solves_a_task() {
    let rows = Rows::start().await;
    let given = task(&rows, "?collection=guarded").await.expect(200).to_string();
    let client = Service::start("tests/routes/challenge.rs", "altcha.mjs", &[&given]).await;
    let Some(Service { address: answer, .. }) = client else { return };
    let body = json!({"data": {}});
    post(&rows, "guarded", &answer, body.clone()).await.expect(201);
    post(&rows, "guarded", &answer, body).await.error(ErrorCode::ChallengeVerificationFailed);
}

#[tokio::test]
async fn an_answer_is_good_for_its_collection_and_ten_minutes() {
    let rows = Rows::start().await;
    let body = json!({"data": {}});
    let token = quick(&rows, "guarded");
    let foreign = post(&rows, "guarded_own", &token, body.clone()).await;
    foreign.error(ErrorCode::ChallengeVerificationFailed);
    for wrong in ["", "x", "e30="] {
        let refused = post(&rows, "guarded", wrong, body.clone()).await;
        refused.error(ErrorCode::ChallengeVerificationFailed);
    }
    rows.pass_seconds(10 * 60);
    post(&rows, "guarded", &token, body).await.error(ErrorCode::ChallengeVerificationFailed);
    task(&rows, "?collection=none").await.error(ErrorCode::CollectionNotFound);
    task(&rows, "").await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn a_refused_write_spends_its_answer_once_it_was_looked_at() {
    let rows = Rows::start().await;
    let token = quick(&rows, "guarded");
    let both = json!({"on": "n", "key": "k", "data": {"n": 1}});
    post(&rows, "guarded", &token, both).await.error(ErrorCode::InvalidRequest);
    // The challenge never came into it.
    let taken = json!({"data": {"n": 1}});
    post(&rows, "guarded", &token, taken.clone()).await.expect(201);
    let token = quick(&rows, "guarded");
    post(&rows, "guarded", &token, taken.clone()).await.error(ErrorCode::UniqueConflict);
    // It does not serve to try out one value after another.
    let again = post(&rows, "guarded", &token, json!({"data": {"n": 2}})).await;
    again.error(ErrorCode::ChallengeVerificationFailed);
}

#[tokio::test]
async fn one_answer_serves_a_batch_and_a_missing_one_refuses_it_whole() {
    let rows = Rows::start().await;
    let batch = json!({"rows": [{"data": {"n": 1}}, {"data": {"n": 2}}]});
    rows.post("guarded/batch", batch.clone()).await.error(ErrorCode::ChallengeRequired);
    let token = quick(&rows, "guarded");
    post(&rows, "guarded/batch", &token, batch).await.expect(200);
    assert_eq!(rows.get("guarded/count").await.expect(200)["count"], 2);
    // A batch of which nothing is written spends its answer as well.
    let token = quick(&rows, "guarded");
    let taken = json!({"rows": [{"data": {"n": 1}}, {"data": {"n": 2}}]});
    let answer = post(&rows, "guarded/batch", &token, taken).await.expect(200);
    assert_eq!(answer["results"][1]["error"]["code"], "unique_conflict");
    let spent = post(&rows, "guarded", &token, json!({"data": {"n": 3}})).await;
    spent.error(ErrorCode::ChallengeVerificationFailed);
    let upsert = json!({"on": "n", "data": {"n": 1}});
    rows.post("guarded", upsert).await.error(ErrorCode::ChallengeRequired);
    rows.patch("guarded/none", json!({"data": {}})).await.error(ErrorCode::RowNotFound);
}

#[tokio::test]
async fn a_hidden_row_wins_over_the_challenge() {
    let rows = Rows::start().await;
    let create = json!({"key": "k", "data": {}});
    post(&rows, "guarded_own", &quick(&rows, "guarded_own"), create.clone()).await.expect(201);
    let hidden = rows.send(SIBLING, Method::POST, "guarded_own", create.clone()).await;
    hidden.error(ErrorCode::RowNotFound);
    rows.post("guarded_own", create).await.error(ErrorCode::ChallengeRequired);
}
