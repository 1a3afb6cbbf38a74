//! Disks as a power loss leaves them, rebuilt from the order of writes and syncs.
//!
//! What a sync that ended had covered is on the disk. What was written since is there in part, in
//! any combination: a whole write, none of it, or some of its sectors. That is worse than most
//! disks; it is what POSIX permits. What a sync that failed had covered is there in part as well, and
//! no later sync makes up for it: the system takes it for written, and only what is written anew
//! reaches the disk. Files and their names are taken to be durable, because the recorded part begins
//! after the database was made.

mod examine;
mod trace;

use std::collections::HashMap;

use rand::{Rng, rngs::StdRng};

pub use examine::{Found, examine};
pub use trace::{Record, Trace};

/// Bytes that a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// The files that are recorded: the database and its log.
pub const FILES: [&str; 2] = ["rookery.db", "rookery.db-wal"];

/// The bytes of each of [`FILES`].
pub type Image = [Vec<u8>; FILES.len()];

/// A disk while its history is played.
#[derive(Debug, Default)]
pub struct Disk {
    durable: Image,
    pending: [Vec<Pending>; FILES.len()],
    changes: u64,
    /// Syncs that have begun: how many changes there were then.
    begun: HashMap<u64, u64>,
}

#[derive(Debug, Clone)]
struct Pending {
    number: u64,
    change: Change,
}

#[derive(Debug, Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate(usize),
}

impl Disk {
    /// A disk that holds these files, durably.
    #[must_use]
    pub fn new(durable: Image) -> Self {
        Self { durable, ..Self::default() }
    }

    /// Plays one record.
    pub fn play(&mut self, record: &Record<'_>, rng: &mut StdRng) {
        match *record {
            Record::Write { file, offset, bytes } => {
                self.push(file, Change::Write { offset, bytes: bytes.to_vec() });
            }
            Record::Truncate { file, bytes } => self.push(file, Change::Truncate(bytes)),
            Record::SyncBegins { number } => drop(self.begun.insert(number, self.changes)),
            Record::SyncEnded { file, number } => {
                for one in self.covered(file, number) {
                    apply(&mut self.durable[file], &one.change);
                }
            }
            Record::SyncFailed { file, number } => {
                let covered = self.covered(file, number);
                arrive_in_part(&mut self.durable[file], &covered, rng);
            }
        }
    }

    /// Takes out what was written to a file before this sync of it began.
    fn covered(&mut self, file: usize, sync: u64) -> Vec<Pending> {
        let until = self.begun.remove(&sync).unwrap_or(0);
        let covered = self.pending[file].partition_point(|one| one.number < until);
        self.pending[file].drain(..covered).collect()
    }

    fn push(&mut self, file: usize, change: Change) {
        self.pending[file].push(Pending { number: self.changes, change });
        self.changes += 1;
    }

    /// What the disk holds if the power fails now.
    #[must_use]
    pub fn lose_power(&self, rng: &mut StdRng) -> Image {
        let mut image = self.durable.clone();
        for (file, pending) in image.iter_mut().zip(&self.pending) {
            arrive_in_part(file, pending, rng);
        }
        image
    }
}

/// Lets some of these changes arrive, some in part.
fn arrive_in_part(file: &mut Vec<u8>, changes: &[Pending], rng: &mut StdRng) {
    // From "nothing of it arrived" to "nearly all of it did".
    let arrives: f64 = rng.random();
    for one in changes {
        match &one.change {
            Change::Write { offset, bytes } => {
                for (n, sector) in bytes.chunks(SECTOR_BYTES).enumerate() {
                    // Half of the writes that arrive do so whole.
                    if rng.random_bool(arrives) {
                        let whole = n == 0 && rng.random_bool(0.5);
                        let bytes = if whole { &bytes[..] } else { sector };
                        write(file, offset + n * SECTOR_BYTES, bytes);
                        if whole {
                            break;
                        }
                    }
                }
            }
            truncate @ Change::Truncate(_) if rng.random_bool(arrives) => apply(file, truncate),
            Change::Truncate(_) => {}
        }
    }
}

fn apply(file: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, bytes } => write(file, *offset, bytes),
        Change::Truncate(bytes) => file.resize(*bytes, 0),
    }
}

fn write(file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[offset..end].copy_from_slice(bytes);
}
