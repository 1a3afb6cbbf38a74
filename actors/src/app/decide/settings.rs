//! The app itself: settings, trash, closing, waking, retention overrides. What is not here: its
//! versions (`deploy`), whose it is (`ownership`), and who else reaches it (`access`).

use std::{sync::Arc, time::Duration};

use rookery_domain::{
    Error, ErrorCode, Result, Timestamp,
    app::{AppRecord, AppStatus, ShareToken},
    event::EventType,
    field_patch::FieldPatch,
    id::{HumanId, OrgId},
    manifest::{Retention, Visibility},
    retention::{self, RetentionPatch},
    timezone::Zone,
};
use rookery_storage::commit::AppWrite;
use serde_json::json;

use super::Decision;
use crate::app::{
    deploy::unrestricted,
    message::{AppOp, Reply},
    working::Undo,
};

impl Decision<'_> {
    /// Decides an operation on the app as a whole: the owner's, or a worker's.
    pub(super) fn app(&mut self, op: AppOp) -> Result<Reply> {
        if !self.standing.is_owner() {
            return Err(Error::new(ErrorCode::Forbidden, "only the owner may do this"));
        }
        let is_for_any_status = matches!(
            op,
            AppOp::Delete
                | AppOp::Restore
                | AppOp::Close
                | AppOp::Abandon { .. }
                | AppOp::Destroy
                | AppOp::PurgeTrash(_)
                | AppOp::TrimTrash(_)
        );
        if !is_for_any_status {
            self.working.root.record.status.check_live()?;
        }
        match op {
            AppOp::Delete => self.trash_app(),
            AppOp::Restore => self.restore_app(),
            AppOp::Close => self.close(),
            AppOp::Abandon { account } => self.abandon(account),
            AppOp::Destroy => self.destroy(),
            AppOp::PurgeTrash(rows) => Ok(Reply::Count(self.purge_trash(&rows))),
            AppOp::TrimTrash(oldest) => Ok(Reply::Count(self.trim_trash(&oldest))),
            AppOp::Deploy(plan) => {
                self.deploy(&plan).map(|report| Reply::Deployed(Box::new(report)))
            }
            AppOp::Settings { visibility, share, timezone, org } => {
                self.settings(visibility, share, timezone, org)
            }
            AppOp::HandOver(acceptance) => self.hand_over(acceptance),
            AppOp::RotateShare(share) => self.rotate_share(share),
            AppOp::Access(op) => self.access(op),
            AppOp::Unrestricted(on) => self.unrestrict(on),
            AppOp::Migration(on) => Ok(self.migration(on)),
            AppOp::Retention { collection, patch } => self.retention(&collection, patch),
            AppOp::Woken => {
                let stamp = self.stamp();
                Ok(Reply::Event(self.working.emit(EventType::AppWoken, stamp, None)))
            }
            AppOp::Prune => Ok(Reply::Count(self.prune())),
        }
    }

    fn settings(
        &mut self,
        visibility: Option<Visibility>,
        share: Option<ShareToken>,
        timezone: Option<Arc<str>>,
        org: FieldPatch<OrgId>,
    ) -> Result<Reply> {
        let mut record = AppRecord::clone(&self.working.root.record);
        record.org = org.apply(record.org);
        self.check_org(record.org)?;
        if let Some(visibility) = visibility {
            if record.visibility.admits_less_than(visibility) {
                record.opened_seq = self.working.root.seq + 1;
            }
            record.set_visibility(visibility, share);
        }
        if let Some(timezone) = timezone {
            record.timezone = timezone;
        }
        if record.unrestricted && record.visibility != Visibility::Private {
            return Err(unrestricted());
        }
        let changed = json!({
            "visibility": record.visibility.as_str(),
            "timezone": &*record.timezone,
            "org_id": record.org,
        });
        if record == *self.working.root.record {
            return Ok(Reply::App(self.working.root.record.clone()));
        }
        Ok(self.rewrite(record, EventType::AppUpdated, Some(changed.to_string().into())))
    }

    /// Ends the share link in force, and every visit by it.
    fn rotate_share(&mut self, share: ShareToken) -> Result<Reply> {
        let record = &self.working.root.record;
        if record.visibility != Visibility::Link {
            let message = "only an app with visibility `link` has a share link";
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        let mut record = AppRecord::clone(record);
        record.share = Some(share);
        let data = json!({"share_link": "rotated"}).to_string().into();
        Ok(self.rewrite(record, EventType::AppUpdated, Some(data)))
    }

    /// Only an app that nobody but its owner and members reaches may reach everything: what they
    /// enter there goes wherever its page sends it.
    fn unrestrict(&mut self, on: bool) -> Result<Reply> {
        let root = &self.working.root;
        if on && root.record.visibility != Visibility::Private {
            let message =
                "only a private app can be unrestricted: set `visibility` to private first";
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        if on && root.has_live_grants(self.now) {
            let message = "an app with grant links cannot be unrestricted: revoke them first";
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        if root.record.unrestricted == on {
            return Ok(Reply::App(root.record.clone()));
        }
        let mut record = AppRecord::clone(&root.record);
        record.unrestricted = on;
        let data = json!({"unrestricted": on}).to_string().into();
        Ok(self.rewrite(record, EventType::AppUpdated, Some(data)))
    }

    fn migration(&mut self, on: Option<Duration>) -> Reply {
        let mut record = AppRecord::clone(&self.working.root.record);
        record.migration_until = on.map(|ttl| self.now.plus_seconds(ttl.as_secs() as i64));
        let data = json!({"migration_mode": on.is_some()}).to_string().into();
        self.rewrite(record, EventType::AppUpdated, Some(data))
    }

    fn retention(&mut self, collection: &str, patch: RetentionPatch) -> Result<Reply> {
        self.index_of(collection)?;
        let mut record = AppRecord::clone(&self.working.root.record);
        let owner = patch.apply(record.retention.remove(collection).unwrap_or_default())?;
        if owner != Retention::default() {
            record.retention.insert(collection.to_owned(), owner);
        }
        let data = json!({"retention": {"collection": collection}}).to_string().into();
        Ok(self.rewrite(record, EventType::AppUpdated, Some(data)))
    }

    fn trash_app(&mut self) -> Result<Reply> {
        let record = &self.working.root.record;
        if record.status == AppStatus::Deleted {
            return Ok(Reply::App(record.clone()));
        }
        record.status.check_live()?;
        let mut record = AppRecord::clone(record);
        let (since, until) = self.time_in_trash();
        self.release_rows(self.working.root.counted_rows());
        record.status = AppStatus::Deleted;
        record.deleted_at = Some(since);
        record.purge_at = Some(until);
        Ok(self.rewrite(record, EventType::AppDeleted, None))
    }

    fn time_in_trash(&self) -> (Timestamp, Timestamp) {
        self.working.time_in_trash(self.now, self.env.limits.deleted_app_retention_days)
    }

    fn restore_app(&mut self) -> Result<Reply> {
        let record = &self.working.root.record;
        if record.is_over(self.now) {
            return Err(Error::app_not_found());
        }
        match record.status {
            AppStatus::Live => return Ok(Reply::App(record.clone())),
            AppStatus::Deleted => {}
            AppStatus::Closed | AppStatus::Purging => record.status.check_live()?,
        }
        let mut record = AppRecord::clone(record);
        let rows = self.working.root.totals.rows();
        self.reserve_rows(rows)?;
        record.status = AppStatus::Live;
        record.deleted_at = None;
        record.purge_at = None;
        // It counts among the account's apps again.
        let apps_max = Some(self.env.limits.apps_max());
        let write = AppWrite { apps_max, ..AppWrite::of(record) };
        Ok(self.rewrite_with(write, EventType::AppRestored, None))
    }

    fn close(&mut self) -> Result<Reply> {
        let record = &self.working.root.record;
        match record.status {
            AppStatus::Closed => return Ok(Reply::App(record.clone())),
            AppStatus::Purging => return Err(Error::app_not_found()),
            AppStatus::Live | AppStatus::Deleted => {}
        }
        let mut record = AppRecord::clone(record);
        if record.status == AppStatus::Deleted {
            self.count_rows(self.working.root.totals.rows());
        }
        record.status = AppStatus::Closed;
        // What is closed stays, also where it was to be destroyed with the trash.
        record.deleted_at = None;
        record.purge_at = None;
        let data = json!({"status": "closed"}).to_string().into();
        Ok(self.rewrite(record, EventType::AppUpdated, Some(data)))
    }

    /// Nobody is left who could open it again: the sweeper takes it when its time is over.
    fn abandon(&mut self, account: HumanId) -> Result<Reply> {
        let record = &self.working.root.record;
        if record.owner != account {
            return Ok(Reply::App(record.clone()));
        }
        match record.status {
            AppStatus::Purging => return Err(Error::app_not_found()),
            AppStatus::Live | AppStatus::Deleted | AppStatus::Closed => {}
        }
        if record.status != AppStatus::Live && record.purge_at.is_some() {
            return Ok(Reply::App(record.clone()));
        }
        let mut record = AppRecord::clone(record);
        record.status = AppStatus::Closed;
        record.purge_at = Some(self.time_in_trash().1);
        let data = json!({"status": "closed"}).to_string().into();
        Ok(self.rewrite(record, EventType::AppUpdated, Some(data)))
    }

    /// The last thing an app does: from here on it answers as if it had never been.
    fn destroy(&mut self) -> Result<Reply> {
        let record = &self.working.root.record;
        match record.status {
            AppStatus::Purging => return Ok(Reply::App(record.clone())),
            // The sweeper comes when it is due; whoever restored the app meanwhile is heard.
            AppStatus::Deleted | AppStatus::Closed if self.caller.is_system() => {
                if record.purge_at.is_none_or(|due| due > self.now) {
                    return Err(Error::new(ErrorCode::Conflict, "this app is not due yet"));
                }
            }
            AppStatus::Deleted => {}
            AppStatus::Live | AppStatus::Closed => {
                record.status.check_live()?;
                return Err(Error::new(
                    ErrorCode::Conflict,
                    "only a deleted app can be purged: delete it first",
                ));
            }
        }
        let mut record = AppRecord::clone(record);
        self.release_rows(self.working.root.counted_rows());
        record.status = AppStatus::Purging;
        Ok(Reply::App(self.write_record(AppWrite::of(record))))
    }

    /// Replaces the record and tells the feed.
    pub(crate) fn rewrite(
        &mut self,
        record: AppRecord,
        kind: EventType,
        data: Option<Box<str>>,
    ) -> Reply {
        self.rewrite_with(AppWrite::of(record), kind, data)
    }

    /// Writes the record as [`Self::rewrite`] does, with what else `write` holds.
    pub(crate) fn rewrite_with(
        &mut self,
        mut write: AppWrite,
        kind: EventType,
        data: Option<Box<str>>,
    ) -> Reply {
        let stamp = self.stamp();
        self.working.emit(kind, stamp, data);
        write.record.updated_at = stamp.at;
        Reply::App(self.write_record(write))
    }

    pub(super) fn write_record(&mut self, mut write: AppWrite) -> Arc<AppRecord> {
        let record = Arc::new(write.record.clone());
        write.bounded = retention::is_bounded(&self.working.root.manifest, &record.retention);
        let before = &self.working.root.record;
        let is_private = |record: &AppRecord| record.visibility == Visibility::Private;
        // A preview must not work again when the app becomes private again, or returns to an owner from
        // before.
        if is_private(before) && !is_private(&record) || before.owner != record.owner {
            self.end_previews();
        }
        self.working.open.write_app(write);
        if record.timezone != self.working.root.record.timezone {
            let zone = Zone::parse(&record.timezone).unwrap_or(Zone::UTC);
            let before = Box::new(self.working.private.budgets.clone());
            let moved = self.working.private.budgets.move_back(zone.day(self.now));
            self.working.open.journal.push(Undo::Budgets(before));
            self.working.open.writes.budgets.extend(moved);
            self.working.private.zone = zone;
        }
        self.working.root.record = record.clone();
        record
    }
}
