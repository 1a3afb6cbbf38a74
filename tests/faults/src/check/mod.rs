//! Nothing lost: holds a recovered server against the journal.
//!
//! Every 2xx is visible; a 4xx had no effect; what nobody was told about is all or nothing across
//! row, unique index, counters, feed and idempotency record; the feed has no gap, and what a
//! follower saw is so. Spent and revoked credentials are [`crate::spender`]'s.

mod after;
mod feed;
mod rows;

use std::collections::BTreeMap;

use crate::{
    api::Api,
    failure::Result,
    follower::Events,
    journal::{Journal, Row},
    verdict::Violations,
    world::App,
};

/// What an app must hold, carried on from check to check.
#[derive(Debug, Default)]
pub struct Book {
    rows: BTreeMap<String, Row>,
}

impl Book {
    /// Rows that are known, deleted ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether none is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Holds the server against what was known, the journal of the last crew, and what a follower
    /// saw meanwhile; then the book says what the server holds. How many of the steps that nobody
    /// was told about were applied.
    ///
    /// # Errors
    /// When the server does not answer: it has not recovered.
    pub async fn check(
        &mut self,
        api: &Api,
        app: &App,
        journal: Journal,
        seen: &Events,
        violations: &mut Violations,
    ) -> Result<usize> {
        for words in &journal.wrong {
            violations.add(words.clone());
        }
        self.rows.extend(journal.settled.clone());
        let found = rows::found(api, app).await?;
        let open = self.judge_open(&journal, &found, violations);
        let applied = open.iter().filter(|is_applied| **is_applied).count();
        self.judge_settled(&found, violations);
        let events = crate::follower::all(api, app).await?;
        feed::judge(&events, seen, &found, violations);
        // From here on the server is asked to do things, and the book follows.
        self.rows = found;
        after::ask_again(api, app, self, &journal, open, violations).await?;
        let found = rows::found(api, app).await?;
        self.judge_settled(&found, violations);
        rows::judge_counters(api, app, &found, violations).await?;
        Ok(applied)
    }

    /// Decides what became of the open steps: all of a step's rows, or none. What was applied goes
    /// into the book.
    fn judge_open(
        &mut self,
        journal: &Journal,
        found: &BTreeMap<String, Row>,
        violations: &mut Violations,
    ) -> Vec<bool> {
        let mut applied = Vec::with_capacity(journal.open.len());
        for step in &journal.open {
            let done = step.effect.iter().filter(|(key, row)| found.get(key) == Some(row)).count();
            let is_half = done != 0 && done != step.effect.len();
            violations.unless(!is_half, || {
                format!("{} {}: {done} rows of {}", step.method, step.path, step.effect.len())
            });
            applied.push(done != 0);
            if done != 0 {
                self.rows.extend(step.effect.iter().cloned());
            }
        }
        applied
    }

    /// Every row is as the book says, and there is no other.
    fn judge_settled(&self, found: &BTreeMap<String, Row>, violations: &mut Violations) {
        for (key, row) in &self.rows {
            violations.unless(found.get(key) == Some(row), || {
                format!("{key}: acknowledged {row:?}, found {:?}", found.get(key))
            });
        }
        for (key, row) in found {
            violations.unless(self.rows.contains_key(key), || {
                format!("{key}: {row:?} is there and nobody was told of it")
            });
        }
    }
}
