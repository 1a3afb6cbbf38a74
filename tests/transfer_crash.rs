//! `kill -9` in the middle of an acceptance, among writers: the app is the old owner's with the
//! offer pending, or the new owner's without; and what was acknowledged is so.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use reqwest::Method;
use rookery_testkit::until;
use serde_json::{Value, json};

use crate::harness::{
    Answer, database,
    process::{Process, kills_or},
};

/// Times the server is killed. `ROOKERY_KILLS` sets another number.
const KILLS: usize = 24;
/// Requests that write at the same time.
const WRITERS: usize = 16;

/// Two accounts with a session and a key each.
struct People {
    cookies: [String; 2],
    keys: [String; 2],
}

const EMAILS: [&str; 2] = ["ada@example.org", "bob@example.org"];

impl People {
    async fn of(server: &Process) -> Self {
        let keys = [server.enroll(EMAILS[0]).await, server.enroll(EMAILS[1]).await];
        let cookies = [server.sign_in(EMAILS[0]).await, server.sign_in(EMAILS[1]).await];
        Self { cookies, keys }
    }

    /// A request by the session of one of them.
    fn ask(&self, server: &Process, who: usize, path: &str) -> reqwest::RequestBuilder {
        let request = server.client.post(format!("{}{path}", server.url));
        request.header("cookie", &self.cookies[who]).header("origin", &server.url)
    }

    /// Which of them owns the app; the other one must not see it.
    async fn owner(&self, server: &Process, app: &str) -> usize {
        let mut statuses = Vec::new();
        for key in &self.keys {
            let request = server.request(Method::GET, &format!("/v1/apps/{app}"), key);
            statuses.push(Answer::of(request).await.status);
        }
        match statuses[..] {
            [200, 404] => 0,
            [404, 200] => 1,
            _ => panic!("an app without one owner: {statuses:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acceptance_is_all_or_nothing_under_kill_9() {
    let kills = kills_or(KILLS);
    let data = tempfile::tempdir().unwrap();
    let database = database::postgres().await;
    let settings = database::settings(database.as_ref());
    let mut server = Process::start(data.path(), &settings);
    let people = People::of(&server).await;
    let manifest = json!({"collections": {"rows": {"permissions":
        {"read": ["owner"], "write": ["owner"], "delete": ["owner"]}}}});
    let app = server.deploy(&people.keys[0], &manifest).await;
    let path = format!("/v1/apps/{app}/transfer");
    let (mut owner, mut moved) = (0, 0);
    for round in 0..kills {
        let to = 1 - owner;
        let key = &people.keys[owner];
        // One that was cut short may still be pending.
        let withdrawn = server.request(Method::DELETE, &path, key);
        assert_eq!(Answer::of(withdrawn).await.status, 204);
        let offer = server.request(Method::POST, &path, key).json(&json!({"email": EMAILS[to]}));
        let offer = Answer::of(offer).await.expect(201);
        let id = offer["id"].as_str().unwrap();
        let accept = people.ask(&server, to, &format!("/v1/self/transfers/{id}/accept"));

        let acknowledged = Arc::new(AtomicUsize::new(0));
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let rows = format!("{}/v1/apps/{app}/collections/rows", server.url);
                let (client, key) = (server.client.clone(), key.clone());
                tokio::spawn(write(client, rows, key, acknowledged.clone()))
            })
            .collect();
        let accepting = tokio::spawn(async move {
            let answer = accept.send().await.ok()?;
            let status = answer.status().as_u16();
            answer.bytes().await.ok()?;
            Some(status)
        });
        // A little later in each round: before, in and after the acceptance's commit.
        until("so many acknowledgements", || {
            acknowledged.load(Ordering::Acquire) >= round || accepting.is_finished()
        })
        .await;
        server.kill();
        let told = accepting.await.unwrap();
        for writer in writers {
            writer.await.unwrap();
        }

        server = Process::start(data.path(), &settings);
        let found = people.owner(&server, &app).await;
        if let Some(status) = told {
            assert_eq!(status, 200, "round {round}");
            assert_eq!(found, to, "round {round}: it was acknowledged");
        }
        let pending = server.request(Method::GET, &path, &people.keys[found]);
        let pending = Answer::of(pending).await;
        match found == to {
            true => assert_eq!(pending.status, 404, "round {round}: {}", pending.text),
            false => assert_eq!(pending.expect(200)["id"], offer["id"], "round {round}"),
        }
        let listed: Value = server.get("/v1/apps", &people.keys[found]).await;
        assert_eq!(listed["items"][0]["id"], app);
        moved += usize::from(found == to);
        owner = found;
    }
    assert!(moved > 0, "no acceptance came through: the rounds show nothing");
}

/// Creates rows until the server is gone or they are somebody else's to create.
async fn write(client: reqwest::Client, rows: String, key: String, acknowledged: Arc<AtomicUsize>) {
    loop {
        let request = client.post(&rows).bearer_auth(&key).json(&json!({"data": {}}));
        let Ok(answer) = request.send().await else { return };
        if answer.status() != 201 {
            return;
        }
        acknowledged.fetch_add(1, Ordering::AcqRel);
    }
}
