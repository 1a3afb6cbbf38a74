//! The statements of a group that needs a transaction of its own, bound before the first is sent.

use sqlx::{Arguments as _, error::BoxDynError, postgres::PgArguments};

use super::{columns, statement};
use crate::{
    apps::visibility_code,
    codec::principal_bytes,
    commit::{AppWrite, Epoch, Group, NewVersion},
    db::for_postgres,
    faults::Point,
    writer::{
        access,
        app_record::{self, count, retention_text},
        failure::Failure,
    },
};

/// One statement, and the point that a test may break after it.
pub(super) struct Step {
    pub(super) sql: &'static str,
    pub(super) arguments: PgArguments,
    pub(super) point: Option<Point>,
}

/// Whether one statement is not enough for the group.
pub(super) fn needs_transaction(group: &Group) -> bool {
    group.app_write.is_some() || !group.access.is_empty() || !group.scrubs.is_empty()
}

/// What comes before [`statement::COMMIT`]. The first one locks the head, as every transaction
/// that touches an app does: it finds no row when the fence refuses the group.
pub(super) fn steps(epoch: Epoch, group: &Group) -> Result<Vec<Step>, Failure> {
    let mut steps = Vec::new();
    head(&mut steps, epoch, group).map_err(|error| unencodable(&*error))?;
    if let Some(write) = &group.app_write {
        additions(&mut steps, group, write).map_err(|error| unencodable(&*error))?;
        let retention = retention_text(&write.record)?;
        record(&mut steps, group, write, retention).map_err(|error| unencodable(&*error))?;
        if let Some(version) = &write.version {
            assets(&mut steps, group, version).map_err(|error| unencodable(&*error))?;
        }
        mark(&mut steps, Point::AfterAppWrite);
    }
    if !group.access.is_empty() {
        for (sql, args) in access::statements(group)? {
            let arguments =
                for_postgres(&args).map_err(|error| Failure::Refused(error.to_string()))?;
            steps.push(Step { sql, arguments, point: None });
        }
        mark(&mut steps, Point::AfterAccess);
    }
    if !group.scrubs.is_empty() {
        // Before the group's own events and answers are there.
        scrubs(&mut steps, group).map_err(|error| unencodable(&*error))?;
        mark(&mut steps, Point::AfterScrubs);
    }
    Ok(steps)
}

/// The group's own [`statement::COMMIT`].
pub(super) fn commit(epoch: Epoch, group: &Group) -> Result<PgArguments, Failure> {
    columns::arguments(epoch, [(0, group)].into_iter()).map_err(|error| unencodable(&error))
}

fn unencodable(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::Refused(error.to_string())
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
        $steps.push(Step { sql: $sql, arguments, point: None });
    }};
}

fn head(steps: &mut Vec<Step>, epoch: Epoch, group: &Group) -> Result<(), BoxDynError> {
    let app = group.app_bytes();
    step!(steps, statement::LOCK_HEAD, &app[..], epoch.0, group.prev_seq.cast_signed());
    mark(steps, Point::AfterHead);
    Ok(())
}

/// Ends the accepted offer, and makes sure that the owner has room for the app.
fn additions(steps: &mut Vec<Step>, group: &Group, write: &AppWrite) -> Result<(), BoxDynError> {
    if let Some(offer) = write.accepts {
        let (offer, app) = (offer.uuid().into_bytes(), group.app_bytes());
        step!(steps, app_record::TAKE_OFFER, &offer[..], &app[..]);
    }
    if let Some(max) = write.apps_max {
        let owner = write.record.owner.uuid().into_bytes();
        let [is_open, has_room] = app_record::ROOM_FOR_APP;
        step!(steps, is_open, &owner[..]);
        step!(steps, has_room, &owner[..], count(max.trashed), count(max.kept));
    }
    Ok(())
}

fn record(
    steps: &mut Vec<Step>,
    group: &Group,
    write: &AppWrite,
    retention: String,
) -> Result<(), BoxDynError> {
    let record = &write.record;
    step!(
        steps,
        app_record::UPDATE_APP,
        &record.owner.uuid().as_bytes()[..],
        &*record.slug,
        record.status.code(),
        visibility_code(record.visibility),
        &*record.timezone,
        i64::from(record.version),
        record.share_hash.as_ref().map(|hash| &hash[..]),
        record.share_sealed.as_deref(),
        record.migration_until.map(|at| at.0),
        i64::from(record.unrestricted),
        retention,
        record.updated_at.0,
        record.deleted_at.map(|at| at.0),
        record.purge_at.map(|at| at.0),
        record.org.map(|org| org.uuid().into_bytes()),
        &group.app_bytes()[..],
    );
    Ok(())
}

fn assets(steps: &mut Vec<Step>, group: &Group, version: &NewVersion) -> Result<(), BoxDynError> {
    let app = group.app_bytes();
    let number = i64::from(version.number);
    step!(
        steps,
        app_record::INSERT_VERSION,
        &app[..],
        number,
        &*version.html,
        &*version.manifest,
        &principal_bytes(version.by)[..],
        version.created_at.0,
    );
    // In one order for everybody, so that two deploys of the same files never wait in a ring.
    let mut files: Vec<_> = version.assets.iter().collect();
    files.sort_by_key(|file| file.sha256);
    for file in files {
        let sha256 = &file.sha256[..];
        step!(steps, app_record::UPSERT_BLOB, sha256, &file.bytes[..], version.created_at.0);
        step!(
            steps,
            app_record::INSERT_ASSET,
            &app[..],
            number,
            &*file.path,
            &*file.content_type,
            sha256,
            app_record::size(file),
        );
    }
    let through = i64::from(version.drop_through);
    step!(steps, app_record::DROP_ASSETS, &app[..], through);
    step!(steps, app_record::DROP_VERSIONS, &app[..], through);
    Ok(())
}

fn scrubs(steps: &mut Vec<Step>, group: &Group) -> Result<(), BoxDynError> {
    let app = group.app_bytes();
    let collections: Vec<&str> = group.scrubs.iter().map(|scrub| &*scrub.collection).collect();
    let keys: Vec<&str> = group.scrubs.iter().map(|scrub| &*scrub.key).collect();
    for sql in [statement::SCRUB_EVENTS, statement::SCRUB_ANSWERS] {
        step!(steps, sql, &app[..], &collections[..], &keys[..]);
    }
    Ok(())
}
