//! The prepared statements of the SQLite lane, and how a group is bound to them.
//!
//! They are prepared once for the life of the connection; values are bound from where the group
//! holds them, ids and principals as blobs on the stack.

use rookery_domain::row::Row;
use rusqlite::{Connection, Result, Statement, ToSql};

use crate::{
    commit::{Epoch, Group, RowState, RowWrite, Scrub},
    values::{budget_network, principal_bytes},
};

/// Binds the values to `?1`, `?2`, ... and runs the statement; the number of rows changed.
macro_rules! run {
    ($statement:expr, $($value:expr),+ $(,)?) => {{
        let statement = &mut $statement;
        let mut index = 0;
        $(
            index += 1;
            bind(statement, index, $value)?;
        )+
        let _ = index;
        statement.raw_execute()
    }};
}

fn bind(statement: &mut Statement<'_>, index: usize, value: impl ToSql) -> Result<()> {
    statement.raw_bind_parameter(index, value)
}

/// Binds what `?1` to `?9` are in both statements that write a row.
fn bind_row(statement: &mut Statement<'_>, app: &[u8], write: &RowWrite) -> Result<()> {
    let row = &*write.row;
    bind(statement, 1, app)?;
    bind(statement, 2, &*write.collection)?;
    bind(statement, 3, row.key())?;
    bind(statement, 4, row.version)?;
    bind(statement, 5, write.stored_data())?;
    bind(statement, 6, &principal_bytes(row.creator)[..])?;
    bind(statement, 7, &principal_bytes(row.editor)[..])?;
    bind(statement, 8, row.created_at.0)?;
    bind(statement, 9, row.updated_at.0)
}

/// The statements of one connection.
pub(super) struct Statements<'c> {
    begin: Statement<'c>,
    commit: Statement<'c>,
    rollback: Statement<'c>,
    savepoint: Statement<'c>,
    release: Statement<'c>,
    undo: Statement<'c>,
    head: Statement<'c>,
    live_row: Statement<'c>,
    row: Statement<'c>,
    event: Statement<'c>,
    scrub_events: Statement<'c>,
    scrub_responses: Statement<'c>,
    budget: Statement<'c>,
    challenge: Statement<'c>,
    response: Statement<'c>,
    visitor: Statement<'c>,
}

