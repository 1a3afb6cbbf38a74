//! Forgets what has expired, a bounded chunk at a time, so that no sweep holds the writers up.

use rookery_domain::{Timestamp, idempotency::KEPT_FOR_S};

use crate::{
    db::{Db, args},
    error::Result,
    participants::GRACE_S,
};

/// Rows that one statement deletes at most.
pub const CHUNK: u32 = 500;

/// Claim codes, device codes, links, push subscriptions, sessions, sign-ins that wait for an app,
/// and rotated-out tokens of credentials that ended before this, and participants that ended
/// [`GRACE_S`] sooner. One chunk of each; `true` when more may be left.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn sweep(db: &Db, ended_before: Timestamp) -> Result<bool> {
    let statements = [
        "delete from claims where hash in
             (select hash from claims where expires_at < $1 limit $2)",
        "delete from devices where id in
             (select id from devices where expires_at < $1 limit $2)",
        "delete from links where hash in
             (select hash from links where expires_at < $1 limit $2)",
        "delete from push_subscriptions where hash in
             (select hash from push_subscriptions where expires_at < $1 limit $2)",
        "delete from sessions where id in
             (select id from sessions where expires_at < $1 limit $2)",
        "delete from session_grants where hash in
             (select hash from session_grants where expires_at < $1 limit $2)",
        "delete from idp_flows where hash in
             (select hash from idp_flows where expires_at < $1 limit $2)",
        "delete from credential_tokens where hash in
             (select hash from credential_tokens where expires_at < $1 limit $2)",
    ];
    let mut more = false;
    for sql in statements {
        more |= db.execute(sql, args![ended_before, CHUNK]).await? == u64::from(CHUNK);
    }
    let participants = "delete from participants where id in
             (select id from participants where expires_at < $1 limit $2)";
    let ended_before = ended_before.plus_seconds(-GRACE_S);
    more |= db.execute(participants, args![ended_before, CHUNK]).await? == u64::from(CHUNK);
    Ok(more)
}

/// Answers of [`crate::idempotency::global`] that are not given again any more. One chunk; `true`
/// when more may be left.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn sweep_answers(db: &Db, now: Timestamp) -> Result<bool> {
    let deleted = db
        .execute(
            "delete from idempotency_global where scope in
                 (select scope from idempotency_global where created_at <= $1 limit $2)",
            args![now.plus_seconds(-KEPT_FOR_S), CHUNK],
        )
        .await?;
    Ok(deleted == u64::from(CHUNK))
}

/// Contents of assets that no version refers to and nobody has referred to since `unseen_since`
/// (an hour ago is plenty: a deploy that is under way has seen its own). One chunk; `true` when
/// more may be left.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn sweep_blobs(db: &Db, unseen_since: Timestamp) -> Result<bool> {
    let deleted = db
        .execute(
            "delete from blobs where seen_at < $1 and sha256 in
                 (select sha256 from blobs
                  where seen_at < $1
                    and not exists (select 1 from assets where assets.sha256 = blobs.sha256)
                  limit $2)",
            args![unseen_since, CHUNK],
        )
        .await?;
    Ok(deleted == u64::from(CHUNK))
}
