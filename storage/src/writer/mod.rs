//! The group-commit writer: makes what apps have decided durable, many apps per fsync.
//!
//! An app's actor submits a sealed [`Group`] and goes on; a lane takes those groups that are next in
//! its line, commits them in one transaction and resolves each group's ticket, in order. One lane on
//! SQLite (it has one writer at a time), a few on PostgreSQL, by app. Invariants: every submitted group
//! is resolved exactly once, whatever happens to the lane; an outcome never says more than what
//! is known; nothing here knows of replies, actors or permissions.

mod access;
mod app_record;
mod batch;
mod bound;
mod failure;
mod health;
mod line;
mod postgres;
mod queue;
mod sqlite;

use std::{sync::Arc, time::Duration};

use futures::future::{FutureExt as _, pending, select_all};
use rookery_domain::id::AppId;

use self::{
    health::Counters,
    queue::{Link, Load, Queue},
};
use crate::{
    commit::{Epoch, Group},
    db::{CONNECTIONS_AT_START, CONNECTIONS_MAX, Db, POSTGRES_LANES},
    error::{Result, StorageError},
    faults::Faults,
};

pub use health::{BATCH_BUCKETS_ROWS, COMMIT_BUCKETS_US, WriterHealth};
pub use queue::LaneStatus;

/// How a writer works.
#[derive(Debug, Clone)]
pub struct WriterOptions {
    /// Lanes on PostgreSQL, each with a connection of its own.
    pub postgres_lanes: usize,
    /// How long a group may wait on PostgreSQL until it is sent; one that has waited longer is aborted.
    /// Then the database may take as long as it takes to answer (30 s) until COMMIT is sent: together less
    /// than what whoever asked for the write waits (45 s), so that nothing is committed from then on of
    /// which somebody was told already that nobody knows how it ended.
    pub postgres_wait_max: Duration,
    /// Size of SQLite's log above which operators are told.
    pub wal_alarm_bytes: u64,
    /// How long nothing is committed before SQLite's log is emptied.
    pub sqlite_log_idle: Duration,
    /// Bound on the pages of the SQLite file, as a file system's quota would set one.
    pub sqlite_max_pages: Option<u32>,
    /// What goes wrong, in tests.
    pub faults: Faults,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            postgres_lanes: POSTGRES_LANES,
            postgres_wait_max: Duration::from_secs(10),
            wal_alarm_bytes: 256 << 20,
            sqlite_log_idle: Duration::from_secs(30),
            sqlite_max_pages: None,
            faults: Faults::default(),
        }
    }
}

/// A handle to the writer, cheap to clone.
#[derive(Clone)]
pub struct Writer(Arc<Inner>);

struct Inner {
    db: Db,
    shared: Arc<Shared>,
}

/// What the handle and the lanes share.
struct Shared {
    queues: Vec<Queue>,
    counters: Counters,
    epoch: Epoch,
    options: WriterOptions,
}

impl Writer {
    /// Starts the lanes. On PostgreSQL this needs a running tokio runtime, and whether they have
    /// their connections is told by [`Writer::connected`].
    ///
    /// # Errors
    /// [`StorageError::Open`] when SQLite's file cannot be opened or no thread started.
    ///
    /// # Panics
    /// On PostgreSQL outside of a runtime.
    pub fn start(db: &Db, epoch: Epoch, options: WriterOptions) -> Result<Self> {
        let lanes = match db {
            Db::Sqlite(_) => 1,
            Db::Postgres(_) => options.postgres_lanes.max(1),
        };
        let queues = (0..lanes).map(|_| Queue::new()).collect();
        let shared = Arc::new(Shared { queues, counters: Counters::default(), epoch, options });
        let writer = Self(Arc::new(Inner { db: db.clone(), shared }));
        for lane in 0..lanes {
            writer.start_lane(lane)?;
        }
        Ok(writer)
    }

    /// Returns once every lane has its connection to PostgreSQL; at once on SQLite.
    ///
    /// # Errors
    /// [`StorageError::Open`] when one does not get it: the apps of this lane could not be written
    /// to.
    pub async fn connected(&self) -> Result<()> {
        if let Db::Sqlite(_) = self.0.db {
            return Ok(());
        }
        for queue in &self.0.shared.queues {
            let mut link = queue.link().subscribe();
            // The sender lives as long as the writer.
            let Ok(link) = link.wait_for(|link| *link != Link::Unknown).await else { break };
            if let Link::Down(why) = &*link {
                let why = format!(
                    "the PostgreSQL database must let a server have up to {CONNECTIONS_MAX} \
                     connections, {CONNECTIONS_AT_START} of them at its start (those of a server that vanished end \
                     within two minutes): {why}"
                );
                return Err(StorageError::Open(why));
            }
        }
        Ok(())
    }

