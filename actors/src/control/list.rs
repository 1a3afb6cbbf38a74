//! The apps of an account, page by page. What a record says of an app (live or dormant) is a matter
//! of memory, so storage alone cannot filter by it. Listing wakes nothing.

use rookery_domain::{
    Result, Timestamp,
    app::AppStatus,
    id::{AppId, HumanId},
};
use rookery_storage::apps::{self, AppFilter, AppHead, AppPage, AppsOf, Listed};
use serde::{Deserialize, Serialize};

use super::{
    Control,
    detail::{AppDetail, is_dormant},
};
use crate::registry::AppHandle;

/// Apps that storage is asked for at a time.
const CHUNK: usize = 200;

/// What an app's record says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShownStatus {
    /// An actor runs for it.
    Live,
    /// None does; the next request that needs its rows wakes it.
    Dormant,
    /// In the trash.
    Deleted,
    /// Taken down.
    Closed,
}

impl ShownStatus {
    /// Every one of them.
    pub const ALL: &'static [Self] = &[Self::Live, Self::Dormant, Self::Deleted, Self::Closed];

    /// The name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Dormant => "dormant",
            Self::Deleted => "deleted",
            Self::Closed => "closed",
        }
    }

    /// What is said of an app with this status.
    #[must_use]
    pub const fn of(status: AppStatus, dormant: bool) -> Self {
        match status {
            AppStatus::Live if dormant => Self::Dormant,
            AppStatus::Live => Self::Live,
            AppStatus::Deleted | AppStatus::Purging => Self::Deleted,
            AppStatus::Closed => Self::Closed,
        }
    }

    const fn stored(self) -> AppStatus {
        match self {
            Self::Live | Self::Dormant => AppStatus::Live,
            Self::Deleted => AppStatus::Deleted,
            Self::Closed => AppStatus::Closed,
        }
    }
}

/// Which apps of an account a list holds, and where it goes on.
#[derive(Debug, Clone, Default)]
pub struct AppList {
    /// Only those of which the record says this; otherwise all but the deleted ones.
    pub shown: Option<ShownStatus>,
    /// Without `shown`: the deleted ones too.
    pub include_deleted: bool,
    /// Only the one with this slug.
    pub slug: Option<String>,
    /// Only those that a human marked as favorites (`true`), or only the others.
    pub marked: Option<(HumanId, bool)>,
    /// Behind this app: its `created_at` and id.
    pub after: Option<(Timestamp, AppId)>,
}

/// An app of a list.
pub struct ListedApp {
    /// The app.
    pub app: AppHandle,
    /// What storage says that it holds.
    pub(super) head: AppHead,
}

impl ListedApp {
    /// Describes it, without asking storage again.
    #[must_use]
    pub fn detail(self) -> (AppHandle, AppDetail) {
        let Self { app, head } = self;
        let detail = match app.peek() {
            Some(root) => AppDetail::of_published(&app, &root),
            None => AppDetail::of_stored(&app, head),
        };
        (app, detail)
    }
}

impl Control {
    /// At most `limit` apps of an account or an organization, newest first, and whether there are
    /// more behind them.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn list(
        &self,
        of: impl Into<AppsOf>,
        list: AppList,
        limit: usize,
    ) -> Result<(Vec<ListedApp>, bool)> {
        let mut filter = AppFilter {
            status: list.shown.map(ShownStatus::stored),
            include_deleted: list.include_deleted,
            slug: list.slug,
            marked: list.marked,
            after: list.after,
        };
        let (of, now) = (of.into(), self.env().clock.now());
        // One more tells whether there are more. Of those that are live or dormant any may drop out.
        let chunk = match list.shown {
            Some(_) => CHUNK,
            None => limit.saturating_add(1).min(CHUNK),
        };
        let mut found = Vec::new();
        loop {
            let AppPage { apps, next } = apps::list(&self.db, of, &filter, chunk as u32).await?;
            for Listed { record, head } in apps {
                let Some(app) = self.apps.adopt_listed(record).await? else { continue };
                if app.record().is_over(now) {
                    continue;
                }
                let shown = ShownStatus::of(app.record().status, is_dormant(&app));
                if list.shown.is_some_and(|wanted| wanted != shown) {
                    continue;
                }
                if found.len() == limit {
                    return Ok((found, true));
                }
                found.push(ListedApp { app, head });
            }
            if next.is_none() {
                return Ok((found, false));
            }
            filter.after = next;
        }
    }
}
