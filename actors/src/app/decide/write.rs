//! Create, upsert and update. What is not here: what removes a row or brings it back (`remove`), many
//! of either at once (`batch`), and what a row counts towards (`quota`).

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result,
    access::{Access, Authorship, Tier},
    event::EventType,
    if_match::IfMatch,
    json::EMPTY_OBJECT,
    manifest::Collection,
    patch,
    row::{Row, RowText},
    row_key,
    text::quoted,
};
use serde_json::{Value, json};

use super::Decision;
use crate::app::{
    message::{NewRow, RowEdit, RowFate, RowReply, UpsertRow},
    private::TombKind,
    rows::Digest,
    unique::{self, Forms},
    working::{Indexed, Undo},
};

/// What to do about a key that a detached row holds, or one that cannot be read.
const KEPT: &str = "Use another key. The app's owner may purge that row by its key, or deploy a version whose schema it fits, which serves it again.";

/// What to do about a row that a credential may change and not read.
const UNSEEN: &str =
    "Send a whole row with `replace`, or use a credential that may read: it is told what is wrong.";

impl Decision<'_> {
    /// Creates a row, or answers with the visible one at its key.
    pub(super) fn create(&mut self, ix: usize, item: NewRow) -> Result<RowReply> {
        self.env.limits.check_row_data(item.data.text())?;
        let decl = self.decl(ix);
        let access = Access::new(&self.standing, &decl);
        let mut existing = None;
        match &item.key {
            Some(key) => {
                row_key::check(key)?;
                existing = self.working.root.collections[ix].rows.get(key).cloned();
                access.create_at(existing.as_deref().map(Authorship::from))?;
            }
            None => access.create()?,
        }
        self.pass_challenge(&decl)?;
        match existing {
            Some(row) => {
                let row = self.told(&decl, row, EMPTY_OBJECT);
                Ok(RowReply { row, fate: RowFate::Existed })
            }
            None => self.insert(ix, &decl, item),
        }
    }

    /// Makes the row of a permitted create.
    fn insert(&mut self, ix: usize, decl: &Collection, item: NewRow) -> Result<RowReply> {
        let (data, value) = item.data.into_parts();
        self.check_schema(ix, &value)?;
        // A key that the caller chose may have been a row's before; a drawn one was not.
        let floor = if item.key.is_some() { self.working.private.version_floor } else { 0 };
        let key = item.key.unwrap_or_else(|| row_key::generate().into());
        let digest = Digest::of(&key);
        let tomb = self.working.tomb(&decl.name, digest);
        if tomb.is_some_and(|t| matches!(t.kind, TombKind::Detached | TombKind::Poison)) {
            if Access::new(&self.standing, decl).may_miss() {
                // Whose row it was is not known here: it is one that this caller may not see.
                return Err(Error::row_not_found());
            }
            let message = format!("a row that is kept but not served holds the key {key:?}");
            return Err(Error::new(ErrorCode::Conflict, message).with_hint(KEPT));
        }
        let bytes = (key.len() + data.len()) as u64;
        let forms = Forms::of(&decl.unique, &value);
        self.under_budget(decl, |decision| {
            decision.check_unique(ix, decl, &forms, digest)?;
            decision.check_quota(bytes, None)
        })?;

        let at = self.working.next_time(self.now);
        let who = self.standing.principal;
        let row = Arc::new(Row {
            text: RowText::new(&key, &data),
            version: tomb.map_or(floor, |tomb| tomb.version) + 1,
            creator: who,
            editor: who,
            created_at: at,
            updated_at: at,
        });
        let new = Indexed { row: row.clone(), forms };
        self.working.put(ix, None, &new, EventType::RowCreated, self.row_stamp(at));
        Ok(RowReply { row, fate: RowFate::Created })
    }

    /// Creates a row, or merges into the one that holds the same value of the field `on`.
    pub(super) fn upsert(&mut self, ix: usize, item: UpsertRow) -> Result<RowReply> {
        self.env.limits.check_row_data(item.data.text())?;
        let decl = self.decl(ix);
        // Whoever may not write must not find out which fields are unique.
        let unfit = |why| match Access::new(&self.standing, &decl).create_at(None) {
            Ok(()) => Error::invalid(why),
            Err(refusal) => refusal,
        };
        let field = decl.unique.iter().position(|field| **field == *item.on).ok_or_else(|| {
            let on = quoted(&item.on);
            unfit(format!("`on`: {on} is not a unique field of `{}`", decl.name))
        })?;
        let value = item.data.value().get(&*item.on);
        let form = value.and_then(unique::form).ok_or_else(|| {
            unfit(format!("`data.{}` must be set: it is the field to upsert on", item.on))
        })?;
        let held = self.working.holder(ix, field, form);
        let row = held.and_then(|key| self.working.root.collections[ix].rows.at(key)).cloned();
        Access::new(&self.standing, &decl).upsert(row.as_deref().map(Authorship::from))?;
        self.pass_challenge(&decl)?;
        match row {
            None => self.insert(ix, &decl, NewRow { key: None, data: item.data }),
            Some(row) => self.edit(ix, &decl, row, RowEdit::merge(item.data)),
        }
    }

    /// Changes the row at `key`.
    pub(super) fn update(&mut self, ix: usize, key: &str, edit: RowEdit) -> Result<RowReply> {
        let decl = self.decl(ix);
        let Some(row) = self.working.root.collections[ix].rows.get(key).cloned() else {
            let refused = Access::new(&self.standing, &decl).update(None);
            return Err(self.absent(ix, refused));
        };
        self.edit(ix, &decl, row, edit)
    }

    /// Changes a row that is there: merges `data` into it, or puts it in its place.
    fn edit(
        &mut self,
        ix: usize,
        decl: &Collection,
        row: Arc<Row>,
        edit: RowEdit,
    ) -> Result<RowReply> {
        let RowEdit { data, replace, if_match } = edit;
        let access = Access::new(&self.standing, decl);
        access.update(Some(Authorship::from(&*row)))?;
        check_changeable(decl)?;
        check_version(&access, &row, if_match.as_ref())?;
        let old_value = if decl.relations.is_empty() { Value::Null } else { row.value() };
        let sent = match self.standing.allowlist {
            // What the request would have made of an empty row.
            Some(_) => patch::apply(EMPTY_OBJECT, data.clone(), replace)?.into_parts().0,
            None => EMPTY_OBJECT.into(),
        };
        let may_move =
            replace || decl.unique.iter().any(|name| data.value().get(&**name).is_some());
        let data = patch::apply(row.data(), data, replace)?;
        let who = self.standing.principal;
        patch::check_relations(decl, &old_value, data.value(), row.creator, who)?;
        let (data, value) = data.into_parts();
        let fits =
            self.env.limits.check_row_data(&data).and_then(|()| self.check_schema(ix, &value));
        fits.map_err(|refused| match replace {
            // Nothing of the row that was is left in it.
            true => refused,
            false => self.told_of_refusal(decl, &row, refused),
        })?;
        let bytes = (row.key().len() + data.len()) as u64;
        let forms = Forms::of(&decl.unique, &value);
        self.under_budget(decl, |decision| {
            decision.check_unique(ix, decl, &forms, Digest::of(row.key()))?;
            decision.check_quota(bytes, Some(&row))
        })?;

        let at = self.working.next_time(self.now);
        let new_row = Arc::new(Row {
            version: row.version + 1,
            editor: who,
            updated_at: at,
            ..row.with_data(&data)
        });
        let old = match may_move {
            true => self.indexed(ix, row),
            false => Indexed { row, forms: forms.clone() },
        };
        let new = Indexed { row: new_row.clone(), forms };
        let stamp = self.row_stamp(at);
        self.working.put(ix, Some(&old), &new, EventType::RowUpdated, stamp);
        Ok(RowReply { row: self.told(decl, new_row, &sent), fate: RowFate::Updated })
    }

    /// The row of an answer: to a credential that may not read it, with the data that it `sent` in
    /// place of the row's. Whoever else writes a row sees it.
    pub(super) fn told(&self, decl: &Collection, row: Arc<Row>, sent: &str) -> Arc<Row> {
        if self.sees(decl, &row) { row } else { Arc::new(row.with_data(sent)) }
    }

    /// The refusal of what a row would have become: to a credential that may not read it, without what
    /// that says of the row.
    fn told_of_refusal(&self, decl: &Collection, row: &Row, refused: Error) -> Error {
        if self.sees(decl, row) {
            return refused;
        }
        let message = match refused.code {
            ErrorCode::RowSchemaViolation => {
                format!("the row would not fit the schema of `{}`", decl.name)
            }
            _ => "the row would have more bytes than a row may hold".to_owned(),
        };
        Error::new(refused.code, message).with_hint(UNSEEN)
    }

    /// Whether whoever may write this row is shown it: credentials alone may not be.
    fn sees(&self, decl: &Collection, row: &Row) -> bool {
        self.standing.allowlist.is_none()
            || Access::new(&self.standing, decl).read(Some(Authorship::from(row))).is_ok()
    }

    /// Spends one write of the collection's budget, if it has one and the caller is subject to it, and
    /// gives it back when the last checks refuse. Subject to it is whoever has no right here but that
    /// of `anyone`, signed in or not: an account costs nothing.
    fn under_budget(
        &mut self,
        decl: &Collection,
        last_checks: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let is_anyone = self.standing.tier == Tier::Visitor && self.standing.role.is_none();
        let network = self.caller.network().filter(|_| is_anyone);
        let (Some(budget), Some(network)) = (&decl.anon_write_budget, network) else {
            return last_checks(self);
        };
        let private = &mut self.working.private;
        let spent =
            private.budgets.reserve(&decl.name, budget, network, self.now, &private.zone)?;
        if let Err(error) = last_checks(self) {
            self.working.private.budgets.give_back(&spent);
            return Err(error);
        }
        let records = self.working.private.budgets.records(&spent);
        self.working.open.writes.budgets.extend(records.into_iter().flatten());
        self.working.open.journal.push(Undo::Budget(spent));
        Ok(())
    }

    /// `unique_conflict` when another live row holds one of the values.
    pub(super) fn check_unique(
        &mut self,
        ix: usize,
        decl: &Collection,
        forms: &Forms,
        key: Digest,
    ) -> Result<()> {
        for (field, name) in decl.unique.iter().enumerate() {
            let Some(form) = forms.of_field(field) else { continue };
            if self.working.holder(ix, field, form).is_some_and(|holder| holder != key) {
                return Err(Error::new(
                    ErrorCode::UniqueConflict,
                    format!("another row of `{}` holds this value of `{name}`", decl.name),
                )
                .with_details(json!({"field": &**name})));
            }
        }
        Ok(())
    }
}

/// `conflict` when the row's version is another one, with the row; without its data for a credential
/// that only writes.
pub(super) fn check_version(
    access: &Access<'_>,
    row: &Row,
    if_match: Option<&IfMatch>,
) -> Result<()> {
    let checked =
        if_match.map_or(Ok(()), |condition| condition.check(row.version, Some(row.updated_at)));
    checked.map_err(|error| {
        if access.read(Some(Authorship::from(row))).is_ok() {
            return error.with_current(row.to_json());
        }
        error.with_current(row.with_data(EMPTY_OBJECT).to_json())
    })
}

/// `append_only` for a collection that only grows: nothing in it is updated or deleted.
pub(in crate::app) fn check_changeable(decl: &Collection) -> Result<()> {
    if !decl.append_only {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::AppendOnly,
        format!("`{}` is append-only: its rows can be created but not changed", decl.name),
    ))
}
