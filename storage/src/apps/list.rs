//! Pages of apps, newest first: an owner's, an organization's, or all that a human may see.

use rookery_domain::{
    Timestamp,
    app::{AppRecord, AppStatus},
    id::{AppId, HumanId, OrgId},
};

use super::{
    head::{AppHead, head_columns},
    record::{APP_COLUMNS, CREATED_AT, ID, app_columns},
};
use crate::{
    columns::{FromColumns, Read, ReadColumns},
    db::{Db, args, newest_first},
    error::Result,
};

/// Which apps of an account a list holds, and where it goes on.
#[derive(Debug, Clone, Default)]
pub struct AppFilter {
    /// Only those with this status; otherwise all that are not being purged.
    pub status: Option<AppStatus>,
    /// Without `status`: whether the deleted ones are among them.
    pub include_deleted: bool,
    /// Only the one with this slug.
    pub slug: Option<String>,
    /// Only those that a human marked as favorites (`true`), or only the others.
    pub marked: Option<(HumanId, bool)>,
    /// Behind this app: its `created_at` and id.
    pub after: Option<(Timestamp, AppId)>,
}

/// Whose apps a list holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppsOf {
    /// Those that an account owns.
    Owner(HumanId),
    /// Those that belong to an organization.
    Org(OrgId),
    /// Those that a human owns, or acts for as an admin of their organization while the account that
    /// owns them is open: nobody brings back what a closed account left in the trash.
    Run(HumanId),
    /// Those that a human owns, acts for as an admin of their organization, or is a member of.
    Seen(HumanId),
    /// Those of them that it owns or acts for.
    Acted(HumanId),
    /// Those of them that it is only a member of.
    Joined(HumanId),
}

impl From<HumanId> for AppsOf {
    fn from(owner: HumanId) -> Self {
        Self::Owner(owner)
    }
}

/// One page of the apps that a query finds: a statement for each query, so that each has its index.
macro_rules! page_of {
    ($apps:literal) => {
        concat!(
            "with found as (",
            $apps,
            ") select ",
            app_columns!(),
            ", ",
            head_columns!(),
            " from found join app_head on app_head.app_id = found.id
             where status <> 3
               and (created_at < $2 or (created_at = $2 and id < $3))
               and (status = $4 or $4 is null)
               and ($4 is not null or $5 = 1 or status <> 1)
               and (slug = $6 or $6 is null)
               and ($8 is null or $8 = case when exists (
                   select 1 from favorites where human = $9 and app_id = found.id)
                   then 1 else 0 end)
             order by created_at desc, id desc
             limit $7"
        )
    };
}

/// An app of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its record.
    pub record: AppRecord,
    /// What it holds.
    pub head: AppHead,
}

impl FromColumns for Listed {
    const WHAT: &'static str = "Listed";

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        let record = AppRecord::from_columns(columns)?;
        Ok(Self { record, head: AppHead::at(APP_COLUMNS, columns)? })
    }
}

/// An app of a list, and its place there also when it cannot be read.
struct Placed {
    place: (Timestamp, AppId),
    app: Read<Listed>,
}

impl FromColumns for Placed {
    const WHAT: &'static str = Listed::WHAT;

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        let place = (columns.get(CREATED_AT)?, columns.get(ID)?);
        Ok(Self { place, app: Listed::from_columns(columns) })
    }
}

/// A page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppPage {
    /// Its apps; fewer than were asked for where some cannot be read.
    pub apps: Vec<Listed>,
    /// Where the next page goes on, as [`AppFilter::after`]; `None` behind the last one.
    pub next: Option<(Timestamp, AppId)>,
}

/// A page of an account's or an organization's apps, newest first. One that cannot be read is left out
/// and logged, so that it hides no other.
///
/// # Errors
/// Any [`StorageError`](crate::StorageError).
pub async fn list(
    db: &Db,
    of: impl Into<AppsOf>,
    filter: &AppFilter,
    limit: u32,
) -> Result<AppPage> {
    let (at, id) = newest_first(filter.after);
    let (sql, whose) = match of.into() {
        AppsOf::Owner(owner) => (page_of!("select * from apps where owner = $1"), owner.uuid()),
        AppsOf::Org(org) => (page_of!("select * from apps where org_id = $1"), org.uuid()),
        AppsOf::Run(human) => (
            page_of!(
                "select * from apps where owner = $1
                 union all
                 select apps.* from org_members join apps on apps.org_id = org_members.org_id
                 where org_members.human = $1 and org_members.removed_at is null
                   and org_members.role = 1 and apps.owner <> $1
                   and exists (
                       select 1 from humans where id = apps.owner and closed_at is null)"
            ),
            human.uuid(),
        ),
        AppsOf::Seen(human) => (
            page_of!(
                "select * from apps where owner = $1
                 union all
                 select apps.* from members join apps on apps.id = members.app_id
                 where members.human = $1 and members.removed_at is null and apps.owner <> $1
                 union all
                 select apps.* from org_members join apps on apps.org_id = org_members.org_id
                 where org_members.human = $1 and org_members.removed_at is null
                   and org_members.role = 1 and apps.owner <> $1
                   and not exists (
                       select 1 from members
                       where members.app_id = apps.id and members.human = $1
                         and members.removed_at is null)"
            ),
            human.uuid(),
        ),
        AppsOf::Acted(human) => (
            page_of!(
                "select * from apps where owner = $1
                 union all
                 select apps.* from org_members join apps on apps.org_id = org_members.org_id
                 where org_members.human = $1 and org_members.removed_at is null
                   and org_members.role = 1 and apps.owner <> $1"
            ),
            human.uuid(),
        ),
        AppsOf::Joined(human) => (
            page_of!(
                "select apps.* from members join apps on apps.id = members.app_id
                 where members.human = $1 and members.removed_at is null and apps.owner <> $1
                   and not exists (
                       select 1 from org_members
                       where org_members.org_id = apps.org_id and org_members.human = $1
                         and org_members.removed_at is null and org_members.role = 1)"
            ),
            human.uuid(),
        ),
    };
    let (marked_by, marked) = filter.marked.unzip();
    let found: Vec<Placed> = db
        .all(
            sql,
            args![
                whose.into_bytes(),
                at,
                id,
                filter.status,
                filter.include_deleted,
                filter.slug.as_deref(),
                limit,
                marked.map(i64::from),
                marked_by,
            ],
        )
        .await?;
    let is_full = found.len() == limit as usize;
    let next = found.last().filter(|_| is_full).map(|last| last.place);
    let readable = found.into_iter().filter_map(|Placed { place: (_, id), app }| {
        app.inspect_err(|why| {
            tracing::error!(app.id = %id, why, "a stored app cannot be read");
        })
        .ok()
    });
    Ok(AppPage { apps: readable.collect(), next })
}