    fn start_lane(&self, lane: usize) -> Result<()> {
        let shared = Arc::clone(&self.0.shared);
        match &self.0.db {
            Db::Sqlite(db) => sqlite::start(db.clone(), shared, lane),
            Db::Postgres(db) => {
                postgres::start(db.clone(), shared, lane);
                Ok(())
            }
        }
    }

    /// Hands a group over; never blocks. Its ticket is resolved exactly once, usually on a lane's
    /// thread, here when the writer accepts no more. Callers bound the number of groups: an app
    /// has one in flight at most, and never submits the next before that one is resolved.
    pub fn submit(&self, group: Group) {
        let queues = &self.0.shared.queues;
        let lane = group.app.part_of(queues.len());
        queues[lane].submit(&self.0.shared.counters, group);
    }

    /// Returns when every group of an app that was submitted before is resolved. A wake waits for it before
    /// it loads: what a crashed incarnation left behind has landed by then, or never will.
    pub async fn barrier(&self, app: AppId) {
        let queues = &self.0.shared.queues;
        if let Some(wait) = queues[app.part_of(queues.len())].barrier(app) {
            // A sender dropped unsent is resolved its groups as well.
            let _ = wait.await;
        }
    }

    /// Accepts no more groups, commits those that wait, and ends the lanes. What waits for a dead
    /// lane is told that it was not applied.
    pub async fn drain(&self) {
        for queue in &self.0.shared.queues {
            queue.drain();
        }
        for queue in &self.0.shared.queues {
            let mut status = queue.status().subscribe();
            // The sender lives as long as the writer.
            let _ = status.wait_for(|status| *status != LaneStatus::Running).await;
            queue.abandon(&self.0.shared.counters);
        }
    }

    /// Returns once a lane has died or the store is broken, and says which. The supervisor
    /// answers the first with [`Writer::restart`], the second by ending the process.
    pub async fn failed(&self) -> LaneStatus {
        let of_lane = |queue: &Queue| {
            let mut watch = queue.status().subscribe();
            async move {
                let bad = |status: &LaneStatus| {
                    matches!(status, LaneStatus::Dead(_) | LaneStatus::Broken(_))
                };
                let status = watch.wait_for(bad).await.map(|status| status.clone());
                match status {
                    Ok(status) => status,
                    // The sender lives as long as the writer.
                    Err(_) => pending().await,
                }
            }
            .boxed()
        };
        let broken = self.0.db.soundness().until_broken().map(LaneStatus::Broken).boxed();
        // The store first: it matters more than a dead lane.
        let waits = std::iter::once(broken).chain(self.0.shared.queues.iter().map(of_lane));
        select_all(waits).await.0
    }

    /// Starts every dead lane again; it goes on with the groups that waited. Does nothing to
    /// lanes that run, were drained, or broke.
    ///
    /// # Errors
    /// As [`Writer::start`]; the lane stays dead.
    pub fn restart(&self) -> Result<()> {
        for (lane, queue) in self.0.shared.queues.iter().enumerate() {
            if !queue.revive() {
                continue;
            }
            if let Err(error) = self.start_lane(lane) {
                queue.status().send_replace(LaneStatus::Dead(error.to_string()));
                return Err(error);
            }
            self.0.shared.counters.restarted();
        }
        Ok(())
    }

    /// Notes that this process serves the database from now on: those that started before it are
    /// superseded.
    ///
    /// # Errors
    /// Any [`StorageError`].
    pub async fn take_over(&self) -> Result<()> {
        self.0.db.serve(self.0.shared.epoch).await
    }

    /// Whether a later process start serves this database: the fence lets this one write to an app
    /// only until that one has.
    ///
    /// # Errors
    /// Any [`StorageError`] of the look at the database.
    pub async fn is_superseded(&self) -> Result<bool> {
        Ok(self.0.db.serving_epoch().await? > self.0.shared.epoch)
    }

    /// A snapshot for operators and `/ready`.
    #[must_use]
    pub fn health(&self) -> WriterHealth {
        let shared = &self.0.shared;
        let lanes: Vec<_> =
            shared.queues.iter().map(|queue| queue.status().borrow().clone()).collect();
        let load = shared.queues.iter().map(Queue::load).fold(Load::default(), Load::and);
        let is_down = |queue: &Queue| matches!(*queue.link().borrow(), Link::Down(_));
        let unreachable = shared.queues.iter().any(is_down);
        let alarm = shared.options.wal_alarm_bytes;
        let mut health = shared.counters.snapshot(&lanes, load, unreachable, alarm);
        if self.0.db.soundness().broken().is_some() {
            (health.ok, health.broken) = (false, true);
        }
        health
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("health", &self.health()).finish()
    }
}

impl Drop for Inner {
    /// The last handle is gone: the lanes commit what waits and end.
    fn drop(&mut self) {
        for queue in &self.shared.queues {
            queue.drain();
            if *queue.status().borrow() != LaneStatus::Running {
                queue.abandon(&self.shared.counters);
            }
        }
    }
}
