//! Disks as they may look when the power fails at a random moment of a recording, opened one by one.

use std::{collections::HashMap, path::Path};

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use super::recording::Recording;
use crate::{
    disk::{Disk, FILES, Record, Trace, examine},
    failure::Result,
    journal::Journal,
};

/// Seeds the random moments and disks; the same recording gives the same images.
const SEED: u64 = 0x0070_6f77_6572;

/// What the images showed.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Images that are not whole.
    pub corrupt: Vec<String>,
    /// Images without a change that had been acknowledged.
    pub missing: Vec<String>,
}

impl Seen {
    /// Adds what other images showed.
    pub(super) fn absorb(&mut self, other: Self) {
        self.corrupt.extend(other.corrupt);
        self.missing.extend(other.missing);
    }
}

/// Opens so many images of a recording; of one in which a sync failed, those of moments behind that.
pub(super) async fn play(recording: &Recording, images: usize) -> Result<Seen> {
    let trace = Trace::read(&recording.trace)?;
    let failed = |(_, record): &(u64, Record<'_>)| matches!(record, Record::SyncFailed { .. });
    let first = trace.records.iter().position(failed).unwrap_or(0);
    let mut rng = StdRng::seed_from_u64(SEED);
    let mut cuts: Vec<usize> =
        (0..images).map(|_| rng.random_range(first..trace.records.len())).collect();
    cuts.sort_unstable();
    let mut marks: Vec<_> = recording.journal.marks.iter().collect();
    marks.sort_by_key(|(at, _)| *at);
    let mut disk = Disk::new(recording.base.clone());
    let (mut played, mut told) = (0, 0);
    let mut must: HashMap<&str, u64> = HashMap::new();
    let mut seen = Seen::default();
    // In memory where there is such a place: the images are many.
    let place = Path::new("/dev/shm");
    let folder = match place.is_dir() {
        true => tempfile::tempdir_in(place)?,
        false => tempfile::tempdir()?,
    };
    for cut in cuts {
        while played <= cut {
            disk.play(&trace.records[played].1, &mut rng);
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
fn judge_batches(journal: &Journal, versions: &HashMap<String, u64>, at: u64, seen: &mut Seen) {
    for step in journal.replayable.iter().chain(&journal.open) {
        let there = step.effect.iter().filter(|(key, _)| versions.contains_key(key)).count();
        if there != 0 && there != step.effect.len() {
            seen.corrupt.push(format!("cut at {at}: half of {:?}", step.idempotency));
        }
    }
}
