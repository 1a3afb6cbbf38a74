//! The load generator against real servers: every scenario runs for a moment and leaves a result
//! that can be read, and nothing else. What it measures is not judged here.

use std::path::{Path, PathBuf};

use clap::Parser as _;
use rookery_load::{
    cli::Cli,
    command::carry_out,
    result::{Loop, ResultFile},
};
use serde_json::json;
use tempfile::TempDir;

use crate::harness::process::Process;

/// Runs a command line; what it left behind.
async fn run(args: &[&str]) -> (ResultFile, TempDir) {
    let out = tempfile::tempdir().expect("a folder");
    let folder = out.path().to_str().expect("text");
    let common = ["--duration", "1s", "--warmup", "100ms", "--runs", "1", "--out", folder];
    let words = ["rookery-load"].into_iter().chain(args.iter().copied()).chain(common);
    let cli = Cli::try_parse_from(words).expect("the command line is understood");
    carry_out(&cli.command).await.expect("it is carried out");
    let result = ResultFile::read(&out.path().join("result.json")).expect("a result");
    (result, out)
}

/// The same on a server of its own.
async fn run_spawned(args: &[&str]) -> (ResultFile, TempDir) {
    let binary = from_here(env!("CARGO_BIN_EXE_rookery"));
    let spawn = ["--spawn", "--server-bin", binary.to_str().expect("text")];
    run(&[args, &spawn].concat()).await
}

/// The way to a file from the working folder, as somebody types it.
fn from_here(absolute: &str) -> PathBuf {
    let here = std::env::current_dir().expect("a working folder");
    let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
    up.join(Path::new(absolute).strip_prefix("/").expect("an absolute path"))
}

/// What every result must hold: something was measured, answered, and written down.
fn check(result: &ResultFile, out: &Path) {
    assert!(!result.interrupted);
    assert!(!result.measurements.is_empty());
    assert!(!result.figures.is_empty());
    for measurement in &result.measurements {
        let case = &measurement.case;
        assert!(measurement.ok > 0, "{case}: {:?}", measurement.errors);
        assert_eq!(measurement.intended, measurement.sent + measurement.dropped, "{case}");
        let failed: u64 = measurement.errors.values().sum();
        assert_eq!(measurement.sent, measurement.ok + failed, "{case}");
    }
    let names = std::fs::read_dir(out).expect("the folder").flatten().map(|file| file.file_name());
    let names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    assert!(names.iter().any(|name| name.ends_with(".hgrm")), "{names:?}");
    let report = std::fs::read_to_string(out.join("report.html")).expect("a report");
    assert!(report.contains("<svg ") && !report.contains("<script"));
}

/// No request may have failed in these.
fn check_all_answered(result: &ResultFile) {
    for measurement in &result.measurements {
        assert!(measurement.errors.is_empty(), "{}: {:?}", measurement.case, measurement.errors);
    }
}

/// Throughputs are compared of closed loops alone: an open one answers as much as it is asked.
fn check_closed(result: &ResultFile) {
    for measurement in &result.measurements {
        let closed = matches!(measurement.timing, Loop::Closed { .. });
        assert!(closed, "{}: {:?}", measurement.case, measurement.timing);
    }
}

#[tokio::test]
async fn one_hot_app_takes_every_operation() {
    for operation in ["create", "update", "get", "list", "mixed"] {
        let args = ["hot-app", "--op", operation, "--rate", "200", "--rows", "100"];
        let (result, out) = run_spawned(&args).await;
        check(&result, out.path());
        check_all_answered(&result);
        let measured = &result.measurements[0];
        assert!(measured.corrected.is_some(), "an open loop is corrected");
        assert!((199..=201).contains(&measured.intended), "{}", measured.intended);
    }
}

#[tokio::test]
async fn a_closed_loop_is_labelled_and_has_no_corrected_latency() {
    let (result, out) = run_spawned(&["hot-app", "--closed", "4"]).await;
    check(&result, out.path());
    let measured = &result.measurements[0];
    assert_eq!(measured.corrected, None);
    assert!(measured.timing.label().contains("not for latency"));
}

#[tokio::test]
async fn a_server_slower_than_the_phase_still_leaves_a_figure() {
    let out = tempfile::tempdir().expect("a folder");
    let words = ["rookery-load", "hot-app", "--spawn", "--closed", "3", "--runs", "1", "--warmup"];
    let words = words.into_iter().chain(["0ms", "--duration", "0.001ms", "--out"]);
    let words = words.chain([out.path().to_str().expect("text")]);
    let words = words.chain(["--server-bin", env!("CARGO_BIN_EXE_rookery")]);
    let cli = Cli::try_parse_from(words).expect("the command line is understood");
    carry_out(&cli.command).await.expect("it is carried out");
    let result = ResultFile::read(&out.path().join("result.json")).expect("a result");
    check(&result, out.path());
    let measured = &result.measurements[0];
    assert_eq!(measured.ok, 3, "one answer of each connection");
    assert!(measured.throughput > 0.0 && measured.throughput < 3.0 / 0.000_001, "{measured:?}");
}

