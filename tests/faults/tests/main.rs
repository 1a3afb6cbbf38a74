//! The short form of the campaign: each fault a few times, with every check of the long form. What
//! is timed is told and not judged here, because other tests run at the same time.

use std::path::PathBuf;

use rookery_faults::{campaigns::Fault, verdict::Verdict, world::World};
use tokio::sync::Mutex;

/// One campaign at a time: each brings a load of its own.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// Runs a fault at this scale of the long form; nothing may be violated.
async fn run(fault: Fault, scale: f64) -> Verdict {
    let _turn = ONE_AT_A_TIME.lock().await;
    let program = PathBuf::from(env!("CARGO_BIN_EXE_rookery-faults"));
    let campaigns = program.clone();
    let world = World { program, campaigns, scale, database_url: None };
    let verdict = fault.run(&world).await.expect("the campaign is carried out");
    assert_eq!(verdict.violations.count(), 0, "{verdict}");
    verdict
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_at_kill_9_in_the_middle_of_64_writers() {
    run(Fault::Kill, 0.008).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_under_load_ends_in_time_and_loses_nothing() {
    run(Fault::Sigterm, 0.03).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_loss_loses_nothing_and_the_control_shows_that_it_could() {
    let verdict = run(Fault::Power, 0.01).await;
    assert!(verdict.missed.is_empty(), "{verdict}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_fsync_acknowledges_nothing_and_ends_the_process() {
    run(Fault::Fsync, 0.02).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_writes_and_recovers_without_a_restart() {
    run(Fault::Full, 0.1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_breaks_at_any_point_is_all_or_nothing() {
    run(Fault::Commit, 0.01).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn panics_hang_nobody_and_a_poison_row_is_set_aside() {
    let verdict = run(Fault::Panics, 0.005).await;
    assert!(verdict.seen.contains(&"50 panics".to_owned()), "{verdict}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clock_jumps_refill_nothing_and_bring_nothing_back() {
    run(Fault::Clock, 0.1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_postgresql_makes_no_false_acknowledgement() {
    if rookery_testkit::postgres().is_some() {
        run(Fault::Postgres, 0.03).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flooded_app_is_refused_with_unavailable_only() {
    run(Fault::Noisy, 0.1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_and_slow_senders_are_closed() {
    let verdict = run(Fault::Crowds, 0.02).await;
    assert!(verdict.seen.iter().any(|figure| figure.starts_with("220 of 220 closed")), "{verdict}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_reaches_every_waiting_poll() {
    run(Fault::Polls, 0.02).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apps_beyond_the_memory_budget_hibernate_and_come_back() {
    let verdict = run(Fault::Memory, 0.001).await;
    assert!(verdict.missed.is_empty(), "{verdict}");
}
