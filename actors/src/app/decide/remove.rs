//! Delete, restore and purge.

use std::sync::Arc;

use rookery_domain::{
    Error, Result,
    access::{Access, Authorship},
    event::{EventType, RowChange},
    json::EMPTY_OBJECT,
    row::{Row, RowText},
};
use rookery_storage::commit::{RowState, Scrub};

use super::{
    Decision,
    write::{check_changeable, check_version},
};
use crate::app::{
    message::{PurgedRow, Reply, RowFate, RowReply, RowTarget},
    private::{Tomb, TombKind},
    rows::Digest,
    unique::Forms,
    working::Indexed,
};

/// What to do when a row that comes back meets a value that is another row's by now.
const TAKEN: &str = "Change that value in the row that holds it, or delete that row; then restore.";

/// What to do when a row that comes back does not fit the schema any more.
const OUTGROWN: &str =
    "A row in the trash cannot be changed: deploy a version whose schema it fits, then restore.";

/// What to do about a row in the trash that is another version: an answer does not hold its content.
const IN_TRASH: &str = "Read the row with include_deleted=true: its version is the one to name.";

/// The same of a detached row, which nobody can read.
const DETACHED: &str = "The row is detached, so nothing shows it: its version is the one in the message. Name that, or purge it without a condition.";

