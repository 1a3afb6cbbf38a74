//! Power loss: the order of writes and syncs is recorded, disks are rebuilt as they may look at
//! random moments, and each is opened. With `synchronous=NORMAL` the same has to find losses.

use std::path::Path;

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use rookery_domain::id::AppId;

use crate::{
    api::Api,
    crew::{Crew, OnSilence},
    disk::{Disk, FILES, Trace, examine},
    failure::{Failure, Result},
    journal::Journal,
    serve,
    shim::Shim,
    verdict::Verdict,
    world::{App, World},
};

/// Images of the long form; a tenth as many for the control.
const IMAGES: usize = 10_000;
/// Acknowledged changes in one recording: many checkpoints, and small enough to open often.
const ACKNOWLEDGED: usize = 3_000;
/// Requests that write at the same time: few, so that there are many commits.
const WRITERS: usize = 8;
/// So many acknowledgements take this long at most.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);
/// Seeds the random cuts; the same trace gives the same images.
const SEED: u64 = 0x0070_6f77_6572;

/// Runs it.
///
/// # Errors
/// When it could not be carried out.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let images = world.count(IMAGES, 100);
    let target = format!(
        "{images} images: none corrupt, no acknowledged write missing; the control loses some"
    );
    let mut verdict = Verdict::new("power", target);
    let acknowledged = world.count(ACKNOWLEDGED, 600);
    let sound = record(world, acknowledged, false).await?;
    let seen = play(&sound, images).await?;
    verdict.saw(format!(
        "{images} images from {} writes and {} syncs under {} acknowledged changes: {} corrupt, \
         {} without an acknowledged change",
        sound.writes()?,
        sound.syncs()?,
        sound.journal.acknowledged,
        seen.corrupt.len(),
        seen.missing.len()
    ));
    for words in seen.corrupt.into_iter().chain(seen.missing) {
        verdict.violations.add(words);
    }
    let control = record(world, acknowledged, true).await?;
    let images = images.div_ceil(10).max(100);
    let seen = play(&control, images).await?;
    let lost = seen.missing.len();
    verdict.expect(
        lost > 0,
        format!("control at synchronous=NORMAL: {lost} of {images} images lost something"),
    );
    for words in seen.corrupt {
        verdict.violations.add(format!("control: {words}"));
    }
    Ok(verdict)
}

/// What was recorded.
struct Recording {
    app: AppId,
    /// The files before the recording began.
    base: [Vec<u8>; FILES.len()],
    trace: Vec<u8>,
    journal: Journal,
}

impl Recording {
    fn writes(&self) -> Result<usize> {
        let trace = Trace::read(&self.trace)?;
        let is_write = |record: &&(u64, crate::disk::Record<'_>)| {
            matches!(record.1, crate::disk::Record::Write { .. })
        };
        Ok(trace.records.iter().filter(is_write).count())
    }

    fn syncs(&self) -> Result<usize> {
        let trace = Trace::read(&self.trace)?;
        let is_sync = |record: &&(u64, crate::disk::Record<'_>)| {
            matches!(record.1, crate::disk::Record::SyncEnded { .. })
        };
        Ok(trace.records.iter().filter(is_sync).count())
    }
}

async fn record(world: &World, acknowledged: usize, is_control: bool) -> Result<Recording> {
    let scratch = tempfile::tempdir()?;
    let shim = Shim::build(scratch.path())?;
    let launch = world.launch_sqlite(scratch.path());
    let server = launch.start().await?;
    let api = Api::enroll(&server.url, "owner@example.org").await?;
    let app = App::deploy(&api).await?;
    super::kill::stop(server).await?;
    let base = files(&launch.data)?;

    let trace = scratch.path().join("trace");
    let mut recording = shim.recording(launch, &trace);
    if is_control {
        recording = recording.set(serve::SYNCHRONOUS, "normal");
    }
    let server = recording.start().await?;
    let api = api.at(&server.url);
    let silence = OnSilence::CredentialWatch;
    let crew = Crew::start_marking(&api, &app, "p", WRITERS, silence, Some(&trace));
    crew.reach(acknowledged, PATIENCE).await?;
    server.kill().await?;
    let journal = crew.finish().await?;
    let id = app.id.parse().map_err(|_| Failure::new("an app's id"))?;
    Ok(Recording { app: id, base, trace: std::fs::read(&trace)?, journal })
}

fn files(data: &Path) -> Result<[Vec<u8>; FILES.len()]> {
    let mut files = [Vec::new(), Vec::new()];
    for (bytes, name) in files.iter_mut().zip(FILES) {
        let path = data.join(name);
        if path.exists() {
            *bytes = std::fs::read(path)?;
        }
    }
    Ok(files)
}

/// What the images showed.
#[derive(Default)]
struct Seen {
    corrupt: Vec<String>,
    missing: Vec<String>,
}

async fn play(recording: &Recording, images: usize) -> Result<Seen> {
    let trace = Trace::read(&recording.trace)?;
    let mut rng = StdRng::seed_from_u64(SEED);
    let mut cuts: Vec<usize> =
        (0..images).map(|_| rng.random_range(0..trace.records.len())).collect();
    cuts.sort_unstable();
    let mut marks: Vec<_> = recording.journal.marks.iter().collect();
    marks.sort_by_key(|(at, _)| *at);
    let mut disk = Disk::new(recording.base.clone());
    let (mut played, mut told) = (0, 0);
    let mut must: std::collections::HashMap<&str, u64> = std::collections::HashMap::new();
    let mut seen = Seen::default();
    // In memory where there is such a place: the images are many.
    let place = Path::new("/dev/shm");
    let folder = match place.is_dir() {
        true => tempfile::tempdir_in(place)?,
        false => tempfile::tempdir()?,
    };
    for cut in cuts {
        while played <= cut {
            disk.play(&trace.records[played].1);
            played += 1;
        }
        let at = trace.records[cut].0;
        while told < marks.len() && marks[told].0 <= at {
            for (key, row) in &marks[told].1 {
                let version = must.entry(key).or_default();
                *version = row.version.max(*version);
            }
            told += 1;
        }
        for (bytes, name) in disk.lose_power(&mut rng).iter().zip(FILES) {
            std::fs::write(folder.path().join(name), bytes)?;
        }
        let _ = std::fs::remove_file(folder.path().join("rookery.db-shm"));
        let found = examine(folder.path(), recording.app).await;
        let missing = must
            .iter()
            .find(|(key, version)| found.versions.get(**key).is_none_or(|found| found < version));
        if let Some((key, version)) = missing {
            seen.missing.push(format!("cut at {at}: {key} lacks version {version}"));
        }
        if !found.corrupt.is_empty() {
            seen.corrupt.push(format!("cut at {at}: {}", found.corrupt.join("; ")));
        }
        judge_batches(&recording.journal, &found.versions, at, &mut seen);
    }
    Ok(seen)
}

/// Atomic batches are there as a whole, or not at all.
fn judge_batches(
    journal: &Journal,
    versions: &std::collections::HashMap<String, u64>,
    at: u64,
    seen: &mut Seen,
) {
    for step in journal.replayable.iter().chain(&journal.open) {
        let there = step.effect.iter().filter(|(key, _)| versions.contains_key(key)).count();
        if there != 0 && there != step.effect.len() {
            seen.corrupt.push(format!("cut at {at}: half of {:?}", step.idempotency));
        }
    }
}
