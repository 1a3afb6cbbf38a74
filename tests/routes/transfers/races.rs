//! Acceptances and everything that can meet one, at once.

use futures::future::join_all;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::{DELETE, GET, MINE, POST};
use crate::{
    harness::{Answer, TestServer, rounds},
    routes::orgs::Person,
};

/// Requests at once.
const RACERS: usize = 64;
/// Rounds of the races that either side may win.
const ROUNDS: usize = 16;

fn accept(server: &TestServer, who: &Person, offer: &Value) -> impl Future<Output = Answer> {
    let path = format!("{MINE}/{}/accept", offer["id"].as_str().unwrap());
    Answer::of(server.by(&who.human, POST, &path))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_sixty_four_acceptances_one_wins() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 3).await;
    let offer = server.offer(&ada, &app, &bob).await;
    let answers = join_all((0..RACERS).map(|_| accept(&server, &bob, &offer))).await;
    let won = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(won, 1);
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        answer.error(ErrorCode::NotFound);
    }
    assert_eq!(server.owner_of(&app, &bob).await, bob.id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_sixty_four_offers_one_is_made_and_mailed() {
    let server = TestServer::start().await;
    let ada = server.person("ada").await;
    let app = server.app_with_rows(&ada, 0).await;
    let path = format!("{app}/transfer");
    let answers = join_all((0..RACERS).map(|_| {
        let request = server.by_agent(&ada.agent, POST, &path);
        Answer::of(request.json(&json!({"email": "bob@example.org"})))
    }))
    .await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    for answer in answers.iter().filter(|answer| answer.status != 201) {
        answer.error(ErrorCode::Conflict);
    }
    assert_eq!(server.mails("bob@example.org").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acceptance_and_a_withdrawal_have_one_winner() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    for round in 0..rounds(ROUNDS) {
        let app = server.app_with_rows(&ada, 1).await;
        let offer = server.offer(&ada, &app, &bob).await;
        let withdraw = server.by_agent(&ada.agent, DELETE, &format!("{app}/transfer"));
        let (accepted, withdrawn) = match round % 2 {
            0 => tokio::join!(accept(&server, &bob, &offer), Answer::of(withdraw)),
            _ => {
                let (withdrawn, accepted) =
                    tokio::join!(Answer::of(withdraw), accept(&server, &bob, &offer));
                (accepted, withdrawn)
            }
        };
        // Whoever withdraws after the acceptance may be a stranger already.
        assert!(matches!(withdrawn.status, 204 | 404), "{}", withdrawn.text);
        match accepted.status {
            200 => {
                assert_eq!(withdrawn.status, 404, "both are told that they won");
                assert_eq!(server.owner_of(&app, &bob).await, bob.id);
            }
            _ => {
                accepted.error(ErrorCode::NotFound);
                assert_eq!(withdrawn.status, 204);
                assert_eq!(server.owner_of(&app, &ada).await, ada.id);
                // The account of the one who tried counts nothing of it.
                server.tell(&bob, GET, &app, Value::Null).await.error(ErrorCode::AppNotFound);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_apps_at_once_never_fill_an_account_beyond_its_limit() {
    let server = TestServer::builder().set("MAX_APPS_PER_ACCOUNT", "12").start().await;
    let bob = server.person("bob").await;
    let mut offers = Vec::new();
    for n in 0..4 {
        let giver = server.person(&format!("giver{n}")).await;
        for _ in 0..6 {
            let app = server.app_with_rows(&giver, 1).await;
            offers.push(server.offer(&giver, &app, &bob).await);
        }
    }
    let create = || {
        let request = server.by_agent(&bob.agent, POST, "/v1/apps");
        Answer::of(request.json(&json!({"html": "<p>own</p>"})))
    };
    let (accepted, created) = tokio::join!(
        join_all(offers.iter().map(|offer| accept(&server, &bob, offer))),
        join_all((0..6).map(|_| create())),
    );
    let taken = accepted.iter().filter(|answer| answer.status == 200).count();
    let made = created.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(taken + made, 12);
    assert_eq!(server.apps_of(&bob).await.len(), 12);
    for answer in accepted.iter().filter(|answer| answer.status != 200) {
        answer.error(ErrorCode::AccountQuotaExceeded);
    }
    assert_eq!(server.offered(&bob).await.len(), offers.len() - taken);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_written_meanwhile_are_whole_and_counted_once() {
    let server = TestServer::builder().set("MAX_ROWS_PER_ACCOUNT", "100").start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 0).await;
    let rows = format!("{app}/collections/entries");
    let offer = server.offer(&ada, &app, &bob).await;
    let write = |who: &Person, n: usize| {
        let request = server.by_agent(&who.agent, POST, &rows);
        Answer::of(request.json(&json!({"key": format!("k{n}"), "data": {}})))
    };
    let (writes, accepted) =
        tokio::join!(join_all((0..RACERS).map(|n| write(&ada, n))), accept(&server, &bob, &offer),);
    accepted.expect(200);
    let written = writes.iter().filter(|answer| answer.status == 201).count();
    for answer in writes.iter().filter(|answer| answer.status != 201) {
        answer.error(ErrorCode::AppNotFound);
    }
    let list = server.tell(&bob, GET, &format!("{rows}?limit=200"), Value::Null).await;
    assert_eq!(list.expect(200)["items"].as_array().unwrap().len(), written);
    // Exactly the rest fits into bob's account, and all of it into ada's.
    for n in written..100 {
        write(&bob, 1_000 + n).await.expect(201);
    }
    write(&bob, 2_000).await.error(ErrorCode::AccountQuotaExceeded);
    server.app_with_rows(&ada, 100).await;
}
