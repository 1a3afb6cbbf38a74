//! What is wrong: said first, worst first, and only when it is so.

use std::{sync::Arc, time::Duration};

use reqwest::{Method, StatusCode};
use rookery::{
    http::edge::figures::{HttpFigures, Listener, RouteFigures},
    ops::{overview::Overview, problems::problems},
};
use rookery_testkit::{until, until_async};
use serde_json::json;

use crate::harness::{Answer, TestServer};

#[test]
fn polls_that_are_held_say_nothing_of_how_long_answers_take() {
    let figures = HttpFigures::default();
    let changes = "/apps/{id}/data/{collection}/changes";
    let templates = ["/v1/apps/{id}/feed", "/s/feed", "/v1/apps/{id}", changes].map(str::to_owned);
    let routes = Arc::new(RouteFigures::new(Listener::Site, templates.into()));
    figures.add(Arc::clone(&routes));
    for (route, seconds) in [(0, 25), (1, 60), (2, 1), (3, 25)] {
        let took = Duration::from_secs(seconds);
        routes.record(Some(route), &Method::GET, StatusCode::OK, took);
    }
    let totals = figures.totals();
    assert_eq!((totals.count, totals.took.count()), (4, 1));
    assert_eq!(totals.took.sum_us, 1_000_000);
}

fn well() -> Overview {
    let mut seen = Overview::default();
    seen.writer.ok = true;
    seen.memory.budget_bytes = 1 << 30;
    seen
}

#[test]
fn nothing_is_wrong_with_a_quiet_and_with_a_busy_server() {
    assert_eq!(problems(&well()), []);
    let mut busy = well();
    busy.apps.live = 100_000;
    busy.messages.per_second = 50_000.0;
    busy.messages.refused_per_second = 10.0;
    busy.messages.wait_p99_seconds = Some(0.02);
    busy.mails_failed_in_a_row = 2;
    busy.long_jobs_waiting = 12;
    busy.long_job_wait_seconds = 0.2;
    busy.writer.commit_p99_seconds = Some(0.01);
    busy.writer.wait_seconds = 0.2;
    busy.memory.resident_bytes = 1 << 29;
    assert_eq!(problems(&busy), []);
}

#[test]
fn each_trouble_is_said_with_its_figure_and_a_page_that_is_there_worst_first() {
    let mut seen = well();
    seen.writer.ok = false;
    seen.accounts_loading = true;
    seen.apps.quarantined = 3;
    seen.apps.restarting = 1;
    seen.http.failed_per_second = 2.0;
    seen.messages.failed_per_second = 7.0;
    seen.messages.wait_p99_seconds = Some(1.5);
    seen.mails_failed_in_a_row = 3;
    seen.long_jobs_waiting = 12;
    seen.long_job_wait_seconds = 2.5;
    seen.writer.commit_p99_seconds = Some(0.3);
    seen.writer.queued = 14;
    seen.writer.wait_seconds = 1.2;
    seen.event_loop_lag_seconds = 0.4;
    seen.writer.wal_alarm = true;
    seen.memory.resident_bytes = 1 << 30;
    let found = problems(&seen);
    let order: Vec<_> = found.iter().map(|problem| problem.what.as_str()).collect();
    assert_eq!(
        order,
        [
            "the writer does not commit",
            "accounts are being loaded",
            "apps are quarantined",
            "apps crash",
            "answers fail",
            "messages fail",
            "messages wait long",
            "long jobs wait for their turn",
            "mail is not sent",
            "commits wait for the writer",
            "the disk is slow",
            "the CPUs are too few",
            "the log grows",
            "memory is at its budget",
        ]
    );
    assert!(found[2].why.starts_with('3'), "{found:?}");
    assert!(found.iter().any(|problem| problem.why.contains("1.5 s")), "{found:?}");
    let jobs = "12 wait, the oldest for 2.5 s";
    assert!(found.iter().any(|problem| problem.why == jobs), "{found:?}");
    for problem in found {
        let page = problem.page.split('?').next().unwrap();
        assert!(["/ops", "/ops/tree", "/ops/hot", "/ops/restarts"].contains(&page), "{page}");
    }
}

#[tokio::test]
async fn a_quarantined_app_is_the_first_thing_that_the_overview_says() {
    let server = TestServer::start().await;
    let state = server.state();
    // A machine that has too much to do is wrong, too, and said to be.
    until_async("nothing is wrong", async || {
        state.ops.tick(state);
        let page = Answer::of(server.ops(Method::GET, "/ops")).await;
        page.text.contains(">nothing</a>")
    })
    .await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({})).await;
    let handle = state.rooms.apps().find(&app.id).await.unwrap();
    for _ in 0..3 {
        handle.root().await.unwrap();
        let before = handle.observe().crashes;
        assert!(handle.inject_panic());
        until("a crash", || handle.observe().crashes != before).await;
    }
    state.ops.tick(state);
    let seen = Answer::of(server.ops(Method::GET, "/ops/api/overview")).await.expect(200);
    assert!(seen["problems"].as_array().unwrap().iter().any(|it| it["what"] == "apps crash"));
    let page = Answer::of(server.ops(Method::GET, "/ops")).await;
    let (wrong, figures) = page.text.split_once("<dl").expect("figures come later");
    assert!(wrong.contains(">apps crash</a>") && wrong.contains("/ops/restarts"), "{wrong}");
    assert!(figures.contains("Live apps"));
}

#[test]
fn a_refused_look_at_readiness_is_said_where_nothing_else_says_it() {
    let mut seen = well();
    seen.not_ready = Some("a later server has taken the database over".to_owned());
    let found = problems(&seen);
    assert_eq!((found.len(), found[0].what.as_str()), (1, "not ready"));
    assert!(found[0].why.contains("a later server"), "{found:?}");
    seen.writer.ok = false;
    let instead: Vec<_> = problems(&seen).into_iter().map(|problem| problem.what).collect();
    assert_eq!(instead, ["the writer does not commit"]);
}
