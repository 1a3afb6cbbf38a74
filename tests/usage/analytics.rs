//! The report of page views: what it holds, for whom, and which days.

use reqwest::Method;
use rookery_actors::WorkerKind;
use rookery_domain::ErrorCode;
use rookery_testkit::until;
use serde_json::{Value, json};

use super::{DAY_S, at, public_app, report, view, visit};
use crate::harness::{Answer, TestServer};

fn seen(pageviews: u64, uniques: u64) -> Value {
    json!({"pageviews": pageviews, "uniques": uniques})
}

#[tokio::test]
async fn views_are_told_by_day_hour_country_and_referrer_without_waking_the_app() {
    let server = TestServer::start().await;
    let owner = server.owner("ada").await;
    let app = public_app(&server, &owner, "garden").await;
    view(visit(&server, &app, "/").header("referer", "https://news.example/today?q=1")).await;
    let other = server.request(Method::GET, "/").header("host", "garden.localhost");
    view(other.header("user-agent", "Other/1.0")).await;
    at(&server, 3_600).await;
    view(visit(&server, &app, "/").header("referer", "http://garden.localhost:1/x")).await;

    let found = report(&server, &owner, &app, "/analytics?days=2").await;
    let expected = json!({
        "days": 2, "from": "2026-01-30", "to": "2026-01-31", "timezone": "UTC",
        "totals": seen(3, 2),
        "by_day": [
            {"date": "2026-01-30", "pageviews": 0, "uniques": 0},
            {"date": "2026-01-31", "pageviews": 3, "uniques": 2},
        ],
        "by_hour": found["by_hour"],
        "by_country": [{"country": "unknown", "pageviews": 3, "uniques": 2}],
        "by_referrer": [
            {"referrer": "direct", "pageviews": 2, "uniques": 1},
            {"referrer": "news.example", "pageviews": 1, "uniques": 1},
        ],
    });
    assert_eq!(found, expected);
    let hours = found["by_hour"].as_array().unwrap();
    assert_eq!(hours.len(), 24 + 14, "until the running hour");
    let hour = |starts_at: &str, pageviews, uniques| json!({"starts_at": starts_at, "pageviews": pageviews, "uniques": uniques});
    assert_eq!(hours[0], hour("2026-01-30T00:00:00.000Z", 0, 0));
    assert_eq!(hours[36], hour("2026-01-31T12:00:00.000Z", 2, 2));
    assert_eq!(hours[37], hour("2026-01-31T13:00:00.000Z", 1, 1));
    assert_eq!(report(&server, &owner, &app, "").await["status"], "dormant");
}

#[tokio::test]
async fn a_visitor_is_one_for_a_day_also_over_a_restart_and_a_stranger_the_next_day() {
    let server = TestServer::start().await;
    let owner = server.owner("ada").await;
    let app = public_app(&server, &owner, "garden").await;
    view(visit(&server, &app, "/")).await;
    let server = server.restart().await;
    view(visit(&server, &app, "/")).await;
    let found = report(&server, &owner, &app, "/analytics").await;
    assert_eq!(found["totals"], seen(2, 1), "written down at the shutdown, salt and all");

    // Half a second before midnight, and after it.
    at(&server, DAY_S / 2 - 1).await;
    view(visit(&server, &app, "/")).await;
    at(&server, DAY_S / 2).await;
    view(visit(&server, &app, "/")).await;
    let found = report(&server, &owner, &app, "/analytics?days=2").await;
    assert_eq!(found["by_day"][0], json!({"date": "2026-01-31", "pageviews": 3, "uniques": 1}));
    assert_eq!(found["by_day"][1], json!({"date": "2026-02-01", "pageviews": 1, "uniques": 1}));
    let today = report(&server, &owner, &app, "/analytics?days=1").await;
    assert_eq!(today["totals"], seen(1, 1));
}