impl<'c> Statements<'c> {
    pub(super) fn prepare(connection: &'c Connection) -> Result<Self> {
        let prepare = |sql: &str| connection.prepare(sql);
        Ok(Self {
            begin: prepare("begin immediate")?,
            commit: prepare("commit")?,
            rollback: prepare("rollback")?,
            savepoint: prepare("savepoint one_group")?,
            release: prepare("release one_group")?,
            undo: prepare("rollback to one_group")?,
            head: prepare(
                "update app_head set epoch = ?1, last_seq = ?2, live = ?3, trashed = ?4, \
                 detached = ?5, bytes = ?6, trashed_bytes = ?7, \
                 history_bytes = history_bytes + ?8, collections = ?9 \
                 where app_id = ?10 and epoch <= ?1 and last_seq = ?11",
            )?,
            // What the partial indexes are about stays as it is, so SQLite leaves them alone.
            live_row: prepare(
                "update rows set version = ?4, data = ?5, creator = ?6, editor = ?7, \
                 created_at = ?8, updated_at = ?9 \
                 where app_id = ?1 and collection = ?2 and key = ?3 and state = 0",
            )?,
            row: prepare(
                "insert into rows (app_id, collection, key, version, data, creator, editor, \
                 created_at, updated_at, state, state_at) \
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
                 on conflict (app_id, collection, key) do update set version = excluded.version, \
                 data = excluded.data, creator = excluded.creator, editor = excluded.editor, \
                 created_at = excluded.created_at, updated_at = excluded.updated_at, \
                 state = excluded.state, state_at = excluded.state_at",
            )?,
            event: prepare(
                "insert into events (app_id, seq, kind, at, done_by, collection, key, version, \
                 creator, editor, previous_editor, row_created_at, row_updated_at, data, silent) \
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
            )?,
            scrub_events: prepare(
                "update events set data = null where app_id = ?1 and data is not null \
                 and (collection, key) in (select json_extract(value, '$[0]'), \
                 json_extract(value, '$[1]') from json_each(?2))",
            )?,
            // A response from before there was `row_keys` may quote any row of its collection.
            scrub_responses: prepare(
                "with gone(collection, key) as materialized (select json_extract(value, '$[0]'), \
                 json_extract(value, '$[1]') from json_each(?2)) \
                 delete from idempotency where app_id = ?1 \
                 and collection in (select collection from gone) \
                 and (case when row_key is not null \
                 then (collection, row_key) in (select collection, key from gone) \
                 when row_keys is not null then exists (select 1 from json_each(row_keys) as quoted \
                 where (collection, quoted.value) in (select collection, key from gone)) \
                 else true end)",
            )?,
            budget: prepare(
                "insert into budgets (app_id, collection, network, day, count) \
                 values (?1, ?2, ?3, ?4, ?5) on conflict (app_id, collection, network) \
                 do update set day = excluded.day, count = excluded.count",
            )?,
            challenge: prepare(
                "insert into spent_challenges (app_id, id, expires_at) values (?1, ?2, ?3) \
                 on conflict (app_id, id) do update set expires_at = excluded.expires_at",
            )?,
            response: prepare(
                "insert into idempotency (scope, body_hash, status, location, body, created_at, \
                 app_id, collection, row_key, row_keys, by_key) \
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
                 on conflict (scope) do update set body_hash = excluded.body_hash, \
                 status = excluded.status, location = excluded.location, body = excluded.body, \
                 created_at = excluded.created_at, app_id = excluded.app_id, \
                 collection = excluded.collection, row_key = excluded.row_key, \
                 row_keys = excluded.row_keys, by_key = excluded.by_key",
            )?,
            visitor: prepare(
                "update participants set lasting = 1, \
                 expires_at = case kind when 0 then max(?3, expires_at) else expires_at end \
                 where id = ?1 and app_id = ?2 and lasting = 0",
            )?,
        })
    }

    pub(super) fn begin(&mut self) -> Result<()> {
        self.begin.raw_execute().map(drop)
    }

    pub(super) fn commit(&mut self) -> Result<()> {
        self.commit.raw_execute().map(drop)
    }

    pub(super) fn rollback(&mut self) -> Result<()> {
        self.rollback.raw_execute().map(drop)
    }

    pub(super) fn savepoint(&mut self) -> Result<()> {
        self.savepoint.raw_execute().map(drop)
    }

    pub(super) fn release(&mut self) -> Result<()> {
        self.release.raw_execute().map(drop)
    }

    /// Undoes what the savepoint's group did.
    pub(super) fn undo(&mut self) -> Result<()> {
        self.undo.raw_execute()?;
        self.release()
    }

    /// Moves the app's head; `false` when the fence refuses the group.
    pub(super) fn head(&mut self, epoch: Epoch, group: &Group) -> Result<bool> {
        let totals = group.totals;
        let changed = run!(
            self.head,
            epoch.0,
            group.seq.cast_signed(),
            totals.live.cast_signed(),
            totals.trashed.cast_signed(),
            totals.detached.cast_signed(),
            totals.bytes.cast_signed(),
            totals.trashed_bytes.cast_signed(),
            group.writes.history_bytes().cast_signed(),
            group.collections.text(),
            &group.app.uuid().as_bytes()[..],
            group.prev_seq.cast_signed(),
        )?;
        Ok(changed == 1)
    }

