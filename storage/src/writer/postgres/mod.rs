//! A PostgreSQL lane: one task with one connection.
//!
//! The connection is made at the start, looked at while it is idle, and made again when it is gone: a
//! lane that has none is known before somebody wants to write.
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
    queue::{LaneStatus, Link, Queue},
};
use crate::{
    commit::Abort,
    db::{PostgresDb, Silent, check_writable},
    error::plain,
};

/// A connection that was idle this long is asked whether it still lives before it gets a batch:
/// to lose it then costs nothing, to lose it around a commit leaves an unknown outcome.
const PROBE_AFTER: Duration = Duration::from_secs(1);

/// How long an idle connection is left alone before somebody looks whether it still lives.
const LOOK_AFTER: Duration = Duration::from_secs(5);

/// How long a lane without a connection waits before it tries again.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);

/// How long a connection may take to come up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts the lane's task.
pub(super) fn start(db: PostgresDb, shared: Arc<Shared>, lane: usize) {
    let run = Lane {
        db: db.clone(),
        shared: Arc::clone(&shared),
        lane,
        connection: None,
        used: Instant::now(),
    };
    let work = tokio::spawn(run.run());
    tokio::spawn(async move {
        let status = match work.await {
            Ok(Ok(())) => LaneStatus::Stopped,
            Ok(Err(why)) => {
                db.soundness().break_for(&why);
                for queue in &shared.queues {
                    queue.break_store(&shared.counters, &why);
                }
                return;
            }
            Err(_) => {
                tracing::error!("a writer task has died");
                let why = "a writer task panicked";
                // Whoever waits for the first connection need not wait on.
                shared.queues[lane].link().send_if_modified(|link| {
                    let is_first = *link == Link::Unknown;
                    if is_first {
                        *link = Link::Down(why.into());
                    }
                    is_first
                });
                LaneStatus::Dead(why.into())
            }
        };
        // The store may have broken in another lane meanwhile, which this one ended for.
        shared.queues[lane].status().send_if_modified(|last| {
            let is_broken = matches!(last, LaneStatus::Broken(_));
            if !is_broken {
                *last = status;
            }
            !is_broken
        });
    });
}

/// One lane at work.
struct Lane {
    db: PostgresDb,
    shared: Arc<Shared>,
    lane: usize,
    /// `None` after it was lost, until there is another one.
    connection: Option<PgConnection>,
    used: Instant,
}

impl Lane {
    /// `Err` when the store is broken.
    async fn run(mut self) -> Result<(), String> {
        let shared = Arc::clone(&self.shared);
        let queue = self.queue(&shared);
        self.look().await;
        loop {
            let look_after = match self.connection {
                Some(_) => LOOK_AFTER,
                None => RECONNECT_AFTER,
            };
            match timeout(look_after, queue.wait_in_task()).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => {
                    self.look().await;
                    continue;
                }
            }
            if let Some(why) = self.db.soundness().broken() {
                return Err(why);
            }
            let mut batch = queue.take(&shared.counters, shared.options.postgres_wait_max);
            let result = self.commit(&mut batch).await;
            self.used = Instant::now();
            if batch.found_no_room() {
                shared.counters.found_no_room();
            }
            if let Err(why) = &result {
                // Before anybody hears of it, who would ask again.
                self.db.soundness().break_for(why);
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

    fn queue<'s>(&self, shared: &'s Shared) -> &'s Queue {
        &shared.queues[self.lane]
    }

    /// Makes sure of the connection while nothing waits for it.
    async fn look(&mut self) {
        match self.writable().await {
            Ok(connection) => {
                self.connection = Some(connection);
                self.used = Instant::now();
                self.note(Link::Up);
            }
            Err(why) => self.is_unreachable(why),
        }
    }

    /// A connection over which a commit can be made. One that was made while the database took no writes
    /// stays so for its session, also when writes are taken again: it is dropped.
    async fn writable(&mut self) -> Result<PgConnection, String> {
        let mut connection = self.connection().await.map_err(|error| plain(&error))?;
        let checked = timeout(CONNECT_TIMEOUT, check_writable(&mut connection)).await;
        let checked = checked.map_err(|_| Silent::WHY.to_owned())?;
        checked.map_err(|error| error.to_string())?;
        Ok(connection)
    }

    fn note(&self, link: Link) {
        self.queue(&self.shared).link().send_if_modified(|last| {
            let is_news = *last != link;
            *last = link;
            is_news
        });
    }

    fn is_unreachable(&self, why: String) {
        if !matches!(*self.queue(&self.shared).link().borrow(), Link::Down(_)) {
            tracing::warn!(error = why, "a part of the writer cannot reach the database");
        }
        self.note(Link::Down(why));
    }

    async fn commit(&mut self, batch: &mut Batch<'_>) -> Result<(), String> {
        if batch.entries.is_empty() {
            return Ok(());
        }
        let connection = match self.connection().await {
            Ok(connection) => connection,
            Err(error) => {
                self.is_unreachable(plain(&error));
                batch.stage = Stage::Aborted(Abort::Refused(error.to_string()));
                return Ok(());
            }
        };
        let answer_timeout = self.db.answer_timeout();
        let mut session = Session { connection, answer_timeout, shared: &self.shared, not_now: 0 };
        match session.commit(batch).await {
            Ok(()) => {
                self.note(Link::Up);
                // What a session was made with, `default_transaction_read_only` of its role most of all,
                // outlives its cause: after such a refusal the next batch has a new one.
                self.connection = (session.not_now == 0).then_some(session.connection);
                Ok(())
            }
            Err(Ended::ConnectionLost(why)) => {
                tracing::warn!(%why, "a writer connection was lost");
                self.note(Link::Down(why));
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
        timeout(CONNECT_TIMEOUT, self.db.connect()).await.map_err(|_| Silent)?
    }
}
