//! The record of an app (contract part 4): what it is, without its rows.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Error, ErrorCode, Result, Timestamp,
    id::{AgentId, AppId, HistoryId, HumanId, OrgId},
    manifest::{Retention, Visibility},
    secret::SecretHash,
};

/// Whether an app takes part in the world. Dormancy is not here: it is a matter of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AppStatus {
    /// Serves and accepts writes.
    #[default]
    Live,
    /// In the trash: can be restored until `purge_at`; see [`AppRecord::is_over`].
    Deleted,
    /// Taken down by an operator, or its account was deleted: the owner may still read.
    Closed,
    /// Being destroyed: answers as if it had never been.
    Purging,
}

impl AppStatus {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Deleted => "deleted",
            Self::Closed => "closed",
            Self::Purging => "purging",
        }
    }

    /// Checks that the app takes part in the world.
    ///
    /// # Errors
    /// `soft_deleted`, `app_closed`, `app_not_found`.
    pub fn check_live(self) -> Result<()> {
        match self {
            Self::Live => Ok(()),
            Self::Deleted => Err(Error::new(ErrorCode::SoftDeleted, "this app is in the trash")),
            Self::Closed => Err(Error::new(ErrorCode::AppClosed, "this app is closed")),
            Self::Purging => Err(Error::app_not_found()),
        }
    }

    /// Checks that the app may be read. Its owner still reads a closed one (to export what is
    /// there), and one in the trash when asking for it `from_trash`.
    ///
    /// # Errors
    /// Those of [`AppStatus::check_live`].
    pub fn check_readable(self, by_owner: bool, from_trash: bool) -> Result<()> {
        match self {
            Self::Closed if by_owner => Ok(()),
            Self::Deleted if by_owner && from_trash => Ok(()),
            status => status.check_live(),
        }
    }
}

/// The token of a share link, as it is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct ShareToken {
    /// Its SHA-256.
    pub hash: SecretHash,
    /// Its text, sealed with the server's key, because its owner sees it again.
    pub sealed: Arc<str>,
}

crate::shown!(ShareToken: hash);

/// An app without its rows: one row of the directory.
#[derive(Clone, PartialEq, Eq)]
pub struct AppRecord {
    /// Its id.
    pub id: AppId,
    /// The account it belongs to.
    pub owner: HumanId,
    /// The organization whose admins act as its owner.
    pub org: Option<OrgId>,
    /// The agent that deployed it first.
    pub created_by: Option<AgentId>,
    /// Its name in addresses; unique over all apps, the deleted ones included.
    pub slug: Arc<str>,
    /// Live, deleted, closed.
    pub status: AppStatus,
    /// Who reaches it.
    pub visibility: Visibility,
    /// IANA name; days of write budgets begin at its midnight.
    pub timezone: Arc<str>,
    /// The current version's number, from 1.
    pub version: u32,
    /// The token of its share link, while visibility is `link`.
    pub share: Option<ShareToken>,
    /// Until when migration mode is on.
    pub migration_until: Option<Timestamp>,
    /// Whether the app may talk to any internet service.
    pub unrestricted: bool,
    /// The owner's retention overrides by collection, per axis.
    pub retention: BTreeMap<String, Retention>,
    /// The history its feed cursors belong to.
    pub history: HistoryId,
    /// The number of the event since which others than the owner may read what they could not before.
    /// Who follows the feed from before it lists anew, and is not told of the time between.
    pub opened_seq: u64,
    /// When it was deployed first.
    pub created_at: Timestamp,
    /// When the record or the version changed last (rows do not count).
    pub updated_at: Timestamp,
    /// When it went to the trash.
    pub deleted_at: Option<Timestamp>,
    /// When the sweeper may destroy it.
    pub purge_at: Option<Timestamp>,
}

crate::shown!(
    AppRecord: id, owner, org, created_by, slug, status, visibility, timezone, version,
    migration_until, unrestricted, retention, history, opened_seq, created_at, updated_at, deleted_at,
    purge_at
);

impl AppRecord {
    /// Whether its time in the trash is over at `now`: the sweeper may just not have come yet, and it
    /// is as if it had.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.status != AppStatus::Live && self.purge_at.is_some_and(|end| end <= now)
    }

    /// Until when migration mode is on, where it is at `now`.
    #[must_use]
    pub fn migrates_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.migration_until.filter(|until| *until > now)
    }

    /// Changes who reaches the app. `share`, a new token, is used when this makes the app `link`;
    /// leaving `link` clears the token.
    pub fn set_visibility(&mut self, visibility: Visibility, share: Option<ShareToken>) {
        let was = std::mem::replace(&mut self.visibility, visibility);
        self.share = match visibility {
            Visibility::Link if was == Visibility::Link && self.share.is_some() => return,
            Visibility::Link => share,
            Visibility::Private | Visibility::Public => None,
        };
    }
}

/// Minutes that migration mode is on when nobody says for how long.
const MIGRATION_MINUTES_DEFAULT: u32 = 60;
/// Most minutes that migration mode is on: a day.
pub const MIGRATION_MINUTES_MAX: u32 = 24 * 60;

/// For how long migration mode is to be turned on; `None` to turn it off, which takes no other minutes.
///
/// # Errors
/// `invalid_request` for minutes that may not be asked for.
pub fn migration_ttl(on: bool, minutes: Option<u32>) -> Result<Option<Duration>> {
    match minutes.unwrap_or(MIGRATION_MINUTES_DEFAULT) {
        minutes @ 1..=MIGRATION_MINUTES_MAX => {
            Ok(on.then(|| Duration::from_secs(u64::from(minutes) * 60)))
        }
        _ => Err(Error::invalid(format!("`ttl_minutes`: must be 1 to {MIGRATION_MINUTES_MAX}"))),
    }
}
