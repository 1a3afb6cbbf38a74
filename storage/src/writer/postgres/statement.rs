//! The one statement of a PostgreSQL batch: every table's values as parallel arrays, and the
//! fence in front of them.
//!
//! One statement is one transaction that can never be left open. What belongs to a group that
//! the fence refuses joins to nothing. Two writes of one row in one statement would fail; a
//! group holds each row once, and a batch each app once.

use sqlx::{Arguments as _, postgres::PgArguments};

use crate::{
    codec::{PrincipalBytes, principal_bytes},
    commit::{Epoch, Group},
};

/// Answers the positions of the groups that passed the fence. Each array is numbered by `n`, a
/// group's position.
pub(super) const COMMIT: &str = "
with head as (
    update app_head as h
    set epoch = $1, last_seq = g.seq, live = g.live, trashed = g.trashed,
        detached = g.detached, bytes = g.bytes
    from unnest($2::int4[], $3::bytea[], $4::int8[], $5::int8[], $6::int8[], $7::int8[],
                $8::int8[], $9::int8[])
         as g(n, app_id, prev_seq, seq, live, trashed, detached, bytes)
    where h.app_id = g.app_id and h.epoch <= $1 and h.last_seq = g.prev_seq
    returning g.n, g.app_id
), written_rows as (
    insert into rows (app_id, collection, key, version, data, creator, editor, created_at,
                      updated_at, state, state_at)
    select head.app_id, r.collection, r.key, r.version, r.data, r.creator, r.editor,
           r.created_at, r.updated_at, r.state, r.state_at
    from unnest($10::int4[], $11::text[], $12::text[], $13::int8[], $14::text[], $15::bytea[],
                $16::bytea[], $17::int8[], $18::int8[], $19::int8[], $20::int8[])
         as r(n, collection, key, version, data, creator, editor, created_at, updated_at, state,
              state_at)
    join head on head.n = r.n
    on conflict (app_id, collection, key) do update
    set version = excluded.version, data = excluded.data, creator = excluded.creator,
        editor = excluded.editor, created_at = excluded.created_at,
        updated_at = excluded.updated_at, state = excluded.state, state_at = excluded.state_at
), written_events as (
    insert into events (app_id, seq, kind, at, done_by, collection, key, version, creator, editor,
                        previous_editor, row_created_at, row_updated_at, data, silent)
    select head.app_id, e.seq, e.kind, e.at, e.done_by, e.collection, e.key, e.version, e.creator,
           e.editor, e.previous_editor, e.row_created_at, e.row_updated_at, e.data, e.silent
    from unnest($21::int4[], $22::int8[], $23::text[], $24::int8[], $25::bytea[], $26::text[],
                $27::text[], $28::int8[], $29::bytea[], $30::bytea[], $31::bytea[], $32::int8[],
                $33::int8[], $34::text[], $35::int8[])
         as e(n, seq, kind, at, done_by, collection, key, version, creator, editor,
              previous_editor, row_created_at, row_updated_at, data, silent)
    join head on head.n = e.n
), written_budgets as (
    insert into budgets (app_id, collection, network, day, count)
    select head.app_id, b.collection, b.network, b.day, b.count
    from unnest($36::int4[], $37::text[], $38::int8[], $39::int8[], $40::int8[])
         as b(n, collection, network, day, count)
    join head on head.n = b.n
    on conflict (app_id, collection, network) do update
    set day = excluded.day, count = excluded.count
), written_challenges as (
    insert into spent_challenges (app_id, id, expires_at)
    select head.app_id, c.id, c.expires_at
    from unnest($41::int4[], $42::bytea[], $43::int8[]) as c(n, id, expires_at)
    join head on head.n = c.n
), written_answers as (
    insert into idempotency (scope, body_hash, status, location, body, created_at, app_id,
                             collection, row_key)
    select a.scope, a.body_hash, a.status, a.location, a.body, a.created_at, head.app_id,
           a.collection, a.row_key
    from unnest($44::int4[], $45::bytea[], $46::bytea[], $47::int8[], $48::text[], $49::text[],
                $50::int8[], $51::text[], $52::text[])
         as a(n, scope, body_hash, status, location, body, created_at, collection, row_key)
    join head on head.n = a.n
    on conflict (scope) do update
    set body_hash = excluded.body_hash, status = excluded.status, location = excluded.location,
        body = excluded.body, created_at = excluded.created_at, app_id = excluded.app_id,
        collection = excluded.collection, row_key = excluded.row_key
)
select n from head";

