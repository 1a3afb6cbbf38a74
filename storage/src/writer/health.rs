//! What operators and the supervisor see of the writer: counters that the lanes keep, and a
//! snapshot of them.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::queue::{LaneStatus, Load};
use crate::{
    commit::{Abort, Group, Outcome},
    log_throttle::LogThrottle,
};

/// Upper bounds of the commit-time buckets, in microseconds; a last bucket takes the rest.
pub const COMMIT_BUCKETS_US: [u64; 11] =
    [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 250_000, 1_000_000];

/// How long a commit may be under way before its lane counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// How long a commit that found no room says that the disk is full.
const FULL_FOR: Duration = Duration::from_secs(5);

/// Upper bounds of the batch-size buckets, in rows; a last bucket takes the rest.
pub const BATCH_BUCKETS_ROWS: [u64; 12] = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 4_096];

/// A snapshot of the writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriterHealth {
    /// It commits: every lane runs and none is stuck, the store is sound, there is room and the
    /// database is there.
    pub ok: bool,
    /// An fsync failed: no more writes, the process must end.
    pub broken: bool,
    /// The disk is full: nothing is committed until space returns, or something was refused for it within
    /// the last five seconds while other commits still find room.
    pub out_of_space: bool,
    /// A lane has no connection: it lost it, or is not let in (PostgreSQL). The apps that it writes
    /// for cannot be written to.
    pub unreachable: bool,
    /// Something has been with the database for more than five seconds.
    pub stuck: bool,
    /// Lanes whose thread or task has died and waits to be restarted.
    pub dead_lanes: usize,
    /// Lanes in all: 1 on SQLite.
    pub lanes: usize,
    /// Times a lane was restarted.
    pub restarts: u64,
    /// Groups that wait.
    pub queued: usize,
    /// How long the oldest of them has.
    pub oldest_wait: Duration,
    /// Groups that are being committed.
    pub in_flight: usize,
    /// Transactions committed.
    pub batches: u64,
    /// Groups made durable.
    pub groups: u64,
    /// Rows made durable.
    pub rows: u64,
    /// Events made durable.
    pub events: u64,
    /// Groups refused by the fence.
    pub fenced: u64,
    /// Groups not applied for another reason.
    pub aborted: u64,
    /// Groups whose outcome is unknown.
    pub unknown: u64,
    /// How long the last COMMIT took with its fsync, in microseconds.
    pub last_commit_us: u64,
    /// Commits by duration: one count for each of [`COMMIT_BUCKETS_US`], and one for longer ones.
    pub commit_times: [u64; COMMIT_BUCKETS_US.len() + 1],
    /// How long all commits took together, in microseconds.
    pub commit_us_sum: u64,
    /// Commits by size: one count for each of [`BATCH_BUCKETS_ROWS`], and one for larger ones.
    pub batch_sizes: [u64; BATCH_BUCKETS_ROWS.len() + 1],
    /// Rows that all commits were begun with.
    pub batch_rows_sum: u64,
    /// Checkpoints done (SQLite).
    pub checkpoints: u64,
    /// Bytes of log that the last checkpoint found (SQLite).
    pub wal_bytes: u64,
    /// The log is above its alarm threshold: a reader holds it open.
    pub wal_alarm: bool,
}

/// The numbers behind [`WriterHealth`], shared by the lanes. Each is a statistic of its own, so
/// none is ordered with another.
#[derive(Default)]
pub(super) struct Counters {
    restarts: AtomicU64,
    groups: AtomicU64,
    rows: AtomicU64,
    events: AtomicU64,
    fenced: AtomicU64,
    aborted: AtomicU64,
    unknown: AtomicU64,
    last_commit_us: AtomicU64,
    commit_times: [AtomicU64; COMMIT_BUCKETS_US.len() + 1],
    commit_us_sum: AtomicU64,
    batch_sizes: [AtomicU64; BATCH_BUCKETS_ROWS.len() + 1],
    batch_rows_sum: AtomicU64,
    checkpoints: AtomicU64,
    wal_bytes: AtomicU64,
    out_of_space: AtomicBool,
    /// When a commit last found no room.
    full_at: Mutex<Option<Instant>>,
    /// Lines of batches that were not committed.
    pub(super) batch_lines: LogThrottle,
    /// Lines of checkpoints that failed.
    pub(super) checkpoint_lines: LogThrottle,
}

