//! The short form of the campaign: each fault a few times, with every check of the long form.

use std::path::PathBuf;

use rookery_faults::{campaigns::Fault, verdict::Verdict, world::World};

/// Runs a fault at this scale of the long form; nothing may be violated.
async fn run(fault: Fault, scale: f64) -> Verdict {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_rookery-faults"));
    let world = World { program, scale, database_url: None };
    let verdict = fault.run(&world).await.expect("the campaign is carried out");
    assert_eq!(verdict.violations.count(), 0, "{verdict}");
    verdict
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_at_kill_9_in_the_middle_of_64_writers() {
    run(Fault::Kill, 0.02).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_under_load_ends_in_time_and_loses_nothing() {
    run(Fault::Sigterm, 0.03).await;
}
