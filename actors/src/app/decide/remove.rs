//! Delete, restore and purge.

use std::sync::Arc;

use rookery_domain::{
    Error, Result,
    access::{Access, Authorship},
    event::{EventType, RowChange},
    principal::Caller,
    row::Row,
};
use rookery_storage::commit::{RowState, Scrub};

use super::{
    Decision, sighted,
    write::{append_only, check_version},
};
use crate::app::{
    answers::look_again,
    message::{DeleteRow, RowFate, RowReply, Tombstone},
    rows::Digest,
    working::{TombKind, Undo},
};

impl Decision<'_> {
    /// Moves a live row to the trash.
    pub(super) fn delete(&mut self, shelf: usize, target: &DeleteRow) -> Result<RowReply> {
        let decl = self.decl(shelf);
        let access = Access::new(&self.standing, &decl);
        let Some(row) = self.working.root.collections[shelf].rows.get(&target.key).cloned() else {
            access.delete(None)?;
            return Err(Error::row_not_found());
        };
        access.delete(Some(Authorship::from(&*row)))?;
        if decl.append_only {
            return Err(append_only(&decl));
        }
        check_version(&access, &row, target.if_match)?;
        Ok(self.trash(shelf, &row))
    }

    /// Moves a live row to the trash, whoever asks.
    pub(super) fn trash(&mut self, shelf: usize, row: &Arc<Row>) -> RowReply {
        let at = self.working.stamp(self.now);
        let left = Arc::new(Row { version: row.version + 1, updated_at: at, ..Row::clone(row) });
        let value = Self::value_of(row);
        self.working.take(
            shelf,
            &sighted(row.clone(), Some(&value)),
            left.clone(),
            RowState::Trashed(at),
        );
        self.emit_row(shelf, EventType::RowDeleted, left.clone());
        RowReply { row: left, fate: RowFate::Deleted(at) }
    }

    /// Brings a row back from the trash. `trashed` is its content as storage had it.
    pub(super) fn restore(
        &mut self,
        shelf: usize,
        key: &str,
        trashed: Option<Arc<Row>>,
    ) -> Result<RowReply> {
        let decl = self.decl(shelf);
        Access::new(&self.standing, &decl).trash()?;
        if let Some(row) = self.working.root.collections[shelf].rows.get(key) {
            return Ok(RowReply { row: row.clone(), fate: RowFate::Existed });
        }
        let digest = Digest::of(key);
        let tomb = self
            .working
            .tomb(&decl.name, digest)
            .filter(|tomb| tomb.kind == TombKind::Trashed)
            .ok_or_else(Error::row_not_found)?;
        let content = trashed.filter(|row| row.version == tomb.version).ok_or_else(look_again)?;
        let value = Self::value_of(&content);
        self.check_schema(shelf, &value)?;
        self.check_unique(shelf, &decl, &value, digest)?;
        let at = self.working.stamp(self.now);
        let row =
            Arc::new(Row { version: content.version + 1, updated_at: at, ..Row::clone(&content) });
        let (who, silent) = (self.standing.principal, self.silent());
        let after = sighted(row.clone(), Some(&value));
        self.working.put(shelf, None, &after, EventType::RowRestored, who, at, silent);
        Ok(RowReply { row, fate: RowFate::Restored })
    }

    /// Destroys the content of a live, trashed or detached row, in the feed's history too.
    pub(super) fn purge(&mut self, shelf: usize, key: &str) -> Result<Tombstone> {
        let decl = self.decl(shelf);
        if !matches!(self.caller, Caller::System) {
            Access::new(&self.standing, &decl).purge()?;
        }
        let digest = Digest::of(key);
        let live = self.working.root.collections[shelf].rows.get(key).cloned();
        let version = match (&live, self.working.tomb(&decl.name, digest)) {
            (Some(row), _) => row.version,
            (None, Some(tomb)) if tomb.kind != TombKind::Purged => tomb.version,
            _ => return Err(Error::row_not_found()),
        };
        let at = self.working.stamp(self.now);
        let who = self.standing.principal;
        let left = Arc::new(Row {
            key: key.into(),
            data: "".into(),
            version: version + 1,
            creator: live.as_ref().map_or(who, |row| row.creator),
            editor: live.as_ref().map_or(who, |row| row.editor),
            created_at: live.as_ref().map_or(at, |row| row.created_at),
            updated_at: at,
        });
        let state = RowState::Purged(at);
        if let Some(row) = live {
            let value = Self::value_of(&row);
            self.working.take(shelf, &sighted(row, Some(&value)), left.clone(), state);
        } else {
            self.working.drop_tomb(&decl.name, digest);
            self.working.bury(&decl.name, left.clone(), state);
        }
        self.working.account.add(-1);
        self.working.open.journal.push(Undo::Rows(-1));
        self.working.root.tail.clear();
        let seq = self.working.root.seq;
        self.working.private.answers.forget_all(seq);
        self.working.open.scrubs.push(Scrub { collection: decl.name.clone(), key: key.into() });
        self.emit_row(shelf, EventType::RowPurged, left);
        Ok(Tombstone { key: key.into(), version: version + 1, purged_at: at })
    }

    fn emit_row(&mut self, shelf: usize, kind: EventType, row: Arc<Row>) {
        let collection = self.decl(shelf).name.clone();
        let (at, silent) = (row.updated_at, self.silent());
        let change = RowChange { collection, row, previous_editor: None };
        self.working.emit(kind, self.standing.principal, at, Some(change), None, silent);
    }
}
