//! The parameters of the commit statement: the groups of a batch, turned into one array for each
//! column.

use sqlx::{Arguments as _, postgres::PgArguments};

use crate::{
    commit::{Epoch, Group},
    values::{PrincipalBytes, principal_bytes},
};

#[derive(Default)]
struct Heads<'g> {
    n: Vec<i32>,
    app: Vec<[u8; 16]>,
    prev_seq: Vec<i64>,
    seq: Vec<i64>,
    live: Vec<i64>,
    trashed: Vec<i64>,
    detached: Vec<i64>,
    bytes: Vec<i64>,
    trashed_bytes: Vec<i64>,
    history_bytes: Vec<i64>,
    collections: Vec<&'g str>,
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
    row_keys: Vec<Option<String>>,
}

#[derive(Default)]
struct Visitors {
    n: Vec<i32>,
    id: Vec<[u8; 16]>,
    until: Vec<i64>,
}

/// The parameters of [`super::statement::COMMIT`] for these groups, each with its position.
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
    let mut visitors = Visitors::default();
    for (n, group) in groups {
        heads.push(n, group);
        rows.push(n, group);
        events.push(n, group);
        budgets.push(n, group);
        challenges.push(n, group);
        answers.push(n, group);
        visitors.push(n, group);
    }
    let mut out = PgArguments::default();
    let bind = |out: &mut PgArguments| -> Result<(), sqlx::error::BoxDynError> {
        out.add(epoch.0)?;
        heads.bind(out)?;
        rows.bind(out)?;
        events.bind(out)?;
        budgets.bind(out)?;
        challenges.bind(out)?;
        answers.bind(out)?;
        visitors.bind(out)
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

impl<'g> Heads<'g> {
    fn push(&mut self, n: i32, group: &'g Group) {
        let totals = group.totals;
        self.n.push(n);
        self.app.push(group.app_bytes());
        self.prev_seq.push(group.prev_seq.cast_signed());
        self.seq.push(group.seq.cast_signed());
        self.live.push(totals.live.cast_signed());
        self.trashed.push(totals.trashed.cast_signed());
        self.detached.push(totals.detached.cast_signed());
        self.bytes.push(totals.bytes.cast_signed());
        self.trashed_bytes.push(totals.trashed_bytes.cast_signed());
        self.history_bytes.push(group.writes.history_bytes().cast_signed());
        self.collections.push(group.collections.text());
    }

    fn bind(self, out: &mut PgArguments) -> Bound {
        bind_all!(
            self,
            out,
            n,
            app,
            prev_seq,
            seq,
            live,
            trashed,
            detached,
            bytes,
            trashed_bytes,
            history_bytes,
            collections
        )
    }
}

impl<'g> Rows<'g> {
    fn push(&mut self, n: i32, group: &'g Group) {
        for write in &group.writes.rows {
            self.n.push(n);
            self.collection.push(&write.collection);
            self.key.push(write.row.key());
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
        for event in &group.writes.events {
            let change = event.change.as_ref();
            let row = change.map(|change| &*change.row);
            self.n.push(n);
            self.seq.push(event.seq.cast_signed());
            self.kind.push(event.kind.name().into_owned());
            self.at.push(event.at.0);
            self.by.push(principal_bytes(event.by));
            self.collection.push(change.map(|change| &*change.collection));
            self.key.push(row.map(|row| row.key()));
            self.version.push(row.map(|row| row.version.into()));
            self.creator.push(row.map(|row| principal_bytes(row.creator)));
            self.editor.push(row.map(|row| principal_bytes(row.editor)));
            let previous = change.and_then(|change| change.previous_editor);
            self.previous_editor.push(previous.map(principal_bytes));
            self.row_created_at.push(row.map(|row| row.created_at.0));
            self.row_updated_at.push(row.map(|row| row.updated_at.0));
            self.data.push(group.writes.stored_content(event));
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
        for budget in &group.writes.budgets {
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
        for spent in &group.writes.spent_challenges {
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
        for answer in group.writes.stored_answers() {
            self.n.push(n);
            self.scope.push(&answer.scope);
            self.body_hash.push(&answer.body_hash);
            self.status.push(answer.status.into());
            self.location.push(answer.location.as_deref());
            self.body.push(&answer.body);
            self.created_at.push(answer.created_at.0);
            self.collection.push(answer.collection.as_deref());
            self.row_key.push(answer.row_key());
            self.row_keys.push(answer.many_row_keys());
        }
    }

    fn bind(self, out: &mut PgArguments) -> Bound {
        bind_all!(
            self, out, n, scope, body_hash, status, location, body, created_at, collection,
            row_key, row_keys
        )
    }
}

impl Visitors {
    fn push(&mut self, n: i32, group: &Group) {
        for (id, until) in group.writes.visitors() {
            self.n.push(n);
            self.id.push(id);
            self.until.push(until.0);
        }
    }

    fn bind(self, out: &mut PgArguments) -> Bound {
        bind_all!(self, out, n, id, until)
    }
}