/// Locks the head of a group that the fence lets through; finds no row otherwise.
pub(super) const LOCK_HEAD: &str = "select 1 from app_head \
     where app_id = $1 and epoch <= $2 and last_seq = $3 for update";

/// Empties the stored events of purged rows: one walk over the app's events for all keys.
pub(super) const SCRUB_EVENTS: &str = "update events set data = null \
     where app_id = $1 and data is not null \
     and (collection, key) in (select * from unnest($2::text[], $3::text[]))";

/// Forgets the answers that quote purged rows.
pub(super) const SCRUB_ANSWERS: &str = "delete from idempotency where app_id = $1 \
     and ((collection, row_key) in (select * from unnest($2::text[], $3::text[])) \
     or (row_key is null and collection = any($2::text[])))";

#[derive(Default)]
struct Heads {
    n: Vec<i32>,
    app: Vec<[u8; 16]>,
    prev_seq: Vec<i64>,
    seq: Vec<i64>,
    totals: [Vec<i64>; 4],
}

#[derive(Default)]
struct Rows<'g> {
    n: Vec<i32>,
    collection: Vec<&'g str>,
    key: Vec<&'g str>,
    version: Vec<i64>,
    data: Vec<Option<&'g str>>,
    creator: Vec<PrincipalBytes>,
    editor: Vec<PrincipalBytes>,
    created_at: Vec<i64>,
    updated_at: Vec<i64>,
    state: Vec<i64>,
    state_at: Vec<Option<i64>>,
}

#[derive(Default)]
struct Events<'g> {
    n: Vec<i32>,
    seq: Vec<i64>,
    kind: Vec<String>,
    at: Vec<i64>,
    by: Vec<PrincipalBytes>,
    collection: Vec<Option<&'g str>>,
    key: Vec<Option<&'g str>>,
    version: Vec<Option<i64>>,
    creator: Vec<Option<PrincipalBytes>>,
    editor: Vec<Option<PrincipalBytes>>,
    previous_editor: Vec<Option<PrincipalBytes>>,
    row_created_at: Vec<Option<i64>>,
    row_updated_at: Vec<Option<i64>>,
    data: Vec<Option<&'g str>>,
    silent: Vec<i64>,
}

#[derive(Default)]
struct Budgets<'g> {
    n: Vec<i32>,
    collection: Vec<&'g str>,
    network: Vec<i64>,
    day: Vec<i64>,
    count: Vec<i64>,
}

#[derive(Default)]
struct Challenges<'g> {
    n: Vec<i32>,
    id: Vec<&'g [u8]>,
    expires_at: Vec<i64>,
}

#[derive(Default)]
struct Answers<'g> {
    n: Vec<i32>,
    scope: Vec<&'g [u8]>,
    body_hash: Vec<&'g [u8]>,
    status: Vec<i64>,
    location: Vec<Option<&'g str>>,
    body: Vec<&'g str>,
    created_at: Vec<i64>,
    collection: Vec<Option<&'g str>>,
    row_key: Vec<Option<&'g str>>,
}

/// The parameters of [`COMMIT`] for these groups, each with its position.
pub(super) fn arguments<'g>(
    epoch: Epoch,
    groups: impl Iterator<Item = (i32, &'g Group)>,
) -> Result<PgArguments, sqlx::Error> {
    let mut heads = Heads::default();
    let mut rows = Rows::default();
    let mut events = Events::default();
    let mut budgets = Budgets::default();
    let mut challenges = Challenges::default();
    let mut answers = Answers::default();
    for (n, group) in groups {
        heads.push(n, group);
        rows.push(n, group);
        events.push(n, group);
        budgets.push(n, group);
        challenges.push(n, group);
        answers.push(n, group);
    }
    let mut out = PgArguments::default();
    let bind = |out: &mut PgArguments| -> Result<(), sqlx::error::BoxDynError> {
        out.add(epoch.0)?;
        heads.bind(out)?;
        rows.bind(out)?;
        events.bind(out)?;
        budgets.bind(out)?;
        challenges.bind(out)?;
        answers.bind(out)
    };
    bind(&mut out).map_err(sqlx::Error::Encode)?;
    Ok(out)
}

/// Adds the fields to the arguments in the order in which they are listed.
macro_rules! bind_all {
    ($self:ident, $out:ident, $($field:ident),+) => {{
        $($out.add($self.$field)?;)+
        Ok(())
    }};
}

type Bound = Result<(), sqlx::error::BoxDynError>;