    pub(super) fn rows(&mut self, group: &Group) -> Result<()> {
        let uuid = group.app.uuid();
        for write in &group.writes.rows {
            // Mostly the former version is live too. Where it is not, nothing is changed here.
            if write.state == RowState::Live && write.row.version > 1 {
                bind_row(&mut self.live_row, uuid.as_bytes(), write)?;
                if self.live_row.raw_execute()? == 1 {
                    continue;
                }
            }
            bind_row(&mut self.row, uuid.as_bytes(), write)?;
            bind(&mut self.row, 10, write.state.code())?;
            bind(&mut self.row, 11, write.state.at().map(|at| at.0))?;
            self.row.raw_execute()?;
        }
        Ok(())
    }

    pub(super) fn events(&mut self, group: &Group) -> Result<()> {
        let uuid = group.app.uuid();
        for event in &group.writes.events {
            let row = event.row();
            let creator = row.map(|row| principal_bytes(row.creator));
            let editor = row.map(|row| principal_bytes(row.editor));
            let previous = event.previous_editor().map(principal_bytes);
            run!(
                self.event,
                &uuid.as_bytes()[..],
                event.seq.cast_signed(),
                &*event.kind.name(),
                event.at.0,
                &principal_bytes(event.by)[..],
                event.collection(),
                row.map(Row::key),
                row.map(|row| row.version),
                creator.as_ref().map(|bytes| &bytes[..]),
                editor.as_ref().map(|bytes| &bytes[..]),
                previous.as_ref().map(|bytes| &bytes[..]),
                row.map(|row| row.created_at.0),
                row.map(|row| row.updated_at.0),
                group.writes.stored_content(event),
                event.silent,
            )?;
        }
        Ok(())
    }

    /// Scrubs the stored events and responses; before the group's own are written.
    pub(super) fn scrubs(&mut self, group: &Group) -> Result<()> {
        if group.writes.scrubs.is_empty() {
            return Ok(());
        }
        let keys = scrub_list(&group.writes.scrubs);
        let uuid = group.app.uuid();
        run!(self.scrub_events, &uuid.as_bytes()[..], keys.as_str())?;
        run!(self.scrub_responses, &uuid.as_bytes()[..], keys.as_str())?;
        Ok(())
    }

    pub(super) fn budgets(&mut self, group: &Group) -> Result<()> {
        let uuid = group.app.uuid();
        for budget in &group.writes.budgets {
            run!(
                self.budget,
                &uuid.as_bytes()[..],
                &*budget.collection,
                budget_network(budget.scope),
                budget.day,
                budget.count,
            )?;
        }
        Ok(())
    }

    pub(super) fn challenges(&mut self, group: &Group) -> Result<()> {
        let uuid = group.app.uuid();
        for spent in &group.writes.spent_challenges {
            run!(self.challenge, &uuid.as_bytes()[..], &spent.id[..], spent.expires_at.0)?;
        }
        Ok(())
    }

    pub(super) fn responses(&mut self, group: &Group) -> Result<()> {
        let uuid = group.app.uuid();
        for write in group.writes.stored_responses() {
            run!(
                self.response,
                &write.request.scope[..],
                &write.request.body_hash[..],
                write.response.status,
                write.response.location.as_deref(),
                write.response.body.as_str(),
                write.created_at.0,
                &uuid.as_bytes()[..],
                write.collection.as_deref(),
                write.row_key(),
                write.many_row_keys(),
                write.by_key,
            )?;
        }
        Ok(())
    }

    /// Keeps the visitors who leave something for the first time.
    pub(super) fn visitors(&mut self, group: &Group) -> Result<()> {
        let uuid = group.app.uuid();
        for (id, until) in group.writes.visitors() {
            run!(self.visitor, &id[..], &uuid.as_bytes()[..], until.0)?;
        }
        Ok(())
    }
}

/// `[["collection","key"], ...]`: one parameter for a purge of any size.
fn scrub_list(scrubs: &[Scrub]) -> String {
    let pairs: Vec<_> = scrubs.iter().map(|scrub| (&*scrub.collection, &*scrub.key)).collect();
    // Strings, written to memory: there is nothing that could fail.
    serde_json::to_string(&pairs).unwrap_or_default()
}
