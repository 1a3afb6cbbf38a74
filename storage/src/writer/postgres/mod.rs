//! A PostgreSQL lane: one task with one connection.
//!
//! An app always has the same lane, so its groups keep their order. A batch is one statement;
//! only a group that changes its app's record, or purges rows, has a transaction of several
//! statements, and this task, which nobody cancels, runs it to its end.

mod batch;
mod columns;
mod statement;
mod steps;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sqlx::{Connection as _, PgConnection};
use tokio::time::timeout;

use self::batch::{Ended, Session};
use super::{
    Shared,
    batch::{Batch, Stage},
    queue::LaneStatus,
};
use crate::{commit::Abort, db::PostgresDb};

/// A connection that was idle this long is asked whether it still lives before it gets a batch:
/// to lose it then costs nothing, to lose it around a commit leaves an unknown outcome.
const PROBE_AFTER: Duration = Duration::from_secs(1);

/// How long a connection may take to come up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts the lane's task.
pub(super) fn start(db: PostgresDb, shared: Arc<Shared>, lane: usize) {
    let run = Lane {
        db: db.clone(),
        shared: Arc::clone(&shared),
        connection: None,
        used: Instant::now(),
    };
    let work = tokio::spawn(run.run(lane));
    tokio::spawn(async move {
        let status = match work.await {
            Ok(Ok(())) => LaneStatus::Stopped,
            Ok(Err(why)) => {
                tracing::error!(why, "the store is broken: nothing is written any more");
                db.soundness().break_for(&why);
                for queue in &shared.queues {
                    queue.break_store(&why);
                }
                return;
            }
            Err(_) => {
                tracing::error!("a writer task has died");
                LaneStatus::Dead("a writer task panicked".into())
            }
        };
        shared.queues[lane].status().send_replace(status);
    });
}

/// One lane at work.
struct Lane {
    db: PostgresDb,
    shared: Arc<Shared>,
    /// `None` until needed, and after it was lost.
    connection: Option<PgConnection>,
    used: Instant,
}

impl Lane {
    /// `Err` when the store is broken.
    async fn run(mut self, lane: usize) -> Result<(), String> {
        let shared = Arc::clone(&self.shared);
        let queue = &shared.queues[lane];
        while queue.wait_in_task().await {
            if let Some(why) = self.db.soundness().broken() {
                return Err(why);
            }
            let mut batch = queue.take(&shared.counters);
            let result = self.commit(&mut batch).await;
            self.used = Instant::now();
            if batch.found_no_room() {
                shared.counters.found_no_room();
            }
            batch.finish();
            result?;
        }
        if let Some(connection) = self.connection.take()
            && let Err(error) = connection.close().await
        {
            tracing::debug!(%error, "a writer connection was not closed cleanly");
        }
        Ok(())
    }

    async fn commit(&mut self, batch: &mut Batch<'_>) -> Result<(), String> {
        if batch.entries.is_empty() {
            return Ok(());
        }
        let connection = match self.connection().await {
            Ok(connection) => connection,
            Err(error) => {
                tracing::warn!(%error, "the database cannot be reached");
                self.shared.counters.has_answered(false);
                batch.stage = Stage::Aborted(Abort::Refused(error.to_string()));
                return Ok(());
            }
        };
        let answer_timeout = self.db.answer_timeout();
        let mut session = Session { connection, answer_timeout, shared: &self.shared };
        match session.commit(batch).await {
            Ok(()) => {
                self.shared.counters.has_answered(true);
                self.connection = Some(session.connection);
                Ok(())
            }
            Err(Ended::ConnectionLost(why)) => {
                tracing::warn!(why, "a writer connection was lost");
                self.shared.counters.has_answered(false);
                Ok(())
            }
            Err(Ended::Broken(why)) => {
                batch.stage = Stage::Broken;
                Err(why)
            }
        }
    }

    async fn connection(&mut self) -> Result<PgConnection, sqlx::Error> {
        if let Some(mut idle) = self.connection.take()
            && (self.used.elapsed() < PROBE_AFTER
                || matches!(timeout(CONNECT_TIMEOUT, idle.ping()).await, Ok(Ok(()))))
        {
            return Ok(idle);
        }
        timeout(CONNECT_TIMEOUT, self.db.connect()).await.map_err(|_| sqlx::Error::PoolTimedOut)?
    }
}