impl Counters {
    /// Counts how a group ended.
    pub(super) fn resolved(&self, group: &Group, outcome: &Outcome) {
        let counter = match outcome {
            Outcome::Committed => {
                self.rows.fetch_add(group.writes.rows.len() as u64, Relaxed);
                self.events.fetch_add(group.writes.events.len() as u64, Relaxed);
                &self.groups
            }
            Outcome::Aborted(Abort::Fenced) => &self.fenced,
            Outcome::Aborted(_) | Outcome::StoreBroken => &self.aborted,
            Outcome::Unknown => &self.unknown,
        };
        counter.fetch_add(1, Relaxed);
    }

    /// Counts a COMMIT of so many rows that took this long.
    pub(super) fn committed(&self, took: Duration, rows: usize) {
        let rows = rows as u64;
        self.batch_rows_sum.fetch_add(rows, Relaxed);
        let bucket = BATCH_BUCKETS_ROWS.partition_point(|bound| *bound < rows);
        self.batch_sizes[bucket].fetch_add(1, Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.last_commit_us.store(micros, Relaxed);
        self.commit_us_sum.fetch_add(micros, Relaxed);
        let bucket = COMMIT_BUCKETS_US.partition_point(|bound| *bound < micros);
        self.commit_times[bucket].fetch_add(1, Relaxed);
    }

    /// Counts a checkpoint that found a log of this size; the size that the one before found.
    pub(super) fn checkpointed(&self, wal_bytes: u64) -> u64 {
        self.checkpoints.fetch_add(1, Relaxed);
        self.wal_bytes.swap(wal_bytes, Relaxed)
    }

    /// Notes whether the disk has room for a commit.
    pub(super) fn has_room(&self, has_room: bool) {
        self.out_of_space.store(!has_room, Relaxed);
    }

    /// Notes that a commit found no room, though another one may.
    pub(super) fn found_no_room(&self) {
        *self.full_at.lock() = Some(Instant::now());
    }

    /// Counts a restarted lane.
    pub(super) fn restarted(&self) {
        self.restarts.fetch_add(1, Relaxed);
    }

    /// All of it, with what the queues say of the `lanes`: how each is, what they have to do, and
    /// whether one has no connection.
    pub(super) fn snapshot(
        &self,
        lanes: &[LaneStatus],
        load: Load,
        unreachable: bool,
        alarm: u64,
    ) -> WriterHealth {
        let broken = lanes.iter().any(|lane| matches!(lane, LaneStatus::Broken(_)));
        let dead_lanes = lanes.iter().filter(|lane| matches!(lane, LaneStatus::Dead(_))).count();
        let wal_bytes = self.wal_bytes.load(Relaxed);
        let was_full = self.full_at.lock().is_some_and(|at| at.elapsed() < FULL_FOR);
        let out_of_space = self.out_of_space.load(Relaxed) || was_full;
        let stuck = load.since > STUCK_AFTER;
        let runs = lanes.iter().all(|lane| *lane == LaneStatus::Running);
        let batch_sizes = std::array::from_fn(|i| self.batch_sizes[i].load(Relaxed));
        WriterHealth {
            ok: runs && !out_of_space && !unreachable && !stuck,
            broken,
            out_of_space,
            unreachable,
            stuck,
            dead_lanes,
            lanes: lanes.len(),
            restarts: self.restarts.load(Relaxed),
            queued: load.waiting,
            oldest_wait: load.oldest,
            in_flight: load.in_flight,
            batches: batch_sizes.iter().sum(),
            groups: self.groups.load(Relaxed),
            rows: self.rows.load(Relaxed),
            events: self.events.load(Relaxed),
            fenced: self.fenced.load(Relaxed),
            aborted: self.aborted.load(Relaxed),
            unknown: self.unknown.load(Relaxed),
            last_commit_us: self.last_commit_us.load(Relaxed),
            commit_times: std::array::from_fn(|i| self.commit_times[i].load(Relaxed)),
            commit_us_sum: self.commit_us_sum.load(Relaxed),
            batch_sizes,
            batch_rows_sum: self.batch_rows_sum.load(Relaxed),
            checkpoints: self.checkpoints.load(Relaxed),
            wal_bytes,
            wal_alarm: wal_bytes > alarm,
        }
    }
}
