//! Whether an account has room for one more app, and what takes it. Apps in the trash have room of their
//! own; what is beyond that counts among the others.

use rookery_domain::{
    id::{AppId, HumanId},
    limits::AppsMax,
};

use crate::{
    db::{Args, Db, args},
    error::Result,
};

/// What an account is full of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullOf {
    /// Apps that are live or closed: as many as it may have.
    Apps,
    /// Apps in the trash: those that it has no room for take the room of others.
    Trash,
}

/// A row, when an account has room beside the apps that it keeps. `$1` the account, `$2` how many it may.
const BESIDE_KEPT: &str =
    "select 1 where (select count(*) from apps where owner = $1 and status in (0, 2)) < $2";

/// A row, when it also has room beside those that its trash has none for. `$1` the account, `$2` how many
/// its trash has room for, `$3` the app that is to come, which may be in the trash now, `$4` how many
/// it may keep.
const BESIDE_ALL: &str = "select 1 where
     (select count(*) from apps where owner = $1 and status in (0, 2))
     + (select case when count(*) > $2 then count(*) - $2 else 0 end
        from apps where owner = $1 and status = 1 and id <> $3) < $4";

/// Statements that each find a row where there is room for `app`, and what there is too much of where
/// one does not.
pub(crate) fn statements(
    owner: HumanId,
    app: AppId,
    max: AppsMax,
) -> [(&'static str, Args, FullOf); 2] {
    [
        (BESIDE_KEPT, args![owner, max.kept], FullOf::Apps),
        (BESIDE_ALL, args![owner, max.trashed, app, max.kept], FullOf::Trash),
    ]
}

/// What leaves an account no room for `app`, as far as it can be seen beforehand: whatever adds an app
/// asks again in its transaction.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn lacking(db: &Db, owner: HumanId, app: AppId, max: AppsMax) -> Result<Option<FullOf>> {
    for (sql, args, of) in statements(owner, app, max) {
        if !db.exists(sql, args).await? {
            return Ok(Some(of));
        }
    }
    Ok(None)
}