#[tokio::test]
async fn a_search_tries_rates_until_a_bound_breaks() {
    let bound = ["--bound-p99", "20ms", "--duration", "200ms"];
    let out = tempfile::tempdir().expect("a folder");
    let words = ["rookery-load", "ceiling", "--spawn", "--search", "--rate", "3000", "--warmup"];
    let words = words.into_iter().chain(["50ms", "--out", out.path().to_str().expect("text")]);
    let words = words.chain(["--server-bin", env!("CARGO_BIN_EXE_rookery")]).chain(bound);
    let cli = Cli::try_parse_from(words).expect("the command line is understood");
    carry_out(&cli.command).await.expect("it is carried out");
    let result = ResultFile::read(&out.path().join("result.json")).expect("a result");
    let search = &result.searches[0];
    assert!(search.steps.iter().any(|step| step.broke.is_some()), "{search:?}");
}

#[tokio::test]
async fn many_apps_are_told_apart() {
    for skew in ["uniform", "zipf"] {
        let args = ["many-apps", "--apps", "5", "--rows", "10", "--skew", skew, "--rate", "400"];
        let (result, out) = run_spawned(&args).await;
        check(&result, out.path());
        check_all_answered(&result);
        let fairness = result.measurements[0].fairness.as_ref().expect("several apps");
        assert_eq!((fairness.apps, fairness.by_app.len()), (5, 5));
        assert!(fairness.jain.is_some_and(|jain| jain > 0.5 && jain <= 1.0), "{fairness:?}");
    }
}

#[tokio::test]
async fn a_sweep_tells_latency_and_memory_by_the_number_of_apps() {
    let (result, out) = run_spawned(&["sweep", "--apps-max", "20", "--rate", "100"]).await;
    check(&result, out.path());
    check_all_answered(&result);
    let sizes: Vec<f64> = result.series[0].points.iter().map(|(size, _)| *size).collect();
    assert_eq!(sizes, [1.0, 10.0, 20.0]);
}

#[tokio::test]
async fn apps_that_are_woken_were_asleep() {
    let (result, out) = run_spawned(&["wake", "--apps", "5", "--rows", "200"]).await;
    check(&result, out.path());
    check_all_answered(&result);
    assert_eq!(result.measurements[0].ok, 5);
    assert!(result.warnings.is_empty(), "{:?}", result.warnings);
}

#[tokio::test]
async fn every_follower_hears_of_every_commit() {
    for way in ["long-poll", "sse"] {
        let args = ["feed", "--way", way, "--followers", "20", "--commits-per-second", "5"];
        let (result, out) = run_spawned(&args).await;
        check(&result, out.path());
        let missed = format!("feed/{way}-20: missed");
        let missed = result.figures.iter().find(|figure| figure.name == missed);
        assert_eq!(missed.expect("a figure").values, [0.0], "{way}");
        for writer in &result.measurements {
            let lateness = writer.lateness.as_ref().expect("how late the generator was");
            assert!((1..=5).contains(&lateness.count), "{lateness:?}");
        }
    }
}

#[tokio::test]
async fn followers_that_are_refused_are_told_of() {
    for way in ["long-poll", "sse"] {
        let args = ["feed", "--way", way, "--followers", "8", "--commits-per-second", "5"];
        let few = ["--set", "ROOKERY__FEED__WAITERS_PER_IP_MAX=3"];
        let (result, out) = run_spawned(&[&args[..], &few].concat()).await;
        check(&result, out.path());
        let warned = format!("feed/{way}-8 run 1: 5 followers ended early: http_429 5");
        assert!(result.warnings.contains(&warned), "{:?}", result.warnings);
    }
}

#[tokio::test]
async fn quiet_apps_are_measured_alone_and_beside_a_flood() {
    let rates = ["--quiet-rate", "50", "--flood-rate", "2000"];
    let (result, out) = run_spawned(&[&["noisy", "--quiet-apps", "3"], &rates[..]].concat()).await;
    check(&result, out.path());
    let cases: Vec<&str> = result.measurements.iter().map(|found| found.case.as_str()).collect();
    assert_eq!(cases, ["noisy/quiet-alone", "noisy/quiet-beside", "noisy/flooded"]);
}

