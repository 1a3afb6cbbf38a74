//! A change of an app's record, and a new version, inside a group's transaction on SQLite.

use rusqlite::{Connection, params};

use super::batch::failed;
use crate::{
    apps::visibility_code,
    codec::principal_bytes,
    commit::{AppWrite, NewVersion},
    writer::{
        app_record::{self, count, retention_text},
        failure::Failure,
    },
};
use rookery_domain::{
    id::{AppId, TransferId},
    limits::AppsMax,
};

/// Writes the record and the version. Rare, so its statements are not kept.
pub(super) fn write(connection: &Connection, app: AppId, write: &AppWrite) -> Result<(), Failure> {
    let record = &write.record;
    let uuid = app.uuid();
    let app_id = &uuid.as_bytes()[..];
    if let Some(offer) = write.accepts {
        take_offer(connection, app_id, offer)?;
    }
    if let Some(max) = write.apps_max {
        make_room(connection, &record.owner.uuid().as_bytes()[..], max)?;
    }
    let changed = connection.execute(
        app_record::UPDATE_APP,
        params![
            &record.owner.uuid().as_bytes()[..],
            &*record.slug,
            record.status.code(),
            visibility_code(record.visibility),
            &*record.timezone,
            record.version,
            record.share_hash.as_ref().map(|hash| &hash[..]),
            record.share_sealed.as_deref(),
            record.migration_until.map(|at| at.0),
            i64::from(record.unrestricted),
            retention_text(record)?,
            record.updated_at.0,
            record.deleted_at.map(|at| at.0),
            record.purge_at.map(|at| at.0),
            record.org.map(|org| org.uuid().into_bytes()),
            app_id,
        ],
    );
    match changed {
        Ok(1) => {}
        Ok(_) => return Err(Failure::Refused("the app has no record".into())),
        Err(error) if is_taken_slug(&error) => return Err(Failure::SlugTaken),
        Err(error) => return Err(failed(error)),
    }
    match &write.version {
        Some(version) => insert_version(connection, app_id, version).map_err(failed),
        None => Ok(()),
    }
}

/// Ends the accepted offer.
fn take_offer(connection: &Connection, app_id: &[u8], offer: TransferId) -> Result<(), Failure> {
    let taken = connection
        .execute(app_record::TAKE_OFFER, params![&offer.uuid().as_bytes()[..], app_id])
        .map_err(failed)?;
    if taken == 1 { Ok(()) } else { Err(Failure::OfferGone) }
}

/// Makes sure that the owner has room for the app.
fn make_room(connection: &Connection, owner: &[u8], max: AppsMax) -> Result<(), Failure> {
    let [is_open, has_room] = app_record::ROOM_FOR_APP;
    let open = connection.execute(is_open, [owner]).map_err(failed)?;
    let room = connection
        .prepare(has_room)
        .and_then(|mut statement| {
            statement.exists(params![owner, count(max.trashed), count(max.kept)])
        })
        .map_err(failed)?;
    if open == 1 && room { Ok(()) } else { Err(Failure::AccountFull) }
}

fn insert_version(
    connection: &Connection,
    app_id: &[u8],
    version: &NewVersion,
) -> rusqlite::Result<()> {
    connection.execute(
        app_record::INSERT_VERSION,
        params![
            app_id,
            version.number,
            &*version.html,
            &*version.manifest,
            &principal_bytes(version.by)[..],
            version.created_at.0,
        ],
    )?;
    let mut blob = connection.prepare(app_record::UPSERT_BLOB)?;
    let mut asset = connection.prepare(app_record::INSERT_ASSET)?;
    for file in version.assets.iter() {
        blob.execute(params![&file.sha256[..], &*file.bytes, version.created_at.0])?;
        asset.execute(params![
            app_id,
            version.number,
            file.path,
            file.content_type,
            &file.sha256[..],
            app_record::size(file),
        ])?;
    }
    connection.execute(app_record::DROP_ASSETS, params![app_id, version.drop_through])?;
    connection.execute(app_record::DROP_VERSIONS, params![app_id, version.drop_through])?;
    Ok(())
}

fn is_taken_slug(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(_, Some(message))
        if message.contains(app_record::SLUG_COLUMN))
}
