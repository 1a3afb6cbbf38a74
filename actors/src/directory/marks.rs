//! What a human keeps of apps: favorites, and what it looked at last. Whether it still sees an app is
//! not known here.

use std::collections::HashSet;

use rookery_domain::{
    Result, Timestamp,
    id::{AppId, HumanId},
};
use rookery_storage::self_apps;

use super::{Directory, account::no_such_account};

impl Directory {
    /// Marks an app as a favorite. A second time changes nothing.
    ///
    /// # Errors
    /// `unauthorized`, when the account was closed; `unavailable`, `internal`.
    pub async fn add_favorite(&self, human: HumanId, app: AppId) -> Result<()> {
        let (db, now) = (&self.core.db, self.core.now());
        kept(self_apps::add_favorite(db, human, app, now).await?)
    }

    /// Takes the mark back. A second time changes nothing.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn remove_favorite(&self, human: HumanId, app: AppId) -> Result<()> {
        Ok(self_apps::remove_favorite(&self.core.db, human, app).await?)
    }

    /// The favorites of a human.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn favorites(&self, human: HumanId) -> Result<HashSet<AppId>> {
        Ok(self_apps::favorites(&self.core.db, human).await?)
    }

    /// Records that a human opened an app, now.
    ///
    /// # Errors
    /// As [`Self::add_favorite`].
    pub async fn record_view(&self, human: HumanId, app: AppId) -> Result<()> {
        let (db, now) = (&self.core.db, self.core.now());
        kept(self_apps::view(db, human, app, now).await?)
    }

    /// What a human looked at, the last first, as far as it is remembered.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn views(&self, human: HumanId) -> Result<Vec<(AppId, Timestamp)>> {
        Ok(self_apps::views(&self.core.db, human).await?)
    }
}

/// An account that was closed since the request came in keeps nothing.
fn kept(is_kept: bool) -> Result<()> {
    if is_kept { Ok(()) } else { Err(no_such_account()) }
}
