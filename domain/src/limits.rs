//! The limits of part 8 and of contract part 9, in one place, with their defaults and units.

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorCode, Result};

/// Rows that the trash of any app has room for, however few the app may hold.
const TRASH_ROWS_MIN: u64 = 10_000;

/// Apps that the trash of any account has room for, however few the account may have.
const TRASH_APPS_MIN: u64 = 100;

/// Entries of a batch that a server can be set to take at most, so that a list of more is not kept while
/// it is read.
pub const BATCH_ROWS_MAX: usize = 100_000;

/// How many apps an account may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppsMax {
    /// Live and closed ones.
    pub kept: u64,
    /// Those in the trash; what is beyond counts among the others.
    pub trashed: u64,
}

/// Every numeric bound that a rule consults. All are settings; the defaults are the contract's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Apps of one account, those in the trash left out. `MAX_APPS_PER_ACCOUNT`.
    pub max_apps_per_account: u64,
    /// Agents of one account.
    pub max_agents_per_account: u64,
    /// Custom domains of one account's apps together.
    pub max_domains_per_account: u64,
    /// Rows over all apps of one account, those in the trash left out. `MAX_ROWS_PER_ACCOUNT`.
    pub max_rows_per_account: u64,
    /// Rows of one app: live and detached. `MAX_ROWS_PER_APP`.
    pub max_rows_per_app: u64,
    /// Bytes of their keys and data. `MAX_STORAGE_BYTES_PER_APP`.
    pub max_storage_bytes_per_app: u64,
    /// Bytes of one row's data.
    pub row_bytes_max: usize,
    /// Visitors of one app, of each way they come, that have left nothing there yet.
    pub max_fresh_visitors_per_app: u64,
    /// Collections one manifest may declare. `MAX_COLLECTIONS_PER_APP`.
    pub max_collections_per_app: usize,
    /// Entries of `embeds`. `MAX_EMBEDS`.
    pub max_embeds: usize,
    /// Entries of `externalHosts`. `MAX_EXTERNAL_HOSTS`.
    pub max_external_hosts: usize,
    /// Bytes of a manifest. `MAX_MANIFEST_BYTES`.
    pub max_manifest_bytes: usize,
    /// Bytes of one row schema under `$defs`. `MAX_SCHEMA_BYTES`.
    pub max_schema_bytes: usize,
    /// Bytes of a custom event's data. `MAX_EVENT_DATA_BYTES`.
    pub max_event_data_bytes: usize,
    /// Bytes of an app's HTML document.
    pub html_bytes_max: usize,
    /// Files among a version's assets.
    pub asset_files_max: usize,
    /// Bytes of a version's assets together.
    pub asset_bytes_max: usize,
    /// Bytes that an account deploys in ten minutes; 0 for any number.
    pub deployed_bytes_per_account: u64,
    /// Rows in one batch request.
    pub batch_rows_max: usize,
    /// Versions of an app that are kept.
    pub versions_kept: u64,
    /// Days that a deleted app can be restored.
    pub deleted_app_retention_days: u32,
    /// Days that a deleted row can be restored, where the trash has room for it.
    pub deleted_row_retention_days: u32,
    /// Whether `notify` may target `submitter`. `NOTIFY_EXTERNAL_ENABLED`.
    pub notify_external_enabled: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_apps_per_account: 100,
            max_agents_per_account: 1_000,
            max_domains_per_account: 50,
            max_rows_per_account: 50_000,
            max_rows_per_app: 1_000,
            max_storage_bytes_per_app: 32 << 20,
            row_bytes_max: 64 << 10,
            max_fresh_visitors_per_app: 10_000,
            max_collections_per_app: 50,
            max_embeds: 50,
            max_external_hosts: 50,
            max_manifest_bytes: 256 << 10,
            max_schema_bytes: 32 << 10,
            max_event_data_bytes: 16 << 10,
            html_bytes_max: 2 << 20,
            asset_files_max: 200,
            asset_bytes_max: 8 << 20,
            deployed_bytes_per_account: 512 << 20,
            batch_rows_max: 500,
            versions_kept: 20,
            deleted_app_retention_days: 30,
            deleted_row_retention_days: 30,
            notify_external_enabled: false,
        }
    }
}

impl Limits {
    /// How many apps an account may have: the trash has room for as many again, and for a hundred
    /// at least.
    #[must_use]
    pub fn apps_max(&self) -> AppsMax {
        let kept = self.max_apps_per_account;
        AppsMax { kept, trashed: kept.max(TRASH_APPS_MIN) }
    }

    /// Rows that the trash of an app has room for: as many as the app, and ten thousand at least.
    /// Beyond them the oldest leave before their time.
    #[must_use]
    pub fn trash_rows_max(&self) -> u64 {
        self.max_rows_per_app.max(TRASH_ROWS_MIN)
    }

    /// Bytes of keys and data that the trash of an app has room for: as many as the app.
    #[must_use]
    pub const fn trash_bytes_max(&self) -> u64 {
        self.max_storage_bytes_per_app
    }

    /// Checks the text of a row's data against the per-row cap.
    ///
    /// # Errors
    /// `payload_too_large`.
    pub fn check_row_data(&self, data: &str) -> Result<()> {
        within(data, self.row_bytes_max, "a row")
    }

    /// Checks the text of a custom event's data.
    ///
    /// # Errors
    /// `payload_too_large`.
    pub fn check_event_data(&self, data: &str) -> Result<()> {
        within(data, self.max_event_data_bytes, "an event")
    }
}

fn within(data: &str, max: usize, what: &str) -> Result<()> {
    if data.len() <= max {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::PayloadTooLarge,
        format!("`data` has {} bytes; {what} holds at most {max}", data.len()),
    ))
}