impl Heads {
    fn push(&mut self, n: i32, group: &Group) {
        let totals = group.totals;
        self.n.push(n);
        self.app.push(group.app_bytes());
        self.prev_seq.push(group.prev_seq.cast_signed());
        self.seq.push(group.seq.cast_signed());
        let totals = [totals.live, totals.trashed, totals.detached, totals.bytes];
        for (column, total) in self.totals.iter_mut().zip(totals) {
            column.push(total.cast_signed());
        }
    }

    fn bind(self, out: &mut PgArguments) -> Bound {
        out.add(self.n)?;
        out.add(self.app)?;
        out.add(self.prev_seq)?;
        out.add(self.seq)?;
        for column in self.totals {
            out.add(column)?;
        }
        Ok(())
    }
}

impl<'g> Rows<'g> {
    fn push(&mut self, n: i32, group: &'g Group) {
        for write in &group.rows {
            self.n.push(n);
            self.collection.push(&write.collection);
            self.key.push(&write.row.key);
            self.version.push(write.row.version.into());
            self.data.push(write.stored_data());
            self.creator.push(principal_bytes(write.row.creator));
            self.editor.push(principal_bytes(write.row.editor));
            self.created_at.push(write.row.created_at.0);
            self.updated_at.push(write.row.updated_at.0);
            self.state.push(write.state.code());
            self.state_at.push(write.state.at().map(|at| at.0));
        }
    }

    fn bind(self, out: &mut PgArguments) -> Bound {
        bind_all!(
            self, out, n, collection, key, version, data, creator, editor, created_at, updated_at,
            state, state_at
        )
    }
}

impl<'g> Events<'g> {
    fn push(&mut self, n: i32, group: &'g Group) {
        for event in &group.events {
            let change = event.change.as_ref();
            let row = change.map(|change| &*change.row);
            self.n.push(n);
            self.seq.push(event.seq.cast_signed());
            self.kind.push(event.kind.name().into_owned());
            self.at.push(event.at.0);
            self.by.push(principal_bytes(event.by));
            self.collection.push(change.map(|change| &*change.collection));
            self.key.push(row.map(|row| &*row.key));
            self.version.push(row.map(|row| row.version.into()));
            self.creator.push(row.map(|row| principal_bytes(row.creator)));
            self.editor.push(row.map(|row| principal_bytes(row.editor)));
            let previous = change.and_then(|change| change.previous_editor);
            self.previous_editor.push(previous.map(principal_bytes));
            self.row_created_at.push(row.map(|row| row.created_at.0));
            self.row_updated_at.push(row.map(|row| row.updated_at.0));
            self.data.push(group.stored_content(event));
            self.silent.push(event.silent.into());
        }
    }

    fn bind(self, out: &mut PgArguments) -> Bound {
        bind_all!(
            self,
            out,
            n,
            seq,
            kind,
            at,
            by,
            collection,
            key,
            version,
            creator,
            editor,
            previous_editor,
            row_created_at,
            row_updated_at,
            data,
            silent
        )
    }
}

impl<'g> Budgets<'g> {
    fn push(&mut self, n: i32, group: &'g Group) {
        for budget in &group.budgets {
            self.n.push(n);
            self.collection.push(&budget.collection);
            self.network.push(budget.network.cast_signed());
            self.day.push(budget.day.into());
            self.count.push(budget.count.into());
        }
    }

    fn bind(self, out: &mut PgArguments) -> Bound {
        bind_all!(self, out, n, collection, network, day, count)
    }
}

impl<'g> Challenges<'g> {
    fn push(&mut self, n: i32, group: &'g Group) {
        for spent in &group.spent_challenges {
            self.n.push(n);
            self.id.push(&spent.id);
            self.expires_at.push(spent.expires_at.0);
        }
    }

    fn bind(self, out: &mut PgArguments) -> Bound {
        bind_all!(self, out, n, id, expires_at)
    }
}

impl<'g> Answers<'g> {
    fn push(&mut self, n: i32, group: &'g Group) {
        for answer in group.stored_answers() {
            self.n.push(n);
            self.scope.push(&answer.scope);
            self.body_hash.push(&answer.body_hash);
            self.status.push(answer.status.into());
            self.location.push(answer.location.as_deref());
            self.body.push(&answer.body);
            self.created_at.push(answer.created_at.0);
            self.collection.push(answer.collection.as_deref());
            self.row_key.push(answer.row_key.as_deref());
        }
    }

    fn bind(self, out: &mut PgArguments) -> Bound {
        bind_all!(
            self, out, n, scope, body_hash, status, location, body, created_at, collection, row_key
        )
    }
}
