//! Secrets and the process: what is logged, and what a key is worth after `kill -9`.

use std::{fs::File, process::Stdio};

use reqwest::{Method, header};
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{Answer, forged, process::Process};

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

async fn post(server: &Process, cookie: &str, path: &str, body: Value) -> Answer {
    let request = server.client.post(format!("{}{path}", server.url));
    let request = request.header(header::ORIGIN, &server.url).header(header::COOKIE, cookie);
    Answer::of(request.json(&body)).await
}

#[tokio::test]
async fn no_secret_reaches_the_log_even_at_its_most_talkative() {
    let data = tempfile::tempdir().unwrap();
    let log = data.path().join("log");
    let settings = [("ROOKERY__LOG__LEVEL", "trace"), ("ROOKERY__LOG__FORMAT", "json")];
    let stderr = Stdio::from(File::create(&log).unwrap());
    let server = Process::start_logging_to(data.path(), &settings, stderr);

    let key = server.enroll("canary@example.org").await;
    let cookie = server.sign_in("canary@example.org").await;
    let code = post(&server, &cookie, "/v1/self/claim-codes", json!({})).await.expect(201);
    let code = text(&code["code"]);
    // Refused requests carry secrets too.
    let claim = server.request(Method::POST, "/v1/agents/claim", &key);
    Answer::of(claim.json(&json!({"code": code}))).await.error(ErrorCode::Conflict);
    let forged = forged(&key);
    let refused = server.request(Method::GET, "/v1/keys", &forged);
    Answer::of(refused).await.error(ErrorCode::Unauthorized);
    let started = post(&server, "", "/v1/device/code", json!({})).await.expect(200);
    let device_code = text(&started["device_code"]);
    let poll = json!({"device_code": device_code});
    post(&server, "", "/v1/device/token", poll).await.expect(202);
    let mail = server.client.get(format!("{}/dev/mailbox", server.url));
    let mail = Answer::of(mail.header("accept", "application/json")).await.expect(200);
    let mail = text(&mail["items"][0]["text"]);
    let link = mail.split_once("token=").unwrap().1.split_whitespace().next().unwrap().to_owned();
    let spent = server.client.get(format!("{}/v1/auth/verify?token={link}", server.url));
    Answer::of(spent).await.error_of_its_own(ErrorCode::Unauthorized);
    let user_code = text(&started["user_code"]);
    server.terminate();

    let session = cookie.split_once('=').unwrap().1.to_owned();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("\"http.route\":\"/v1/device/token\""), "requests were logged");
    for secret in [key, forged, session, code, device_code, user_code, link] {
        let line = log.lines().find(|line| line.contains(&secret));
        assert!(line.is_none(), "{line:?}");
    }
}

#[tokio::test]
async fn a_paused_and_a_revoked_key_stay_refused_after_kill_9() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(data.path(), &[]);
    let paused = server.enroll("ada@example.org").await;
    let revoked = server.enroll("ada@example.org").await;
    let kept = server.enroll("ada@example.org").await;
    let cookie = server.sign_in("ada@example.org").await;
    for (key, verb, status) in [(&paused, "pause", 200), (&revoked, "revoke-key", 204)] {
        let agent = text(&server.get("/v1/keys", key).await["agent"]["id"]);
        let path = format!("/v1/self/agents/{agent}/{verb}");
        assert_eq!(post(&server, &cookie, &path, json!({})).await.status, status);
    }
    server.kill();

    let server = Process::start(data.path(), &[]);
    server.get("/v1/keys", &kept).await;
    for key in [&paused, &revoked] {
        let request = server.request(Method::GET, "/v1/keys", key);
        Answer::of(request).await.error(ErrorCode::Unauthorized);
    }
}
