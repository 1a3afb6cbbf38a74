//! Admins who act at once: there is always one left, and nothing is done in a lost role.

use futures::future::join_all;
use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::{Person, id_of};
use crate::harness::{Answer, TestServer, rounds};

/// Requests at once.
const RACERS: usize = 64;
/// Rounds of two admins.
const ROUNDS: usize = 12;

fn admins(roles: &[(String, String)]) -> Vec<&str> {
    roles.iter().filter(|(_, role)| role == "admin").map(|(id, _)| id.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_admins_who_demote_each_other_at_once_leave_one() {
    let server = TestServer::start().await;
    let people = [server.person("ada").await, server.person("bob").await];
    let [ada, bob] = &people;
    let org = server.org(ada).await;
    server.join(&org, ada, bob, "admin").await;
    for round in 0..rounds(ROUNDS) {
        let answers = join_all((0..RACERS).map(|i| {
            let (by, other) = if i % 2 == 0 { (ada, bob) } else { (bob, ada) };
            let path = format!("{org}/members/{}", other.id);
            let request = server.by(&by.human, Method::PATCH, &path);
            Answer::of(request.json(&json!({"role": "member"})))
        }))
        .await;
        let roles = server.roles(&org, ada).await;
        let left = admins(&roles);
        assert_eq!(left.len(), 1, "round {round}");
        let (winner, loser) = if left[0] == ada.id { (ada, bob) } else { (bob, ada) };
        for (i, answer) in answers.iter().enumerate() {
            let by_winner = std::ptr::eq(if i % 2 == 0 { ada } else { bob }, winner);
            match answer.status {
                200 => assert!(by_winner, "the loser demoted somebody: {}", answer.text),
                // It had its role when it asked, or it had lost it already.
                409 => drop(answer.error(ErrorCode::Conflict)),
                _ => drop(answer.error(ErrorCode::Forbidden)),
            }
        }
        server.set_role(&org, winner, loser, "admin").await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_admins_who_remove_each_other_in_a_ring_leave_somebody() {
    let server = TestServer::start().await;
    let ada = server.person("ada").await;
    let org = server.org(&ada).await;
    let mut people: Vec<Person> = vec![ada];
    for n in 1..RACERS {
        let person = server.person(&format!("admin{n}")).await;
        server.join(&org, &people[0], &person, "admin").await;
        people.push(person);
    }
    let answers = join_all((0..RACERS).map(|i| {
        let other = &people[(i + 1) % RACERS];
        let path = format!("{org}/members/{}", other.id);
        // Half of them remove, half demote.
        let request = match i % 2 {
            0 => server.by(&people[i].human, Method::DELETE, &path),
            _ => server.by(&people[i].human, Method::PATCH, &path).json(&json!({"role": "member"})),
        };
        Answer::of(request)
    }))
    .await;
    let done = answers.iter().filter(|answer| answer.status < 300).count();
    let mut left = Vec::new();
    for person in &people {
        let seen = server.ask(person, Method::GET, &org, Value::Null).await;
        if seen.status == 200 && seen.json()["role"] == "admin" {
            left.push(person);
        }
    }
    assert!(!left.is_empty(), "no admin is left");
    assert_eq!(left.len(), RACERS - done, "each success cost one admin");
    for answer in answers.iter().filter(|answer| answer.status >= 300) {
        let lost = matches!(answer.status, 403 | 404 | 409);
        assert!(lost, "{}", answer.text);
    }
    // Memory and storage agree.
    let roles = server.roles(&org, left[0]).await;
    let survivors: Vec<_> = left.iter().map(|person| person.id.clone()).collect();
    let server = server.restart().await;
    let survivor = people.iter().find(|person| person.id == survivors[0]).unwrap();
    assert_eq!(server.roles(&org, survivor).await, roles);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_written_in_a_role_that_is_lost() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let org = server.org(&ada).await;
    server.join(&org, &ada, &bob, "admin").await;
    let manifest = json!({"collections": {"entries": {"permissions":
        {"read": ["owner"], "write": ["owner"], "delete": ["owner"]}}}});
    let body = json!({"html": "<p>app</p>", "manifest": manifest, "org_id": id_of(&org)});
    let app = server.tell(&ada, Method::POST, "/v1/apps", body).await.expect(201);
    let rows = format!("/v1/apps/{}/collections/entries", app["id"].as_str().unwrap());
    let write = |n: usize| {
        let request = server.by_agent(&bob.agent, Method::POST, &rows);
        Answer::of(request.json(&json!({"key": format!("k{n}"), "data": {}})))
    };
    let (answers, demoted) = tokio::join!(
        join_all((0..RACERS).map(write)),
        server.set_role(&org, &ada, &bob, "member"),
    );
    demoted.expect(200);
    let acknowledged = answers.iter().filter(|answer| answer.status == 201).count();
    for answer in answers.iter().filter(|answer| answer.status != 201) {
        answer.error(ErrorCode::AppNotFound);
    }
    let list = server.tell(&ada, Method::GET, &format!("{rows}?limit=200"), Value::Null).await;
    assert_eq!(list.expect(200)["items"].as_array().unwrap().len(), acknowledged);
    write(RACERS).await.error(ErrorCode::AppNotFound);
}
