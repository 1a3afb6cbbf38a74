//! `/metrics`: well-formed, complete, and without an id in any label.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use rookery::ops::exposition::{Exposition, Kind};
use rookery_testkit::until;
use serde_json::json;

use crate::harness::{Answer, START, TestServer, apps::guestbook};

/// The samples of a document by name and labels, after checking its form.
pub(crate) fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    let (mut family, mut families) = (String::new(), BTreeSet::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.split(' ').next().unwrap().to_owned();
            assert!(families.insert(family.clone()), "{family} comes once");
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect("a value");
        assert!(series.starts_with(&family), "{series} stands below its family {family}");
        assert!(found.insert(series.to_owned(), value.parse().unwrap()).is_none(), "{series}");
    }
    found
}

#[tokio::test]
async fn a_process_has_started_once_whatever_its_clock_does() {
    let server = TestServer::start().await;
    let started = async || {
        let answer = Answer::of(server.ops(Method::GET, "/metrics")).await;
        samples(&answer.text)["process_start_time_seconds"]
    };
    let before = started().await;
    assert_eq!(before, START.0 as f64 / 1e6);
    server.state().clock.set(START.plus_seconds(-3600));
    assert_eq!(started().await, before, "rules that look for restarts would see one");
}

#[tokio::test]
async fn the_metrics_count_what_was_done() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"slug": "counted", "manifest": guestbook()})).await;
    for n in 0..3 {
        let path = app.path("/collections/entries");
        let body = json!({"key": format!("k{n}"), "data": {}});
        server.send(Method::POST, &owner, &path, &body).await.expect(201);
    }
    assert_eq!(server.get("/v1/unknown/secret-canary").await.status, 404);
    let stray = Answer::of(server.request(Method::DELETE, "/v1/register")).await;
    assert_eq!(stray.status, 405);
    let answer = Answer::of(server.ops(Method::GET, "/metrics")).await;
    assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    let found = samples(&answer.text);
    let value = |series: &str| *found.get(series).unwrap_or_else(|| panic!("no {series}"));
    assert_eq!(value("rookery_messages_total{kind=\"create\",outcome=\"ok\"}"), 3.0);
    assert_eq!(value("rookery_apps{state=\"live\"}"), 1.0);
    assert_eq!(value("rookery_app_starts_total"), 1.0);
    assert_eq!(value("rookery_app_wake_seconds_count"), 1.0);
    assert_eq!(value("rookery_resident_rows"), 3.0);
    assert!(value("rookery_commits_total") >= 3.0);
    assert!(value("rookery_commit_rows_total") >= 3.0);
    assert!(value("rookery_commit_seconds_sum") > 0.0);
    assert_eq!(value("rookery_commit_batch_rows_count"), value("rookery_commits_total"));
    assert_eq!(value("rookery_commit_batch_rows_sum"), value("rookery_commit_rows_total"));
    assert!(value("rookery_commit_batch_rows_bucket{le=\"1\"}") >= 3.0);
    assert_eq!(value("rookery_messages_queued"), 0.0);
    assert_eq!(value("rookery_app_restarts_total{cause=\"crashed\"}"), 0.0);
    assert_eq!(value("rookery_http_errors_total{code=\"not_found\"}"), 1.0);
    let creates = "rookery_http_request_duration_seconds_count{listener=\"site\",\
        route=\"/v1/apps/{id}/collections/{name}\",method=\"POST\",class=\"2xx\"}";
    assert_eq!(value(creates), 3.0);
    let unknown = "rookery_http_request_duration_seconds_count{listener=\"site\",\
        route=\"unknown\",method=\"GET\",class=\"4xx\"}";
    assert_eq!(value(unknown), 1.0);
    let stray = "rookery_http_request_duration_seconds_count{listener=\"site\",\
        route=\"/v1/register\",method=\"other\",class=\"4xx\"}";
    assert_eq!(value(stray), 1.0);
    for private in [app.id.as_str(), "counted", "secret-canary", "entries", "ann@"] {
        assert!(!answer.text.contains(private), "{private}");
    }
    // Each histogram counts upwards and ends with its count.
    for (series, count) in &found {
        if let Some((name, labels)) = series.split_once("_count") {
            let infinite = match labels.strip_suffix('}') {
                Some(labels) => format!("{name}_bucket{labels},le=\"+Inf\"}}"),
                None => format!("{name}_bucket{{le=\"+Inf\"}}"),
            };
            assert_eq!(value(&infinite), *count, "{series}");
        }
    }
}

#[tokio::test]
async fn who_leaves_before_the_answer_is_counted() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    let now = server.get_as(&owner, &app.path("/feed?wait=0")).await;
    let since = now.expect(200)["cursor"].as_str().unwrap().to_owned();
    let path = app.path(&format!("/feed?since={since}&wait=60"));
    let poll = tokio::spawn(server.call(Method::GET, &path, &owner).send());
    server.open_polls(1).await;
    poll.abort();
    until("the one that left is counted", || {
        let figures = server.state().ops.http.routes();
        let mut readings = figures.iter().flat_map(|routes| routes.read());
        readings.any(|it| it.route.ends_with("/feed") && it.class == "4xx" && it.took.count() == 1)
    })
    .await;
}

#[test]
fn the_dashboard_asks_only_for_what_is_there() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/config/grafana/rookery.json");
    let text = std::fs::read_to_string(path).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
    let source = include_str!("../../src/ops/metrics.rs");
    let mut asked = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = target["expr"].as_str().unwrap();
            let is_word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
            let words = expression.split(is_word);
            for word in words.filter(|w| w.starts_with("rookery_") || w.starts_with("process_")) {
                let base = ["_bucket", "_sum", "_count"].iter().find_map(|s| word.strip_suffix(s));
                let name = format!("\"{}\"", base.unwrap_or(word));
                assert!(source.contains(&name), "{word}");
                asked += 1;
            }
        }
    }
    assert!(asked > 10);
}

#[test]
fn labels_and_help_are_escaped_and_buckets_add_up() {
    let mut out = Exposition::default();
    out.family("a_seconds", Kind::Histogram, "one\nline \\ only");
    out.seconds("a_seconds", &[("route", "a\"b\\c\nd")], &[1_000, 2_500_000], &[1, 2, 3], 500);
    assert_eq!(
        out.into_text(),
        "# HELP a_seconds one\\nline \\\\ only\n\
         # TYPE a_seconds histogram\n\
         a_seconds_bucket{route=\"a\\\"b\\\\c\\nd\",le=\"0.001\"} 1\n\
         a_seconds_bucket{route=\"a\\\"b\\\\c\\nd\",le=\"2.5\"} 3\n\
         a_seconds_bucket{route=\"a\\\"b\\\\c\\nd\",le=\"+Inf\"} 6\n\
         a_seconds_sum{route=\"a\\\"b\\\\c\\nd\"} 0.0005\n\
         a_seconds_count{route=\"a\\\"b\\\\c\\nd\"} 6\n"
    );
}
