//! What counts towards the limits of an app and of its account, and what they say when it is too
//! much (decision 23). How many apps an account may have is decided by the commit.

use rookery_domain::{Error, ErrorCode, Result, row::Row};
use serde_json::json;

use super::Decision;
use crate::app::working::Undo;

/// What is done about a limit that deleted rows count towards.
const TRASH: &str = "The oldest deleted rows are being destroyed: try again in some seconds. Deleting more rows makes no room before that.";

/// What the owner does about a limit that detached rows count towards. Others are not told that there
/// are any.
const DETACHED: &str = "Rows that a forced deploy detached count too: the app's record tells how many, by collection. To give their room back, deploy a version that declares their collection again, in a schema that they fit, and delete or purge them there; where a collection is declared and a key is known, a purge is enough. Or delete other rows, or ask the operator to raise the limit of the app.";

impl Decision<'_> {
    /// `app_quota_exceeded` or `account_quota_exceeded`, for a row of `bytes` that takes the place
    /// of the live one `before`; without one it reserves a row of the account.
    pub(super) fn check_quota(&mut self, bytes: u64, before: Option<&Row>) -> Result<()> {
        self.ask_for_sweep();
        let limits = &self.env.limits;
        let totals = self.working.root.totals;
        if before.is_none() {
            let trash = beyond(totals.trashed, limits.trash_rows_max());
            self.check_room("rows", totals.rows() + 1, trash, limits.max_rows_per_app)?;
        }
        let freed = before.map_or(0, Row::stored_bytes);
        if bytes > freed {
            let trash = beyond(totals.trashed_bytes, limits.trash_bytes_max());
            let kept = totals.bytes + bytes - freed;
            self.check_room("storage_bytes", kept, trash, limits.max_storage_bytes_per_app)?;
        }
        if before.is_none() {
            self.reserve_rows(1)?;
        }
        Ok(())
    }

    /// Has the sweeper come where the app has more in its trash than that has room for.
    pub(super) fn ask_for_sweep(&self) {
        let (totals, limits) = (self.working.root.totals, &self.env.limits);
        if totals.trashed > limits.trash_rows_max()
            || totals.trashed_bytes > limits.trash_bytes_max()
        {
            self.env.trash_overfull.notify_one();
        }
    }

    /// `app_quota_exceeded`, where the app would keep so much of `dimension`, and its trash takes room of
    /// it. It says what counts that no list of rows shows.
    fn check_room(&self, dimension: &str, kept: u64, trash: u64, limit: u64) -> Result<()> {
        if kept + trash <= limit {
            return Ok(());
        }
        let detached = self.working.root.totals.detached;
        let (what, hint) = if kept <= limit {
            let what = "; what was deleted faster than it is destroyed counts towards it";
            (what.to_owned(), Some(TRASH))
        } else if self.standing.is_owner() && detached > 0 {
            let what = format!("; its detached rows, {detached} of them, count towards it");
            (what, Some(DETACHED))
        } else {
            (String::new(), None)
        };
        let message = format!("the app is at its limit of {limit} {dimension}{what}");
        let refused = Error::new(ErrorCode::AppQuotaExceeded, message)
            .with_details(json!({"dimension": dimension, "limit": limit}));
        Err(match hint {
            Some(hint) => refused.with_hint(hint),
            None => refused,
        })
    }

    /// Has the account count so many rows more, where it has room for them
    /// (`account_quota_exceeded`).
    pub(super) fn reserve_rows(&mut self, rows: u64) -> Result<()> {
        let rows_max = self.env.limits.max_rows_per_account;
        let replaced = self.working.counted.reserve(rows, rows_max)?;
        self.working.open.journal.push(Undo::Rows { reserved: rows as i64, replaced });
        Ok(())
    }

    /// Has the account count so many rows more, whether it has room for them or not.
    pub(super) fn count_rows(&mut self, rows: u64) {
        let reserved = rows as i64;
        self.working.counted.add(reserved);
        self.working.open.journal.push(Undo::Rows { reserved, replaced: 0 });
    }

    /// Has the account count so many rows less, once that is durable.
    pub(super) fn release_rows(&mut self, rows: u64) {
        let leaving = rows as i64;
        self.working.counted.leave(leaving);
        self.working.open.journal.push(Undo::Leaving(leaving));
    }
}

/// The trash counts only beyond twice its room, which happens only where rows are deleted faster
/// than the sweeper destroys them.
const fn beyond(trashed: u64, room: u64) -> u64 {
    trashed.saturating_sub(room.saturating_mul(2))
}