#[tokio::test]
async fn the_cost_of_an_open_console_is_seen() {
    let (result, out) = run_spawned(&["console", "--apps", "3", "--rows", "2"]).await;
    check(&result, out.path());
    check_all_answered(&result);
    check_closed(&result);
    let cases: Vec<_> = result.measurements.iter().map(|found| found.case.as_str()).collect();
    assert_eq!(cases, ["console/update-3-closed", "console/update-3-open"]);
    let share = result.figures.iter().find(|it| it.name == "console: throughput, open / closed");
    assert!(share.expect("the figure").values[0] > 0.0);
}

#[tokio::test]
async fn a_budget_for_anonymous_visitors_is_seen_to_hold() {
    let args = ["anonymous", "--visitors", "4", "--budget", "50", "--rate", "100"];
    let (result, out) = run_spawned(&args).await;
    check(&result, out.path());
    assert!(
        result.warnings.iter().all(|warning| !warning.contains("budget")),
        "{:?}",
        result.warnings
    );
    let bound = &result.measurements[1];
    assert_eq!(
        (bound.ok, &bound.errors),
        (50, &[("collection_write_budget_exceeded".to_owned(), 50)].into())
    );
}

#[tokio::test]
async fn the_ceiling_is_an_answer_and_nothing_else() {
    let (result, out) = run_spawned(&["ceiling", "--rate", "500"]).await;
    check(&result, out.path());
    check_all_answered(&result);
}

#[tokio::test]
async fn the_suite_prints_the_table_of_the_performance_page() {
    let short = ["--case-duration", "200ms", "--moderate-rate", "100", "--loop-connections", "8"];
    let few = ["suite", "--grow-to", "500", "--wakes", "3", "--memory-apps", "20"];
    let (result, out) = run_spawned(&[&few[..], &short[..]].concat()).await;
    check(&result, out.path());
    check_all_answered(&result);
    let table = std::fs::read_to_string(out.path().join("suite.md")).expect("the table");
    for figure in [
        "ceiling",
        "update, one app of 1,000 rows",
        "create, over 100 apps",
        "get, one row",
        "list, 50 rows",
        "create, one app growing to 500 rows",
        "update at 100/s: p99",
        "wake/1000-rows: p99",
        "memory per live app of 100 rows",
    ] {
        assert!(table.contains(&format!("\n| {figure} | ")), "{figure}: {table}");
    }
}

#[tokio::test]
async fn a_run_on_somebody_elses_server_leaves_no_app_behind() {
    let data = tempfile::tempdir().expect("a folder");
    let server = Process::start(data.path(), &[]);
    let key = server.enroll("owner@example.com").await;
    let (result, out) = run(&[
        "many-apps",
        "--apps",
        "3",
        "--rows",
        "5",
        "--url",
        &server.url,
        "--agent-key",
        &key,
    ])
    .await;
    check(&result, out.path());
    for path in ["/v1/apps", "/v1/apps?status=deleted"] {
        assert_eq!(server.get(path, &key).await["items"], json!([]), "{path}");
    }
    assert!(!result.to_json().contains(&key), "no secret in a result");

    // Without a key it signs in through the mailbox, by whichever name it reaches the server.
    let address = server.url.replace("localhost", "127.0.0.1");
    let (result, _out) =
        run(&["hot-app", "--op", "create", "--rate", "50", "--url", &address]).await;
    check_all_answered(&result);

    // What is refused before anything is measured leaves an earlier result alone.
    let earlier = out.path().join("result.json");
    let before = std::fs::read(&earlier).expect("a result");
    let folder = out.path().to_str().expect("text");
    let words = ["rookery-load", "restart", "--url", &server.url, "--agent-key", &key];
    let cli = Cli::try_parse_from(words.into_iter().chain(["--out", folder]));
    let refused = carry_out(&cli.expect("it is understood").command).await.unwrap_err();
    assert!(refused.to_string().contains("--spawn"), "{refused}");
    assert_eq!(std::fs::read(&earlier).expect("a result"), before);
}

#[tokio::test]
async fn whoever_an_app_is_shared_with_reads_it() {
    let args = ["permissions", "--shared-with", "20", "--rows", "20"];
    let (result, out) = run_spawned(&args).await;
    check(&result, out.path());
    check_all_answered(&result);
    check_closed(&result);
    let cases: Vec<_> = result.measurements.iter().map(|found| found.case.as_str()).collect();
    let kinds = ["owner", "member", "credential", "grant-holder"];
    let expected =
        kinds.map(|kind| [format!("permissions/{kind}"), format!("permissions/{kind}-of-20")]);
    assert_eq!(cases, expected.concat());
    let shares =
        |result: &ResultFile| result.figures.iter().filter(|figure| figure.unit == "ratio").count();
    assert_eq!(shares(&result), 8);
    // At a given rate the throughput of each is that rate.
    let (result, _out) = run_spawned(&[&args[..], &["--rate", "200"]].concat()).await;
    assert_eq!(shares(&result), 0);
    assert!(result.measurements.iter().all(|measured| measured.corrected.is_some()));
}
