//! Members of apps, as the app's group has written them. Who is one is the app's actor to know;
//! here are the lists that nobody has to be woken for.

use rookery_domain::{
    Timestamp,
    id::{AppId, HumanId},
    members::Member,
};

use crate::{
    columns::record,
    db::{Db, args, oldest_first},
    error::Result,
};

/// A place in the list of an app's members.
pub type MemberPosition = (Timestamp, HumanId);

record!(Member: human, custom_role, created_at);

/// At most `limit` members of an app, in the order in which they came, behind the position.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn list(
    db: &Db,
    app: AppId,
    after: Option<MemberPosition>,
    limit: u32,
) -> Result<Vec<Member>> {
    let (at, human) = oldest_first(after);
    db.all(
        "select human, custom_role, created_at from members
         where app_id = $1 and removed_at is null
           and (created_at > $2 or (created_at = $2 and human > $3))
         order by created_at, human limit $4",
        args![app, at, human, limit],
    )
    .await
}

/// A human as a member of an app; `None` when it is none.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn find(db: &Db, app: AppId, human: HumanId) -> Result<Option<Member>> {
    db.optional(
        "select human, custom_role, created_at from members
         where app_id = $1 and human = $2 and removed_at is null",
        args![app, human],
    )
    .await
}

/// Whether a human is, or ever was, a member of an app.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn was_member(db: &Db, app: AppId, human: HumanId) -> Result<bool> {
    db.exists("select 1 from members where app_id = $1 and human = $2", args![app, human]).await
}

/// How many members of an app hold each custom role; roles that nobody holds are left out.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn role_counts(db: &Db, app: AppId) -> Result<Vec<(String, u64)>> {
    db.all(
        "select custom_role, count(*) from members
         where app_id = $1 and removed_at is null and custom_role is not null
         group by custom_role",
        args![app],
    )
    .await
}
