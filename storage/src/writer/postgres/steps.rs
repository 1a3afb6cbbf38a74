//! The statements of a group that needs a transaction of its own, bound before the first is sent.

use sqlx::{Arguments as _, error::BoxDynError, postgres::PgArguments};

use super::{columns, statement};
use crate::{
    commit::{Abort, Epoch, Group},
    db::for_postgres,
    faults::Point,
    writer::{access, app_record, bound::Bound},
};

/// One statement, and the point that a test may break after it.
pub(super) struct Step {
    pub(super) sql: &'static str,
    pub(super) arguments: PgArguments,
    /// What it means when no row answers it or is changed.
    pub(super) without_row: Option<Abort>,
    pub(super) point: Option<Point>,
}

/// Whether one statement is not enough for the group.
pub(super) fn needs_transaction(group: &Group) -> bool {
    group.writes.app_write.is_some()
        || !group.writes.access.is_empty()
        || !group.writes.scrubs.is_empty()
}

/// What comes before [`statement::COMMIT`]. The first one locks the head, as every transaction
/// that touches an app does: it finds no row when the fence refuses the group.
pub(super) fn steps(epoch: Epoch, group: &Group) -> Result<Vec<Step>, Abort> {
    let mut steps = Vec::new();
    head(&mut steps, epoch, group).map_err(|error| unencodable(&*error))?;
    if let Some(write) = &group.writes.app_write {
        add(&mut steps, app_record::statements(group.app, write)?)?;
        mark(&mut steps, Point::AfterAppWrite);
    }
    if !group.writes.access.is_empty() {
        add(&mut steps, access::statements(group)?)?;
        mark(&mut steps, Point::AfterAccess);
    }
    if !group.writes.scrubs.is_empty() {
        // Before the group's own events and responses are there.
        scrubs(&mut steps, group).map_err(|error| unencodable(&*error))?;
        mark(&mut steps, Point::AfterScrubs);
    }
    Ok(steps)
}

/// The group's own [`statement::COMMIT`].
pub(super) fn commit(epoch: Epoch, group: &Group) -> Result<PgArguments, Abort> {
    columns::arguments(epoch, [(0, group)].into_iter()).map_err(|error| unencodable(&error))
}

fn add(steps: &mut Vec<Step>, bound: Vec<Bound>) -> Result<(), Abort> {
    for Bound { sql, args, without_row } in bound {
        let arguments = for_postgres(&args).map_err(|error| unencodable(&error))?;
        steps.push(Step { sql, arguments, without_row, point: None });
    }
    Ok(())
}

fn unencodable(error: &(dyn std::error::Error + 'static)) -> Abort {
    Abort::Refused(error.to_string())
}

fn mark(steps: &mut [Step], point: Point) {
    if let Some(last) = steps.last_mut() {
        last.point = Some(point);
    }
}

/// Adds a statement with these parameters.
macro_rules! step {
    ($steps:ident, $sql:expr, $($value:expr),+ $(,)?) => {{
        let mut arguments = PgArguments::default();
        $(arguments.add($value)?;)+
        $steps.push(Step { sql: $sql, arguments, without_row: None, point: None });
    }};
}

fn head(steps: &mut Vec<Step>, epoch: Epoch, group: &Group) -> Result<(), BoxDynError> {
    let app = group.app_bytes();
    step!(steps, statement::LOCK_HEAD, &app[..], epoch.0, group.prev_seq.cast_signed());
    if let Some(lock) = steps.last_mut() {
        lock.without_row = Some(Abort::Fenced);
    }
    mark(steps, Point::AfterHead);
    Ok(())
}

fn scrubs(steps: &mut Vec<Step>, group: &Group) -> Result<(), BoxDynError> {
    let app = group.app_bytes();
    let collections: Vec<&str> =
        group.writes.scrubs.iter().map(|scrub| &*scrub.collection).collect();
    let keys: Vec<&str> = group.writes.scrubs.iter().map(|scrub| &*scrub.key).collect();
    for sql in [statement::SCRUB_EVENTS, statement::SCRUB_RESPONSES] {
        step!(steps, sql, &app[..], &collections[..], &keys[..]);
    }
    Ok(())
}
