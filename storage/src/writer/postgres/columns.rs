//! The parameters of the commit statement: the groups of a batch, turned into one array for each
//! column.

use std::marker::PhantomData;

use rookery_domain::row::Row;
use sqlx::{Arguments as _, postgres::PgArguments};

use crate::{
    commit::{Epoch, Group},
    values::{PrincipalBytes, budget_network, principal_bytes},
};

/// `columns!(Table of group: item in list => { column: Type = value, .. })`: what the groups of a batch
/// write into one table, an array for each column in the order of the statement's parameters. The
/// first one, `n`, is the position of the group.
macro_rules! columns {
    ($table:ident of $group:ident: $item:ident in $list:expr => {
        $($column:ident: $type:ty = $value:expr,)+
    }) => {
        #[derive(Default)]
        struct $table<'g> {
            n: Vec<i32>,
            $($column: Vec<$type>,)+
            groups: PhantomData<&'g Group>,
        }

        impl<'g> $table<'g> {
            fn push(&mut self, n: i32, $group: &'g Group) {
                for $item in $list {
                    self.n.push(n);
                    $(self.$column.push($value);)+
                }
            }

            fn bind(self, out: &mut PgArguments) -> Result<(), sqlx::error::BoxDynError> {
                out.add(self.n)?;
                $(out.add(self.$column)?;)+
                Ok(())
            }
        }
    };
}

columns!(Heads of group: head in [group] => {
    app: [u8; 16] = head.app_bytes(),
    prev_seq: i64 = head.prev_seq.cast_signed(),
    seq: i64 = head.seq.cast_signed(),
    live: i64 = head.totals.live.cast_signed(),
    trashed: i64 = head.totals.trashed.cast_signed(),
    detached: i64 = head.totals.detached.cast_signed(),
    bytes: i64 = head.totals.bytes.cast_signed(),
    trashed_bytes: i64 = head.totals.trashed_bytes.cast_signed(),
    history_bytes: i64 = head.writes.history_bytes().cast_signed(),
    collections: &'g str = head.collections.text(),
});

columns!(Rows of group: write in &group.writes.rows => {
    collection: &'g str = &write.collection,
    key: &'g str = write.row.key(),
    version: i64 = write.row.version.into(),
    data: Option<&'g str> = write.stored_data(),
    creator: PrincipalBytes = principal_bytes(write.row.creator),
    editor: PrincipalBytes = principal_bytes(write.row.editor),
    created_at: i64 = write.row.created_at.0,
    updated_at: i64 = write.row.updated_at.0,
    state: i64 = write.state.code(),
    state_at: Option<i64> = write.state.at().map(|at| at.0),
});

columns!(Events of group: event in &group.writes.events => {
    seq: i64 = event.seq.cast_signed(),
    kind: String = event.kind.name().into_owned(),
    at: i64 = event.at.0,
    by: PrincipalBytes = principal_bytes(event.by),
    collection: Option<&'g str> = event.collection(),
    key: Option<&'g str> = event.row().map(Row::key),
    version: Option<i64> = event.row().map(|row| row.version.into()),
    creator: Option<PrincipalBytes> = event.row().map(|row| principal_bytes(row.creator)),
    editor: Option<PrincipalBytes> = event.row().map(|row| principal_bytes(row.editor)),
    previous_editor: Option<PrincipalBytes> = event.previous_editor().map(principal_bytes),
    row_created_at: Option<i64> = event.row().map(|row| row.created_at.0),
    row_updated_at: Option<i64> = event.row().map(|row| row.updated_at.0),
    data: Option<&'g str> = group.writes.stored_content(event),
    silent: i64 = event.silent.into(),
});

columns!(Budgets of group: budget in &group.writes.budgets => {
    collection: &'g str = &budget.collection,
    network: i64 = budget_network(budget.scope),
    day: i64 = budget.day.into(),
    count: i64 = budget.count.into(),
});

columns!(Challenges of group: spent in &group.writes.spent_challenges => {
    id: &'g [u8] = &spent.id,
    expires_at: i64 = spent.expires_at.0,
});

columns!(Responses of group: write in group.writes.stored_responses() => {
    scope: &'g [u8] = &write.request.scope,
    body_hash: &'g [u8] = &write.request.body_hash,
    status: i64 = write.response.status.into(),
    location: Option<&'g str> = write.response.location.as_deref(),
    body: &'g str = &write.response.body,
    created_at: i64 = write.created_at.0,
    collection: Option<&'g str> = write.collection.as_deref(),
    row_key: Option<&'g str> = write.row_key(),
    row_keys: Option<String> = write.many_row_keys(),
    by_key: i64 = write.by_key.into(),
});

columns!(Visitors of group: visitor in group.writes.visitors() => {
    id: [u8; 16] = visitor.0,
    until: i64 = visitor.1.0,
});

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
    let mut responses = Responses::default();
    let mut visitors = Visitors::default();
    for (n, group) in groups {
        heads.push(n, group);
        rows.push(n, group);
        events.push(n, group);
        budgets.push(n, group);
        challenges.push(n, group);
        responses.push(n, group);
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
        responses.bind(out)?;
        visitors.bind(out)
    };
    bind(&mut out).map_err(sqlx::Error::Encode)?;
    Ok(out)
}