impl Decision<'_> {
    /// Moves a live row to the trash.
    pub(super) fn delete(&mut self, ix: usize, target: &RowTarget) -> Result<RowReply> {
        let decl = self.decl(ix);
        let access = Access::new(&self.standing, &decl);
        let Some(row) = self.working.root.collections[ix].rows.get(&target.key).cloned() else {
            return Err(self.absent(ix, access.delete(None)));
        };
        access.delete(Some(Authorship::from(&*row)))?;
        check_changeable(&decl)?;
        check_version(&access, &row, target.if_match.as_ref())?;
        let RowReply { row, fate } = self.trash(ix, &row);
        Ok(RowReply { row: self.told(&decl, row, EMPTY_OBJECT), fate })
    }

    /// Moves a live row to the trash, whoever asks.
    pub(super) fn trash(&mut self, ix: usize, row: &Arc<Row>) -> RowReply {
        let at = self.working.next_time(self.now);
        // No row was deleted before it was there: one that was would be destroyed too early, as soon
        // as a clock that is slow now has been set right.
        let deleted_at = at.max(row.created_at).max(row.updated_at);
        let left = Arc::new(row.next_version(at));
        let before = self.indexed(ix, row.clone());
        self.working.take(ix, &before, left.clone(), RowState::Trashed(deleted_at));
        self.release_rows(1);
        self.ask_for_sweep();
        self.emit_row(self.decl(ix).name.clone(), EventType::RowDeleted, left.clone());
        RowReply { row: left, fate: RowFate::Deleted(deleted_at) }
    }

    /// Brings a row back from the trash. `trashed` is its content as storage had it:
    /// [`Reply::Stale`] where that is not what stands there now.
    pub(super) fn restore(
        &mut self,
        ix: usize,
        key: &str,
        trashed: Option<Arc<Row>>,
    ) -> Result<Reply> {
        let decl = self.decl(ix);
        Access::new(&self.standing, &decl).trash()?;
        if let Some(row) = self.working.root.collections[ix].rows.get(key) {
            return Ok(Reply::Row(RowReply { row: row.clone(), fate: RowFate::Existed }));
        }
        let digest = Digest::of(key);
        let tomb = self
            .working
            .tomb(&decl.name, digest)
            .filter(|tomb| tomb.kind == TombKind::Trashed)
            .ok_or_else(|| self.absent(ix, Ok(())))?;
        let Some(content) = trashed.filter(|row| row.version == tomb.version) else {
            return Ok(Reply::Stale);
        };
        let value = content.value();
        self.check_schema(ix, &value).map_err(|misfit| misfit.with_hint(OUTGROWN))?;
        let forms = Forms::of(&decl.unique, &value);
        self.check_unique(ix, &decl, &forms, digest).map_err(|taken| taken.with_hint(TAKEN))?;
        self.check_quota(content.stored_bytes(), None)?;
        let at = self.working.next_time(self.now);
        let row = Arc::new(content.next_version(at));
        let after = Indexed { row: row.clone(), forms };
        self.working.put(ix, None, &after, EventType::RowRestored, self.row_stamp(at));
        Ok(Reply::Row(RowReply { row, fate: RowFate::Restored }))
    }

    /// Destroys the content of a live, trashed or detached row, in the feed's history too.
    pub(super) fn purge(&mut self, ix: usize, target: &RowTarget) -> Result<PurgedRow> {
        let (decl, key) = (self.decl(ix), &*target.key);
        let access = Access::new(&self.standing, &decl);
        let row = self.working.root.collections[ix].rows.get(key).cloned();
        if !self.caller.is_system() {
            access.purge(row.as_deref().map(Into::into))?;
        }
        let Some(row) = row else {
            let tomb = self.working.tomb(&decl.name, Digest::of(key));
            let tomb = tomb.filter(|tomb| tomb.kind != TombKind::Purged);
            let tomb = tomb.ok_or_else(Error::row_not_found)?;
            if let Some(condition) = &target.if_match {
                let hint = if tomb.kind == TombKind::Trashed { IN_TRASH } else { DETACHED };
                let checked = condition.check(tomb.version, None);
                checked.map_err(|error| error.with_hint(hint))?;
            }
            return Ok(self.purge_tomb(&decl.name, key, tomb));
        };
        check_version(&access, &row, target.if_match.as_ref())?;
        let left = self.remains(key, row.version, Some(&row));
        let before = self.indexed(ix, row);
        let state = RowState::Purged(left.updated_at);
        self.working.take(ix, &before, left.clone(), state);
        self.release_rows(1);
        Ok(self.purged(&decl.name, left))
    }

    /// Destroys what stands at a key without a live row. The collection need not be declared.
    pub(super) fn purge_tomb(&mut self, collection: &Arc<str>, key: &str, tomb: Tomb) -> PurgedRow {
        let left = self.remains(key, tomb.version, None);
        self.working.drop_tomb(collection, Digest::of(key));
        self.working.bury(collection, left.clone(), RowState::Purged(left.updated_at));
        if tomb.kind != TombKind::Trashed {
            self.release_rows(1);
        }
        self.purged(collection, left)
    }

    /// What is left of a purged row: no content.
    fn remains(&mut self, key: &str, version: u32, row: Option<&Row>) -> Arc<Row> {
        let at = self.working.next_time(self.now);
        let who = self.standing.principal;
        Arc::new(Row {
            text: RowText::new(key, ""),
            version: version + 1,
            creator: row.map_or(who, |row| row.creator),
            editor: row.map_or(who, |row| row.editor),
            created_at: row.map_or(at, |row| row.created_at),
            updated_at: at,
        })
    }

    /// Takes the content out of everything that may still quote it, and says so.
    fn purged(&mut self, collection: &Arc<str>, left: Arc<Row>) -> PurgedRow {
        self.working.root.tail.clear();
        self.working.private.responses.forget_texts();
        let key: Box<str> = left.key().into();
        self.working
            .open
            .writes
            .scrubs
            .push(Scrub { collection: collection.clone(), key: key.clone() });
        let (version, purged_at) = (left.version, left.updated_at);
        self.emit_row(collection.clone(), EventType::RowPurged, left);
        PurgedRow { key, version, purged_at }
    }

    fn emit_row(&mut self, collection: Arc<str>, kind: EventType, row: Arc<Row>) {
        let stamp = self.row_stamp(row.updated_at);
        self.working.emit_row(kind, stamp, RowChange::new(collection, row));
    }
}
