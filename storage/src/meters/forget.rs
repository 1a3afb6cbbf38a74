//! Deleting meters: what tells visitors apart as soon as its day is over, sums when they are old.

use rookery_domain::meters::HOURS_PER_DAY;

use crate::{
    db::{Db, args},
    error::Result,
};

/// Rows that one statement deletes at most.
const CHUNK: u32 = 1_000;

/// Deletes sketches and salts of days before `today`: from then on nobody, the server's keeper
/// included, can tell whether two visits of such a day were one visitor's. Also those of days that are not
/// near yet, from when the clock was ahead. One chunk; `true` when more may be left.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn visitors(db: &Db, today: i32) -> Result<bool> {
    db.execute("delete from visitor_salts where day < $1 or day > $1 + 1", args![today]).await?;
    let deleted = db
        .execute(
            "delete from visitor_sketches where (app_id, kind, period) in
                 (select app_id, kind, period from visitor_sketches
                 where day < $1 or day > $1 + 1 limit $2)",
            args![today, CHUNK],
        )
        .await?;
    Ok(deleted == u64::from(CHUNK))
}

/// Deletes sums of days before `first`. One chunk of each; `true` when more may be left.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn sums(db: &Db, first: i32) -> Result<bool> {
    let by_hour = [
        "delete from app_hours where (app_id, hour) in
             (select app_id, hour from app_hours where hour < $1 limit $2)",
        "delete from account_hours where (human_id, hour) in
             (select human_id, hour from account_hours where hour < $1 limit $2)",
    ];
    let by_day = [
        "delete from app_days where (app_id, day) in
             (select app_id, day from app_days where day < $1 limit $2)",
        "delete from app_sources where (app_id, day, kind, name) in
             (select app_id, day, kind, name from app_sources where day < $1 limit $2)",
    ];
    let mut more = false;
    for sql in by_hour {
        let before = i64::from(first) * i64::from(HOURS_PER_DAY);
        more |= db.execute(sql, args![before, CHUNK]).await? == u64::from(CHUNK);
    }
    for sql in by_day {
        more |= db.execute(sql, args![first, CHUNK]).await? == u64::from(CHUNK);
    }
    Ok(more)
}