#[tokio::test]
async fn rounds_come_by_themselves_one_after_another() {
    let builder = TestServer::builder().set("ROOKERY__METERS__ROLLUP_INTERVAL_S", "1");
    let server = builder.with_timed_rounds().start().await;
    let rounds = || {
        let all = server.state().rooms.runtime.workers().observe();
        all.iter().find(|worker| worker.kind == WorkerKind::Metering).map(|worker| worker.rounds)
    };
    until("a second round", || rounds() >= Some(2)).await;
}

#[tokio::test]
async fn sums_are_kept_for_their_time_and_no_longer() {
    let builder = TestServer::builder().set("ROOKERY__METERS__RETENTION_DAYS", "3");
    let server = builder.start().await;
    let owner = server.owner("ada").await;
    let app = public_app(&server, &owner, "garden").await;
    view(visit(&server, &app, "/")).await;
    let run = async || server.round(WorkerKind::Metering).await;
    assert_eq!(run().await, 1, "one app");
    for (days, views) in [(3, 1), (4, 0)] {
        at(&server, days * DAY_S).await;
        run().await;
        let found = report(&server, &owner, &app, "/analytics?days=7").await;
        assert_eq!(found["totals"], seen(views, views), "after {days} days");
    }
}

#[tokio::test]
async fn referrers_beyond_a_hundred_are_other() {
    let server = TestServer::start().await;
    let owner = server.owner("ada").await;
    let app = public_app(&server, &owner, "garden").await;
    for i in 0..105 {
        let from = format!("https://site-{i:03}.example/");
        view(visit(&server, &app, "/").header("referer", from)).await;
    }
    view(visit(&server, &app, "/").header("referer", "https://site-000.example/")).await;
    let found = report(&server, &owner, &app, "/analytics").await;
    let referrers = found["by_referrer"].as_array().unwrap();
    assert_eq!(referrers.len(), 101);
    let (other, named) = referrers.split_last().unwrap();
    assert_eq!((&other["referrer"], &other["pageviews"]), (&json!("other"), &json!(5)));
    assert!(named.iter().all(|one| one["pageviews"] == 1 || one["referrer"] == "site-000.example"));
    assert_eq!(found["totals"], seen(106, 1));
    let uniques: u64 = referrers.iter().map(|one| one["uniques"].as_u64().unwrap()).sum();
    assert_eq!(uniques, 1, "a visitor counts where it came from first");
}

#[tokio::test]
async fn both_reports_of_an_app_are_its_owners_and_name_what_is_wrong() {
    let server = TestServer::start().await;
    let owner = server.owner("ada").await;
    let stranger = server.owner("eve").await;
    let app = public_app(&server, &owner, "garden").await;
    for below in ["/analytics", "/usage"] {
        let path = app.path(below);
        server.get(&path).await.error(ErrorCode::Unauthorized);
        server.get_as(&stranger, &path).await.error(ErrorCode::AppNotFound);
        let session = server.request(Method::GET, &path);
        let session = session.header("cookie", format!("service_session={}", owner.session));
        Answer::of(session).await.expect(200);
        server.get_as(&owner, &format!("/v1/apps/garden{below}")).await.expect(200);
        for days in ["0", "367", "-1", "x", "1.5", "", "99999999999"] {
            let error = server.get_as(&owner, &format!("{path}?days={days}")).await;
            let error = error.error(ErrorCode::InvalidRequest);
            assert!(error["message"].as_str().unwrap().contains("days"), "{error}");
        }
        for days in ["1", "366"] {
            let found = server.get_as(&owner, &format!("{path}?days={days}")).await.expect(200);
            assert_eq!(found["days"].to_string(), days);
        }
        let unknown = server.get_as(&owner, &format!("{path}?day=1")).await;
        let message = unknown.error(ErrorCode::InvalidRequest)["message"].to_string();
        assert!(message.contains("day"), "{message}");

        let gone = server.deploy(&owner, json!({})).await;
        server.send(Method::DELETE, &owner, &gone.path(""), &json!({})).await;
        server.get_as(&owner, &gone.path(below)).await.error(ErrorCode::SoftDeleted);
    }
}
