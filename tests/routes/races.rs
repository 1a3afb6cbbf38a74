//! Sixty-four at once, again and again: exactly as many win as may.

use std::{
    future::Future as _,
    pin::pin,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use futures::{FutureExt as _, future::join_all};
use reqwest::Method;
use rookery_actors::app::message::{AppOp, Op};
use rookery_domain::{ErrorCode, principal::Caller};
use serde_json::json;
use tokio::task::unconstrained;

use super::rows::{OWNER, Rows};
use crate::harness::{Answer, TestServer, rounds, won};

/// How often a race is run: what shows only now and then gets its chance within a few seconds.
const ROUNDS: usize = 40;
/// How long a commit may take at most.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_commit_waits_for_no_connection() {
    let rows = Rows::start().await;
    rows.get("entries").await.expect(200);
    let app = rows.server.state().rooms.apps().by_id(rows.app).await.expect("the app");
    // The one thread of this test is that of the connections, and it does nothing but look.
    let mut closing = pin!(unconstrained(app.apply(Caller::System, Op::App(AppOp::Close))));
    let (mut nobody, end) = (Context::from_waker(Waker::noop()), Instant::now() + PATIENCE);
    let closed = loop {
        match closing.as_mut().poll(&mut nobody) {
            Poll::Ready(closed) => break closed,
            Poll::Pending => assert!(Instant::now() < end, "the commit waits for this thread"),
        }
        std::thread::yield_now();
    };
    closed.expect("it is closed");
}

#[tokio::test]
async fn a_unique_value_in_any_spelling_has_one_winner() {
    let rows = Rows::start().await;
    for round in 0..rounds(ROUNDS) {
        let spellings = [
            format!("straße{round}"),
            format!(" STRASSE{round}"),
            format!("Strasse{round}\t"),
            format!("\u{a0}straSSe{round}"),
        ];
        let answers = join_all(
            (0..64).map(|n| rows.post("people", json!({"data": {"email": spellings[n % 4]}}))),
        );
        assert_eq!(won(&answers.await, 201, ErrorCode::UniqueConflict), 1);
    }
}

#[tokio::test]
async fn a_value_that_is_let_go_while_others_want_it_has_one_holder_at_most() {
    let rows = Rows::start().await;
    rows.row("people", "holder", json!({"email": "a"})).await;
    for round in 0..rounds(ROUNDS) {
        let (from, to) = if round % 2 == 0 { ("a", "b") } else { ("b", "a") };
        let mut moves: Vec<_> = (0..63)
            .map(|_| rows.post("people", json!({"data": {"email": from}})).boxed_local())
            .collect();
        let letting_go = rows.patch("people/holder", json!({"data": {"email": to}}));
        moves.insert(round % 64, letting_go.boxed_local());
        let answers = join_all(moves).await;
        // Whoever came behind the change has the value, and only the first of them.
        let created: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
        assert!(created.len() <= 1, "{} rows hold one value", created.len());
        for row in created {
            let key = row.json()["key"].as_str().expect("a key").to_owned();
            rows.delete(&format!("people/{key}")).await.expect(200);
            rows.delete(&format!("people/{key}/purge")).await.expect(200);
        }
    }
}

#[tokio::test]
async fn a_version_is_updated_from_once() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({"n": 0})).await;
    for version in 1..=rounds(ROUNDS) {
        let answers = join_all((0..64).map(|n| {
            let body = json!({"data": {"n": n}, "if_match": version});
            rows.patch("entries/k", body)
        }));
        assert_eq!(won(&answers.await, 200, ErrorCode::Conflict), 1);
    }
    assert_eq!(rows.get("entries/k").await.expect(200)["version"], rounds(ROUNDS) + 1);
}

#[tokio::test]
async fn five_rows_below_the_cap_exactly_five_are_made() {
    let rows = Rows::on(TestServer::builder().set("MAX_ROWS_PER_APP", "20")).await;
    for n in 0..15 {
        rows.row("entries", &format!("k{n}"), json!({})).await;
    }
    for _ in 0..rounds(ROUNDS / 4) {
        let answers = join_all((0..64).map(|_| rows.post("entries", json!({"data": {}})))).await;
        assert_eq!(won(&answers, 201, ErrorCode::AppQuotaExceeded), 5);
        for made in answers.iter().filter(|answer| answer.status == 201) {
            let key = made.json()["key"].as_str().expect("a key").to_owned();
            rows.delete(&format!("entries/{key}")).await.expect(200);
        }
    }
    for _ in 0..5 {
        rows.post("entries", json!({"data": {}})).await.expect(201);
    }
    let error = rows.post("entries", json!({"data": {}})).await;
    let details = error.error(ErrorCode::AppQuotaExceeded)["details"].clone();
    assert_eq!(details, json!({"dimension": "rows", "limit": 20}));
    rows.delete("entries/k0").await.expect(200);
    rows.post("entries", json!({"data": {}})).await.expect(201);
}

#[tokio::test]
async fn a_key_is_created_once_and_a_row_deleted_once() {
    let rows = Rows::start().await;
    for _ in 0..rounds(ROUNDS / 2) {
        let body = json!({"key": "k", "data": {}});
        let answers = join_all((0..64).map(|_| rows.post("entries", body.clone()))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 63);
        let delete = || Answer::of(rows.request(OWNER, Method::DELETE, "entries/k"));
        let answers = join_all((0..64).map(|_| delete())).await;
        assert_eq!(won(&answers, 200, ErrorCode::RowNotFound), 1);
    }
}
