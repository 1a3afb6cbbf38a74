//! One transaction of the SQLite lane: all groups of a batch, one COMMIT.

use std::time::Instant;

use rusqlite::Connection;

use super::statements::Statements;
use crate::{
    commit::{Abort, Epoch, Group, Outcome},
    db::{SqliteDb, for_rusqlite},
    error::StorageError,
    faults::{Faults, Point},
    writer::{
        access, app_record,
        batch::{Batch, Stage},
        bound::Bound,
        failure::Failure,
        health::Counters,
    },
};

/// The lane's connection with everything a transaction needs.
pub(super) struct Session<'c> {
    pub(super) connection: &'c Connection,
    pub(super) db: &'c SqliteDb,
    pub(super) statements: Statements<'c>,
    pub(super) epoch: Epoch,
    pub(super) faults: &'c Faults,
    pub(super) counters: &'c Counters,
}

/// Whether each group is put behind a savepoint. Usually none is, because a savepoint costs
/// copies of the pages it touches; a batch that fails is tried once more with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Isolation {
    Shared,
    PerGroup,
}

impl Session<'_> {
    /// Commits the batch as far as it can be; its stage and refusals say how it went.
    ///
    /// # Errors
    /// A text when the store is broken.
    pub(super) fn commit(&mut self, batch: &mut Batch<'_>) -> Result<(), String> {
        let mut result = self.attempt(batch, Isolation::Shared);
        if result.as_ref().is_err_and(Failure::is_of_one_group) {
            batch.stage = Stage::Broken;
            self.roll_back()?;
            result = self.attempt(batch, Isolation::PerGroup);
        }
        let Err(failure) = result else { return Ok(()) };
        // Nothing of the batch is applied: what single groups were told in it is void.
        batch.entries.iter_mut().for_each(|entry| entry.outcome = None);
        batch.stage = Stage::Broken;
        if let Failure::Broken(why) = failure {
            return Err(why);
        }
        self.roll_back()?;
        if let Some(skipped) = self.counters.batch_lines.take() {
            let groups = batch.entries.len();
            tracing::warn!(?failure, groups, skipped, "a batch was not committed");
        }
        batch.stage = Stage::Aborted(failure.into_abort());
        Ok(())
    }

    fn attempt(&mut self, batch: &mut Batch<'_>, isolation: Isolation) -> Result<(), Failure> {
        batch.stage = Stage::Open;
        self.pass(Point::BeforeBegin)?;
        self.statements.begin().map_err(|error| match failed(error) {
            // A lock that some other program holds is no group's fault: not tried again.
            Failure::Aborted(Abort::Refused(why)) => Failure::Lost(why),
            other => other,
        })?;
        for entry in &mut batch.entries {
            entry.outcome = self.group(&entry.group, isolation)?.map(Outcome::Aborted);
        }
        if batch.is_decided() {
            return self.statements.rollback().map_err(failed);
        }
        self.pass(Point::BeforeCommit)?;
        batch.stage = Stage::Committing;
        let began = Instant::now();
        self.pass(Point::AtCommit)
            .and_then(|()| self.statements.commit().map_err(failed))
            .map_err(
                // After any other I/O error here the pages may be on disk or not: only reading the
                // file again, in a new process, tells.
                |failure| match failure {
                    Failure::Lost(why) => Failure::Broken(why),
                    other => other,
                },
            )?;
        self.db.check_files().map_err(Failure::Broken)?;
        batch.stage = Stage::Committed;
        self.counters.committed(began.elapsed(), batch.rows());
        // Durable: what goes wrong from here on, short of a panic, changes nothing.
        let _ = self.faults.hit(Point::AfterCommit);
        Ok(())
    }

    /// Writes one group; `Some` when it alone is refused and nothing of it is written.
    fn group(&mut self, group: &Group, isolation: Isolation) -> Result<Option<Abort>, Failure> {
        // Such a group has expected outcomes (an offer that is gone), so it is always isolated.
        let isolated = isolation == Isolation::PerGroup || group.writes.app_write.is_some();
        if isolated {
            self.statements.savepoint().map_err(failed)?;
        }
        match self.write(group) {
            Ok(passed) => {
                if isolated {
                    self.statements.release().map_err(failed)?;
                }
                Ok((!passed).then_some(Abort::Fenced))
            }
            Err(failure) if isolated && failure.is_of_one_group() => {
                self.statements.undo().map_err(failed)?;
                if !failure.is_expected() {
                    tracing::error!(app.id = %group.app, ?failure, "a group was refused");
                }
                Ok(Some(failure.into_abort()))
            }
            Err(failure) => Err(failure),
        }
    }

    /// `false` when the fence refuses the group; then nothing was written.
    fn write(&mut self, group: &Group) -> Result<bool, Failure> {
        if !self.statements.head(self.epoch, group).map_err(failed)? {
            return Ok(false);
        }
        self.pass(Point::AfterHead)?;
        if let Some(write) = &group.writes.app_write {
            for bound in app_record::statements(group.app, write)? {
                self.run(&bound)?;
            }
            self.pass(Point::AfterAppWrite)?;
        }
        for bound in access::statements(group)? {
            self.run(&bound)?;
        }
        self.pass(Point::AfterAccess)?;
        self.statements.scrubs(group).map_err(failed)?;
        self.pass(Point::AfterScrubs)?;
        self.statements.rows(group).map_err(failed)?;
        self.pass(Point::AfterRows)?;
        self.statements.events(group).map_err(failed)?;
        self.pass(Point::AfterEvents)?;
        self.statements.budgets(group).map_err(failed)?;
        self.pass(Point::AfterBudgets)?;
        self.statements.challenges(group).map_err(failed)?;
        self.pass(Point::AfterChallenges)?;
        self.statements.responses(group).map_err(failed)?;
        self.pass(Point::AfterIdempotency)?;
        self.statements.visitors(group).map_err(failed)?;
        Ok(true)
    }

    /// Runs one of the rarer statements.
    fn run(&self, bound: &Bound) -> Result<(), Failure> {
        let run = || {
            let mut statement = self.connection.prepare_cached(bound.sql)?;
            let args = for_rusqlite(&bound.args);
            match statement.column_count() {
                0 => statement.execute(args).map(|changed| changed > 0),
                _ => statement.exists(args),
            }
        };
        match (run(), &bound.without_row) {
            (Ok(false), Some(abort)) => Err(abort.clone().into()),
            (Ok(_), _) => Ok(()),
            (Err(error), _) => Err(failed(error)),
        }
    }

    fn pass(&self, point: Point) -> Result<(), Failure> {
        self.faults.hit(point).map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// Ends the transaction, if one is open; some errors have ended it already.
    fn roll_back(&mut self) -> Result<(), String> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        match self.statements.rollback() {
            Ok(()) => Ok(()),
            Err(_) if self.connection.is_autocommit() => Ok(()),
            Err(error) => Err(format!("a transaction cannot be rolled back: {error}")),
        }
    }
}

/// Sorts an error of SQLite.
pub(super) fn failed(error: rusqlite::Error) -> Failure {
    Failure::from(StorageError::of_rusqlite(&error))
}
