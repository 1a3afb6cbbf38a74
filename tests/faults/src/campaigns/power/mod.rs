//! Power loss: the order of writes and syncs is recorded, disks are rebuilt as they may look at
//! random moments, and each is opened. With `synchronous=NORMAL` the same has to find losses. Then
//! once more where a sync had failed before, and the next server went on with the same files.

mod images;
mod recording;

use images::Seen;

use crate::{failure::Result, shim::Failing, verdict::Verdict, world::World};

/// Images of the long form; a tenth as many for the control.
const IMAGES: usize = 10_000;
/// Acknowledged changes in one recording: many checkpoints, and small enough to open often.
const ACKNOWLEDGED: usize = 3_000;
/// Syncs that fail, in recordings of their own; each once, and from then on.
const FAILURES: usize = 50;
/// The first sync that fails comes after those of a start.
const FAILURES_FROM: usize = 20;
/// From one of them to the next.
const FAILURES_STEP: usize = 7;
/// Images of the time after each of these failures.
const IMAGES_PER_FAILURE: usize = 40;
/// Changes that the next server acknowledges before it is killed: more than one image can miss.
const ACKNOWLEDGED_AFTER: usize = 200;

/// Runs it.
///
/// # Errors
/// When it could not be carried out.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let images = world.count(IMAGES, 100);
    let failures = world.count(FAILURES, 2);
    let target = format!(
        "{images} images, and {} after failed syncs: none corrupt, no acknowledged write missing; \
         the control loses some",
        2 * failures * IMAGES_PER_FAILURE
    );
    let mut verdict = Verdict::new("power", target);
    sound(world, images, &mut verdict).await?;
    after_failed_syncs(world, failures, &mut verdict).await?;
    Ok(verdict)
}

/// Disks that keep what they promise, and a server that does not ask for the promise.
async fn sound(world: &World, images: usize, verdict: &mut Verdict) -> Result<()> {
    let acknowledged = world.count(ACKNOWLEDGED, 600);
    let sound = recording::sound(world, acknowledged, false).await?;
    let seen = images::play(&sound, images).await?;
    verdict.saw(format!(
        "{images} images from {} writes and {} syncs under {} acknowledged changes: {}",
        sound.writes()?,
        sound.syncs()?,
        sound.journal.acknowledged,
        words(&seen)
    ));
    for words in seen.corrupt.into_iter().chain(seen.missing) {
        verdict.violations.add(words);
    }
    let control = recording::sound(world, acknowledged, true).await?;
    let images = images.div_ceil(10).max(100);
    let seen = images::play(&control, images).await?;
    let lost = seen.missing.len();
    verdict.expect(
        lost > 0,
        format!("control at synchronous=NORMAL: {lost} of {images} images lost something"),
    );
    for words in seen.corrupt {
        verdict.violations.add(format!("control: {words}"));
    }
    Ok(())
}

/// Disks that failed to sync something, which the system then takes for written.
async fn after_failed_syncs(world: &World, failures: usize, verdict: &mut Verdict) -> Result<()> {
    let mut all = Seen::default();
    let mut acknowledged = 0;
    for failure in 0..failures {
        let number = FAILURES_FROM + failure * FAILURES_STEP;
        for failing in [Failing::Once, Failing::Always] {
            let recording =
                recording::after_failed_sync(world, number, failing, ACKNOWLEDGED_AFTER).await?;
            acknowledged += recording.journal.acknowledged;
            let seen = images::play(&recording, IMAGES_PER_FAILURE).await?;
            for words in seen.corrupt.iter().chain(&seen.missing) {
                verdict.violations.add(format!("sync {number} failed {failing:?}: {words}"));
            }
            all.absorb(seen);
        }
    }
    verdict.saw(format!(
        "{} images after {} failed syncs, under {acknowledged} acknowledged changes: {}",
        2 * failures * IMAGES_PER_FAILURE,
        2 * failures,
        words(&all)
    ));
    Ok(())
}

fn words(seen: &Seen) -> String {
    let (corrupt, missing) = (seen.corrupt.len(), seen.missing.len());
    format!("{corrupt} corrupt, {missing} without an acknowledged change")
}
