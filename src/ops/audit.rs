//! What operators did, to whom, and why: a line in the log for each, and the last ones in memory.

use std::collections::VecDeque;

use parking_lot::Mutex;
use rookery_domain::{Result, Timestamp, id::AppId};

/// Actions that are remembered.
const KEPT_MAX: usize = 200;

/// One action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// When it ended.
    pub at: Timestamp,
    /// What was done.
    pub action: &'static str,
    /// To which app.
    pub app: AppId,
    /// Why, in the operator's words.
    pub reason: String,
    /// `done`, or the code of the error that it ended with.
    pub outcome: &'static str,
}

impl Action {
    /// What has ended like this, now.
    #[must_use]
    pub fn ended<T>(
        now: Timestamp,
        action: &'static str,
        app: AppId,
        reason: String,
        end: &Result<T>,
    ) -> Self {
        let outcome = end.as_ref().err().map_or("done", |error| error.code.as_str());
        Self { at: now, action, app, reason, outcome }
    }
}

/// The last actions.
#[derive(Debug, Default)]
pub struct Audit(Mutex<VecDeque<Action>>);

impl Audit {
    /// Writes an action down.
    pub fn record(&self, action: Action) {
        tracing::warn!(
            target: "rookery::audit",
            {
                app.id = %action.app,
                ops.action = action.action,
                ops.reason = action.reason.as_str(),
                ops.outcome = action.outcome,
            },
            "an operator acted"
        );
        let mut kept = self.0.lock();
        if kept.len() == KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back(action);
    }

    /// The last actions, newest first.
    #[must_use]
    pub fn last(&self) -> Vec<Action> {
        self.0.lock().iter().rev().cloned().collect()
    }
}
