//! How a PostgreSQL lane commits a batch, and what each group is told.
//!
//! A group's outcome is set to unknown before what commits it is sent, and to the truth when the
//! answer comes: whatever happens in between, nobody is told more than is known.

use std::time::Instant;

use sqlx::{Executor as _, PgConnection, Row as _, postgres::PgArguments, query_with};

use super::{
    columns, statement,
    steps::{Step, commit, needs_transaction, steps},
};
use crate::{
    commit::{Abort, Group, Outcome},
    db::{AnswerTimeout, Silent},
    error::StorageError,
    faults::{Fault, Point},
    writer::{Shared, batch::Batch, failure::Failure, queue::BUSY},
};

/// After so many statements that the database could not carry out now, the rest of a batch is not tried:
/// each may have waited for a lock, up to its time-out, and the next ones would wait for the same.
const NOT_NOW_MAX: u32 = 3;

/// Why the lane cannot go on with this connection, or at all.
pub(super) enum Ended {
    ConnectionLost(String),
    Broken(String),
}

/// A connection at work on one batch.
pub(super) struct Session<'a> {
    pub(super) connection: PgConnection,
    pub(super) answer_timeout: AnswerTimeout,
    pub(super) shared: &'a Shared,
    /// Statements that the database could not carry out now.
    pub(super) not_now: u32,
}

impl Session<'_> {
    /// All plain groups in one statement, then each group that needs a transaction of its own.
    pub(super) async fn commit(&mut self, batch: &mut Batch<'_>) -> Result<(), Ended> {
        let (alone, mut plain): (Vec<usize>, Vec<usize>) = (0..batch.entries.len())
            .partition(|position| needs_transaction(&batch.entries[*position].group));
        plain.retain(|position| !self.gives_up(batch, *position));
        self.together(batch, &plain).await?;
        for position in alone {
            if !self.gives_up(batch, position) {
                self.transaction(batch, position).await?;
            }
        }
        Ok(())
    }

    /// When the statement is refused, each group gets one of its own, so that the guilty one
    /// fails alone.
    async fn together(&mut self, batch: &mut Batch<'_>, plain: &[usize]) -> Result<(), Ended> {
        if plain.is_empty() {
            return Ok(());
        }
        match self.statement(batch, plain).await {
            Ok(()) => Ok(()),
            Err(failure) if failure.is_of_one_group() && plain.len() > 1 => {
                tracing::warn!(?failure, groups = plain.len(), "a batch is tried group by group");
                // Certainly undone as a whole, so nothing is unknown about those still to be sent.
                for position in plain {
                    batch.entries[*position].outcome = None;
                }
                for position in plain {
                    if self.gives_up(batch, *position) {
                        continue;
                    }
                    if let Err(failure) = self.statement(batch, &[*position]).await {
                        fail(batch, &[*position], failure)?;
                    }
                }
                Ok(())
            }
            Err(failure) => fail(batch, plain, failure),
        }
    }

    /// Whether a group that was not sent is not tried; then it is told so.
    fn gives_up(&self, batch: &mut Batch<'_>, position: usize) -> bool {
        let why = if self.not_now >= NOT_NOW_MAX {
            "others of its batch have waited for the database in vain"
        } else if batch.entries[position].submitted.elapsed()
            > self.shared.options.postgres_wait_max
        {
            BUSY
        } else {
            return false;
        };
        tell(batch, &[position], &Outcome::Aborted(Abort::Refused(why.into())));
        true
    }

    /// What an error of the database means for who met it.
    fn met(&mut self, error: StorageError) -> Failure {
        if matches!(error, StorageError::Aborted(_)) {
            self.not_now += 1;
        }
        error.into()
    }

    async fn statement(&mut self, batch: &mut Batch<'_>, plain: &[usize]) -> Result<(), Failure> {
        self.pass(Point::BeforeBegin)?;
        let groups = numbered(batch, plain);
        let arguments = columns::arguments(self.shared.epoch, groups)
            .map_err(|error| Abort::Refused(error.to_string()))?;
        self.pass(Point::BeforeCommit)?;
        tell(batch, plain, &Outcome::Unknown);
        let began = Instant::now();
        self.pass(Point::AtCommit)?;
        let answer = query_with(statement::COMMIT, arguments).fetch_all(&mut self.connection);
        let passed = self
            .answer_timeout
            .of(answer)
            .await?
            .map_err(|error| self.met(StorageError::at_commit(&error)))?;
        let rows =
            plain.iter().map(|position| batch.entries[*position].group.writes.rows.len()).sum();
        self.shared.counters.committed(began.elapsed(), rows);
        self.answer_arrives()?;
        // All are read before anybody is told: what cannot be read leaves all outcomes unknown.
        let passed: Vec<usize> = passed
            .iter()
            .map(|row| row.try_get::<i32, _>(0).map(i32::cast_unsigned))
            .map(|position| position.map(|position| position as usize))
            .collect::<Result<_, _>>()
            .map_err(|error| Failure::Lost(error.to_string()))?;
        tell(batch, plain, &Outcome::Aborted(Abort::Fenced));
        tell(batch, &passed, &Outcome::Committed);
        Ok(())
    }

    /// One group in a transaction of several statements.
    async fn transaction(&mut self, batch: &mut Batch<'_>, position: usize) -> Result<(), Ended> {
        let group = &batch.entries[position].group;
        let app = group.app;
        let bound = steps(self.shared.epoch, group)
            .and_then(|steps| Ok((steps, commit(self.shared.epoch, group)?)));
        let (steps, commit) = match bound {
            Ok(bound) => bound,
            Err(abort) => return fail(batch, &[position], abort.into()),
        };
        let timeout = self.answer_timeout;
        let written = match timeout.of(self.write(steps, commit)).await {
            Ok(written) => written,
            Err(silent) => Err(silent.into()),
        };
        if let Err(failure) = written {
            if !failure.is_expected()
                && let Some(skipped) = self.shared.counters.batch_lines.take()
            {
                tracing::error!(app.id = %app, ?failure, skipped, "a group was refused");
            }
            // Without COMMIT the server undoes it when it finds the connection gone.
            fail(batch, &[position], failure)?;
            return self.roll_back().await;
        }
        self.commit_one(batch, position).await
    }

    /// COMMIT of a group whose statements have all been carried out.
    async fn commit_one(&mut self, batch: &mut Batch<'_>, position: usize) -> Result<(), Ended> {
        tell(batch, &[position], &Outcome::Unknown);
        let began = Instant::now();
        let result = match self.pass(Point::AtCommit) {
            Ok(()) => match self.answer_timeout.of(self.connection.execute("commit")).await {
                Ok(answer) => answer.map_err(|error| StorageError::at_commit(&error).into()),
                Err(silent) => Err(silent.into()),
            },
            Err(failure) => Err(failure),
        };
        match result {
            Ok(_) => {
                let rows = batch.entries[position].group.writes.rows.len();
                self.shared.counters.committed(began.elapsed(), rows);
                if let Err(failure) = self.answer_arrives() {
                    return fail(batch, &[position], failure);
                }
                tell(batch, &[position], &Outcome::Committed);
                Ok(())
            }
            Err(failure) => {
                let is_over = matches!(failure, Failure::Aborted(_));
                fail(batch, &[position], failure)?;
                if is_over { self.roll_back().await } else { Ok(()) }
            }
        }
    }

    /// All that is before COMMIT.
    async fn write(&mut self, steps: Vec<Step>, commit: PgArguments) -> Result<(), Failure> {
        self.pass(Point::BeforeBegin)?;
        self.connection.execute("begin").await.map_err(|error| self.before_commit(&error))?;
        for Step { sql, arguments, without_row, point } in steps {
            let done = match query_with(sql, arguments).execute(&mut self.connection).await {
                Ok(done) => done,
                Err(error) => return Err(self.before_commit(&error)),
            };
            if let Some(abort) = without_row
                && done.rows_affected() == 0
            {
                return Err(abort.into());
            }
            if let Some(point) = point {
                self.pass(point)?;
            }
        }
        let passed = query_with(statement::COMMIT, commit)
            .fetch_all(&mut self.connection)
            .await
            .map_err(|error| self.before_commit(&error))?;
        self.pass(Point::BeforeCommit)?;
        if passed.len() == 1 { Ok(()) } else { Err(Abort::Fenced.into()) }
    }

    fn before_commit(&mut self, error: &sqlx::Error) -> Failure {
        self.met(StorageError::before_commit(error))
    }

    async fn roll_back(&mut self) -> Result<(), Ended> {
        match self.answer_timeout.of(self.connection.execute("rollback")).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(Ended::ConnectionLost(error.to_string())),
            Err(Silent) => Err(Ended::ConnectionLost(Silent::WHY.into())),
        }
    }

    /// Where a test loses the connection between COMMIT and its answer.
    fn answer_arrives(&self) -> Result<(), Failure> {
        match self.shared.options.faults.hit(Point::AfterCommit) {
            Some(Fault::Lose) => Err(Fault::Lose.into()),
            _ => Ok(()),
        }
    }

    fn pass(&self, point: Point) -> Result<(), Failure> {
        self.shared.options.faults.hit(point).map_or(Ok(()), |fault| Err(fault.into()))
    }
}

