//! The disk is full, or a quota is used up: reads go on, writes answer `unavailable`, and all is well
//! again when space returns, without a restart.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    api::Api,
    check::Book,
    crew::{Crew, OnSilence},
    failure::{Failure, Result},
    follower::Follower,
    shim::{Bound, Shim},
    verdict::Verdict,
    world::{App, World},
};

/// Times of the long form that the disk runs full.
const TIMES: usize = 20;
/// The disk.
const DISK_BYTES: u64 = 32 << 20;
/// What is left on it when it is filled: the writers soon need more.
const LEFT_BYTES: u64 = 256 << 10;
/// Requests that write at the same time.
const WRITERS: usize = 16;
/// Writes that are acknowledged before the disk is filled, and again once space has returned.
const ACKNOWLEDGED: usize = 200;
/// Writes that are refused before space returns.
const REFUSED: usize = 50;
/// Each of these takes at most so long.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs it.
///
/// # Errors
/// When it could not be carried out.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let times = world.count(TIMES, 2);
    let target = format!(
        "{times} times: reads go on, writes answer unavailable, it recovers without a restart"
    );
    let mut verdict = Verdict::new("full", target);
    let scratch = tempfile::tempdir()?;
    let disk = Disk::of(scratch.path())?;
    runs_full(world, &disk, times, &mut verdict).await?;
    let quota = scratch.path().join("quota");
    std::fs::create_dir_all(&quota)?;
    runs_full(world, &Disk::Bounded(quota, Bound::Quota), times, &mut verdict).await?;
    Ok(verdict)
}

async fn runs_full(world: &World, disk: &Disk, times: usize, verdict: &mut Verdict) -> Result<()> {
    let launch = world.launch_sqlite(disk.folder()).set("ROOKERY__LOG__LEVEL", "warn");
    let server = match disk {
        Disk::Small(_) => launch.start().await?,
        Disk::Bounded(folder, bound) => {
            std::fs::create_dir_all(&launch.data)?;
            let shim = Shim::build(folder)?;
            shim.bounded(launch.clone(), &disk.filler(), *bound).start().await?
        }
    };
    let api = Api::enroll(&server.url, "owner@example.org").await?;
    let app = App::deploy(&api).await?;
    let mut book = Book::default();
    let (mut acknowledged, mut unavailable, mut read) = (0, 0, 0);
    let (mut slowest, mut full_for) = (Duration::ZERO, Duration::ZERO);
    for time in 0..times {
        let crew = Crew::start(&api, &app, &format!("d{time}"), WRITERS, OnSilence::GoOn);
        let follower = Follower::start(&api, &app);
        crew.reach(ACKNOWLEDGED, PATIENCE).await?;
        disk.fill()?;
        let begin = Instant::now();
        while crew.unavailable() < REFUSED {
            api.get(&format!("{}?limit=10", app.rows())).await?;
            read += 1;
            if begin.elapsed() > PATIENCE {
                return Err(Failure::new("the disk does not run full"));
            }
        }
        disk.free()?;
        full_for += begin.elapsed();
        let (begin, reached) = (Instant::now(), crew.acknowledged());
        if let Err(Failure(words)) = crew.reach(reached + ACKNOWLEDGED, PATIENCE).await {
            verdict.violations.add(format!("time {time}: no recovery: {words}"));
        }
        slowest = slowest.max(begin.elapsed());
        full_for += begin.elapsed();
        let (journal, seen) = (crew.finish().await?, follower.finish().await?);
        acknowledged += journal.acknowledged;
        unavailable += journal.unavailable;
        book.check(&api, &app, journal, &seen, &mut verdict.violations).await?;
    }
    // One a second, and the first of each time.
    let (lines, most) =
        (launch.lines_with("a checkpoint failed"), full_for.as_secs() + times as u64);
    if lines as u64 > most {
        verdict.violations.add(format!("{lines} lines of failed checkpoints, {most} at most"));
    }
    super::kill::stop(server).await?;
    verdict.saw(format!(
        "{disk}: {acknowledged} acknowledged writes, {unavailable} answered unavailable, {read} reads \
         while it was full; {ACKNOWLEDGED} writes after at most {} ms with space again",
        slowest.as_millis()
    ));
    Ok(())
}

/// A disk that can be filled.
enum Disk {
    /// A file system of its own in memory; unmounted when dropped.
    Small(PathBuf),
    /// A folder whose files the shim keeps from growing while [`Disk::filler`] is there.
    Bounded(PathBuf, Bound),
}

impl Disk {
    fn of(scratch: &Path) -> Result<Self> {
        let folder = scratch.join("disk");
        std::fs::create_dir_all(&folder)?;
        let size = format!("size={DISK_BYTES}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&folder);
        let may_mount = mount.output().is_ok_and(|output| output.status.success());
        Ok(if may_mount { Self::Small(folder) } else { Self::Bounded(folder, Bound::Disk) })
    }

    fn folder(&self) -> &Path {
        match self {
            Self::Small(folder) | Self::Bounded(folder, _) => folder,
        }
    }

    fn filler(&self) -> PathBuf {
        self.folder().join("filler")
    }

    fn fill(&self) -> Result<()> {
        let bytes = match self {
            Self::Small(folder) => free_bytes(folder)?.saturating_sub(LEFT_BYTES),
            Self::Bounded(..) => 0,
        };
        let filling = vec![0; usize::try_from(bytes).unwrap_or(0)];
        match std::fs::write(self.filler(), filling) {
            // The writers were faster: it is as full as can be.
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => Ok(()),
            filled => Ok(filled?),
        }
    }

    fn free(&self) -> Result<()> {
        Ok(std::fs::remove_file(self.filler())?)
    }
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Small(_) => "a tmpfs of 32 MiB",
            Self::Bounded(_, Bound::Disk) => "files that the shim lets not grow (no mounting here)",
            Self::Bounded(_, Bound::Quota) => "a quota, by the shim",
        })
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Self::Small(folder) = self {
            // Lazily: the server may still be ending.
            let _ = Command::new("umount").arg("-l").arg(folder).status();
        }
    }
}

fn free_bytes(folder: &Path) -> Result<u64> {
    let stat = Command::new("stat").args(["-f", "-c", "%a %S"]).arg(folder).output()?;
    let text = String::from_utf8_lossy(&stat.stdout).into_owned();
    let mut numbers = text.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
    Ok(numbers.next().unwrap_or(0) * numbers.next().unwrap_or(0))
}
