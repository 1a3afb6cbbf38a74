//! A noisy neighbour: one app is flooded, twenty quiet ones are measured. `rookery-load noisy` does
//! the measuring.

use std::time::Duration;

use clap::Parser as _;
use rookery_load::{cli::Cli, command, result::ResultFile};

use crate::{
    failure::{Failure, Result},
    verdict::Verdict,
    world::World,
};

/// Requests a second to the flooded app, in the long form.
const FLOOD_PER_SECOND: usize = 20_000;
/// How long each phase takes.
const PHASE: Duration = Duration::from_secs(10);
/// What the quiet apps' p99 may rise to, in times of alone and in microseconds.
const FACTOR_MAX: f64 = 2.0;
const P99_MAX_US: f64 = 100_000.0;
/// What the process may grow by: the flood waits in bounded queues.
const GROWTH_MAX_BYTES: u64 = 256 << 20;

/// Runs it.
///
/// # Errors
/// When it could not be carried out.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let rate = world.count(FLOOD_PER_SECOND, 1_000);
    let target = format!(
        "{rate} req/s on one app, 20 quiet apps: their p99 at most twice of alone and under \
         100 ms, memory bounded, the flooded app sheds with 503"
    );
    let mut verdict = Verdict::new("noisy", target);
    let scratch = tempfile::tempdir()?;
    let server = world.launch(scratch.path()).start().await?;
    let before = server.resident_bytes();
    let out = scratch.path().join("result");
    let (rate, seconds) = (rate.to_string(), format!("{}s", world.time(PHASE).as_secs()));
    let out_text = out.display().to_string();
    let words = [
        "rookery-load",
        "noisy",
        "--url",
        &server.url,
        "--runs",
        "1",
        "--flood-rate",
        &rate,
        "--duration",
        &seconds,
        "--out",
        &out_text,
    ];
    let failed = |error: &dyn std::fmt::Display| Failure(error.to_string());
    let cli = Cli::try_parse_from(words).map_err(|error| failed(&error))?;
    // Its futures stay on one thread, as in its own binary.
    let measured = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime
            .block_on(command::carry_out(&cli.command))
            .map_err(|error| std::io::Error::other(error.to_string()))
    });
    measured.await??;
    let grown = server.resident_bytes().saturating_sub(before);
    super::kill::stop(server).await?;
    let result = ResultFile::read(&out.join(rookery_load::result::FILE));
    let result = result.map_err(|error| failed(&error))?;
    let phase = |case: &str| {
        let found = result.measurements.iter().find(|one| one.case == format!("noisy/{case}"));
        found.ok_or_else(|| Failure(format!("no figure for {case}")))
    };
    let p99 = |case: &str| {
        let corrected = phase(case)?.corrected.as_ref();
        Ok::<_, Failure>(corrected.map_or(f64::MAX, |latency| latency.p99_us as f64))
    };
    let (alone, beside) = (p99("quiet-alone")?, p99("quiet-beside")?);
    let flooded = phase("flooded")?;
    verdict.expect(
        beside <= alone * FACTOR_MAX && beside <= P99_MAX_US,
        format!(
            "quiet p99 {:.1} ms beside, {:.1} ms alone: {:.1} times",
            beside / 1e3,
            alone / 1e3,
            beside / alone.max(1.0)
        ),
    );
    let shed = flooded.errors.get("unavailable").copied().unwrap_or(0);
    verdict.saw(format!(
        "the flooded app answered {:.0} updates/s and {shed} times unavailable; {} requests were \
         not sent because all connections waited",
        flooded.throughput, flooded.dropped
    ));
    for (code, count) in &flooded.errors {
        verdict.violations.unless(code == "unavailable", || format!("{count} times {code}"));
    }
    verdict.expect(grown <= GROWTH_MAX_BYTES, format!("the process grew by {} MiB", grown >> 20));
    Ok(verdict)
}
