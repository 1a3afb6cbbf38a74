//! Members of apps, as the app's group has written them. Who is one is the app's actor to know;
//! here are the lists that nobody has to be woken for.

use std::sync::Arc;

use rookery_domain::{
    Timestamp,
    id::{AppId, HumanId},
    members::Member,
};
use uuid::Uuid;

use crate::{
    codec::{Read, ReadColumns, record},
    db::{Db, args},
    decode,
    error::{Result, StorageError},
};

/// A place in the list of an app's members.
pub type MemberPosition = (Timestamp, HumanId);

record!(Listed, Member, member);

/// The member in the columns `human, custom_role, created_at`.
pub(crate) fn member(columns: &impl ReadColumns) -> Read<Member> {
    let human = Uuid::from_slice(columns.bytes(0)?).map_err(|error| error.to_string())?;
    Ok(Member {
        human: HumanId::from_uuid(human),
        custom_role: columns.text_opt(1)?.map(Arc::from),
        created_at: columns.time(2)?,
    })
}

/// At most `limit` members of an app, in the order in which they came, behind the position.
///
/// # Errors
/// Any [`StorageError`].
pub async fn list(
    db: &Db,
    app: AppId,
    after: Option<MemberPosition>,
    limit: u32,
) -> Result<Vec<Member>> {
    let (at, human) =
        after.map_or((Timestamp(i64::MIN), [0; 16]), |(at, human)| (at, human.uuid().into_bytes()));
    let rows: Vec<Listed> = db
        .all(
            "select human, custom_role, created_at from members
             where app_id = $1 and removed_at is null
               and (created_at > $2 or (created_at = $2 and human > $3))
             order by created_at, human limit $4",
            args![app, at, human, limit],
        )
        .await?;
    rows.into_iter().map(|row| row.0.map_err(|why| StorageError::corrupt("member", why))).collect()
}

/// A human as a member of an app; `None` when it is none.
///
/// # Errors
/// Any [`StorageError`].
pub async fn find(db: &Db, app: AppId, human: HumanId) -> Result<Option<Member>> {
    let row: Option<Listed> = db
        .optional(
            "select human, custom_role, created_at from members
             where app_id = $1 and human = $2 and removed_at is null",
            args![app, human],
        )
        .await?;
    row.map(|row| row.0.map_err(|why| StorageError::corrupt("member", why))).transpose()
}

/// Whether a human is, or ever was, a member of an app.
///
/// # Errors
/// Any [`StorageError`].
pub async fn was_member(db: &Db, app: AppId, human: HumanId) -> Result<bool> {
    let since: Option<(i64,)> = db
        .optional(
            "select created_at from members where app_id = $1 and human = $2",
            args![app, human],
        )
        .await?;
    Ok(since.is_some())
}

/// How many members of an app hold each custom role; roles that nobody holds are left out.
///
/// # Errors
/// Any [`StorageError`].
pub async fn role_counts(db: &Db, app: AppId) -> Result<Vec<(String, u64)>> {
    let rows: Vec<(String, i64)> = db
        .all(
            "select custom_role, count(*) from members
             where app_id = $1 and removed_at is null and custom_role is not null
             group by custom_role",
            args![app],
        )
        .await?;
    rows.into_iter().map(|(role, n)| Ok((role, decode::number("members", n)?))).collect()
}