fn numbered<'b>(
    batch: &'b Batch<'_>,
    positions: &'b [usize],
) -> impl Iterator<Item = (i32, &'b Group)> {
    // A batch's bound is far below 2^31.
    positions.iter().map(|position| (*position as i32, &batch.entries[*position].group))
}

fn tell(batch: &mut Batch<'_>, positions: &[usize], outcome: &Outcome) {
    for position in positions {
        if let Some(entry) = batch.entries.get_mut(*position) {
            entry.outcome = Some(outcome.clone());
        }
    }
}

/// Tells the groups of a failed statement. A group that had not been sent is not applied for
/// certain, also when the connection is lost.
fn fail(batch: &mut Batch<'_>, positions: &[usize], failure: Failure) -> Result<(), Ended> {
    match failure {
        Failure::Lost(why) => {
            for position in positions {
                let entry = &mut batch.entries[*position];
                if entry.outcome != Some(Outcome::Unknown) {
                    entry.outcome = Some(Outcome::Aborted(Abort::Refused(why.clone())));
                }
            }
            Err(Ended::ConnectionLost(why))
        }
        Failure::Broken(why) => {
            tell(batch, positions, &Outcome::StoreBroken);
            Err(Ended::Broken(why))
        }
        Failure::Aborted(abort) => {
            tell(batch, positions, &Outcome::Aborted(abort));
            Ok(())
        }
    }
}
