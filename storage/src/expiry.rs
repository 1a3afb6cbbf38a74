//! Forgets what has expired, a bounded chunk at a time, so that no sweep holds the writers up. Each
//! statement asks twice whether it has: PostgreSQL asks the outer condition once more of a row that
//! was changed while the statement waited for it, and what was renewed just then stays.

use std::ops::RangeInclusive;

use rookery_domain::{Timestamp, idempotency::KEPT_FOR_S};

use crate::{
    db::{Db, args},
    error::Result,
    participants, sessions,
};

/// Rows that one statement deletes at most.
pub const CHUNK: u32 = 500;

/// Bytes of contents that one call deletes, but for the last: what is deleted is overwritten, and on
/// SQLite every commit waits for it.
const BLOB_BYTES: i64 = 4 << 20;

/// How long a mailed link is stored after its time is over: whoever comes by it too late, or a second
/// time, is led where it was to lead.
pub const LINK_GRACE_S: i64 = 3_600;

/// What forgets a chunk of what has expired, and how long after its end that is forgotten.
const EXPIRED: [(&str, i64); 9] = [
    (
        "delete from claims where expires_at < $1 and hash in
             (select hash from claims where expires_at < $1 limit $2)",
        0,
    ),
    (
        "delete from devices where expires_at < $1 and id in
             (select id from devices where expires_at < $1 limit $2)",
        0,
    ),
    (
        "delete from push_subscriptions where expires_at < $1 and hash in
             (select hash from push_subscriptions where expires_at < $1 limit $2)",
        0,
    ),
    (
        "delete from sessions where expires_at < $1 and id in
             (select id from sessions where expires_at < $1 limit $2)",
        sessions::GRACE_S,
    ),
    (
        "delete from session_grants where expires_at < $1 and hash in
             (select hash from session_grants where expires_at < $1 limit $2)",
        0,
    ),
    (
        "delete from idp_flows where expires_at < $1 and hash in
             (select hash from idp_flows where expires_at < $1 limit $2)",
        0,
    ),
    (
        "delete from credential_tokens where expires_at < $1 and hash in
             (select hash from credential_tokens where expires_at < $1 limit $2)",
        0,
    ),
    (
        "delete from links where expires_at < $1 and hash in
             (select hash from links where expires_at < $1 limit $2)",
        LINK_GRACE_S,
    ),
    (
        "delete from participants where expires_at < $1 and id in
             (select id from participants where expires_at < $1 limit $2)",
        participants::GRACE_S,
    ),
];

/// Where a search for contents goes on: behind this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobPlace {
    seen_at: Timestamp,
    sha256: [u8; 32],
}

/// Claim codes, device codes, push subscriptions, sign-ins that wait for an app or for an identity
/// provider, and rotated-out tokens of credentials that ended before this, links that ended
/// [`LINK_GRACE_S`] sooner, and sessions and participants that did so [`sessions::GRACE_S`] and
/// [`participants::GRACE_S`] sooner. One chunk of each; `true` when more may be left.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn sweep(db: &Db, ended_before: Timestamp) -> Result<bool> {
    let mut more = false;
    for (sql, grace_s) in EXPIRED {
        let ended_before = ended_before.plus_seconds(-grace_s);
        more |= db.execute(sql, args![ended_before, CHUNK]).await? == u64::from(CHUNK);
    }
    Ok(more)
}

/// Responses of [`crate::idempotency::global`] that are not given again any more. One chunk; `true`
/// when more may be left.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn sweep_responses(db: &Db, now: Timestamp) -> Result<bool> {
    let deleted = db
        .execute(
            "delete from idempotency_global where created_at <= $1 and scope in
                 (select scope from idempotency_global where created_at <= $1 limit $2)",
            args![now.plus_seconds(-KEPT_FOR_S), CHUNK],
        )
        .await?;
    Ok(deleted == u64::from(CHUNK))
}

/// Deletes challenge answers that would be refused by their age anyway, and write-budget counters
/// of other days than `days` (days since 1970), at most [`CHUNK`] of each; how many in all.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn forget_spent(db: &Db, now: Timestamp, days: RangeInclusive<i32>) -> Result<u64> {
    db.transaction((now, days), |tx, (now, days)| {
        Box::pin(async move {
            let challenges = tx
                .execute(
                    "delete from spent_challenges where expires_at <= $1 and (app_id, id) in
                     (select app_id, id from spent_challenges where expires_at <= $1
                     order by expires_at limit $2)",
                    args![*now, CHUNK],
                )
                .await?;
            let mut budgets = 0;
            for (sql, day) in [
                (
                    "delete from budgets where day < $1 and (app_id, collection, network) in
                     (select app_id, collection, network from budgets where day < $1
                     order by day limit $2)",
                    days.start(),
                ),
                (
                    "delete from budgets where day > $1 and (app_id, collection, network) in
                     (select app_id, collection, network from budgets where day > $1
                     order by day desc limit $2)",
                    days.end(),
                ),
            ] {
                budgets += tx.execute(sql, args![i64::from(*day), CHUNK]).await?;
            }
            Ok(challenges + budgets)
        })
    })
    .await
}

/// Contents of assets that no version refers to and nobody has referred to since `unseen_since`
/// (an hour ago is plenty: a deploy that is under way has seen its own). They are looked for behind
/// `after`, without holding anybody up, and about [`BLOB_BYTES`] of them go. Where the next call goes
/// on; `None` when none is left.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn sweep_blobs(
    db: &Db,
    unseen_since: Timestamp,
    after: Option<BlobPlace>,
) -> Result<Option<BlobPlace>> {
    let after = after.unwrap_or(BlobPlace { seen_at: Timestamp(i64::MIN), sha256: [0; 32] });
    let found: Vec<(Timestamp, [u8; 32], i64)> = db
        .all(
            "select seen_at, sha256, cast(octet_length(bytes) as bigint) from blobs
             where seen_at < $1 and seen_at >= $2 and (seen_at, sha256) > ($2, $3)
               and not exists (select 1 from assets where assets.sha256 = blobs.sha256)
             order by seen_at, sha256 limit $4",
            args![unseen_since, after.seen_at, after.sha256, CHUNK],
        )
        .await?;
    let (mut bytes, mut hashes, mut place) = (0, Vec::new(), None);
    for (seen_at, sha256, of_blob) in &found {
        if bytes >= BLOB_BYTES {
            break;
        }
        bytes += of_blob;
        place = Some(BlobPlace { seen_at: *seen_at, sha256: *sha256 });
        hashes.push(*sha256);
    }
    let more = hashes.len() < found.len() || found.len() == CHUNK as usize;
    if !hashes.is_empty() {
        db.transaction((hashes, unseen_since), |tx, (hashes, unseen_since)| {
            Box::pin(async move {
                for sha256 in hashes {
                    // A deploy may have come to refer to it.
                    tx.execute(
                        "delete from blobs where sha256 = $1 and seen_at < $2 and not exists
                             (select 1 from assets where assets.sha256 = blobs.sha256)",
                        args![*sha256, *unseen_since],
                    )
                    .await?;
                }
                Ok(())
            })
        })
        .await?;
    }
    Ok(place.filter(|_| more))
}
