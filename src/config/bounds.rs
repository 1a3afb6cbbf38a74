//! How small and how large each setting that is a number may be. They are looked at before anything
//! holds one, so a number is refused in the same words whether it fits into what would hold it or
//! not. What two settings together may be is told in [`check`](super::check).

use std::ops::RangeInclusive;

use figment::{Figment, value::Value};
use rookery_domain::{limits::BATCH_ROWS_MAX, time::DAY_S};

use super::{ConfigError, source::explained};

/// Largest accepted count. Every integer that counts are kept in holds it.
const COUNT_MAX: u64 = 1_000_000_000;
/// Largest accepted number of bytes: 1 PiB.
const BYTES_MAX: u64 = 1 << 50;
/// Longest accepted number of days: a century. Instants so far from now can still be written.
const DAYS_MAX: u64 = 36_500;

/// At least one.
const COUNT: RangeInclusive<u64> = 1..=COUNT_MAX;
/// May be none at all.
const COUNT_OR_NONE: RangeInclusive<u64> = 0..=COUNT_MAX;
const BYTES: RangeInclusive<u64> = 1..=BYTES_MAX;
const BYTES_OR_NONE: RangeInclusive<u64> = 0..=BYTES_MAX;
const DAYS: RangeInclusive<u64> = 1..=DAYS_MAX;
const DAYS_OR_NONE: RangeInclusive<u64> = 0..=DAYS_MAX;
/// Seconds that something may take.
const TIMEOUT: RangeInclusive<u64> = 1..=3_600;
/// So many in a second, or a minute.
const RATE: RangeInclusive<u64> = 1..=u32::MAX as u64;

/// The bounds, by the setting's name.
const BOUNDS: &[(&str, RangeInclusive<u64>)] = &[
    ("server.connections_max", COUNT),
    ("server.header_timeout_s", TIMEOUT),
    ("server.idle_timeout_s", TIMEOUT),
    ("server.body_timeout_s", TIMEOUT),
    ("server.bodies_bytes_max", BYTES),
    ("server.write_timeout_s", TIMEOUT),
    ("server.drain_timeout_s", TIMEOUT),
    ("apps.mailbox_limit", COUNT),
    ("apps.idle_after_s", 1..=DAYS_MAX * DAY_S.cast_unsigned()),
    ("apps.memory_budget_bytes", BYTES),
    ("feed.waiters_per_ip_max", COUNT),
    ("feed.retention_events", COUNT),
    ("feed.retention_days", DAYS),
    ("feed.retention_bytes", BYTES),
    ("meters.rollup_interval_s", TIMEOUT),
    ("meters.retention_days", DAYS),
    ("limits.max_apps_per_account", COUNT_OR_NONE),
    ("limits.max_domains_per_account", COUNT_OR_NONE),
    ("limits.max_agents_per_account", COUNT),
    ("limits.max_rows_per_account", COUNT_OR_NONE),
    ("limits.max_rows_per_app", COUNT_OR_NONE),
    ("limits.max_storage_bytes_per_app", BYTES_OR_NONE),
    ("limits.max_fresh_visitors_per_app", COUNT),
    ("limits.row_bytes_max", BYTES),
    ("limits.max_collections_per_app", COUNT_OR_NONE),
    ("limits.max_embeds", COUNT_OR_NONE),
    ("limits.max_external_hosts", COUNT_OR_NONE),
    ("limits.max_manifest_bytes", BYTES_OR_NONE),
    ("limits.max_schema_bytes", BYTES_OR_NONE),
    ("limits.max_event_data_bytes", BYTES_OR_NONE),
    ("limits.html_bytes_max", BYTES_OR_NONE),
    ("limits.asset_files_max", COUNT_OR_NONE),
    ("limits.asset_bytes_max", BYTES_OR_NONE),
    ("limits.deployed_bytes_per_account", BYTES_OR_NONE),
    ("limits.batch_rows_max", 1..=BATCH_ROWS_MAX as u64),
    ("limits.versions_kept", COUNT),
    ("limits.deleted_app_retention_days", DAYS_OR_NONE),
    ("limits.deleted_row_retention_days", DAYS_OR_NONE),
    ("rate_limit.per_minute", RATE),
    ("rate_limit.burst", RATE),
    // 128 MiB of them.
    ("rate_limit.counters", 1..=1 << 24),
    ("mail.timeout_s", TIMEOUT),
    ("mail.sign_in_links_per_hour", COUNT_OR_NONE),
    ("mail.sign_in_links_per_network", COUNT_OR_NONE),
    ("mail.notices_per_hour", COUNT_OR_NONE),
    ("mail.notices_per_account", COUNT_OR_NONE),
    ("screenshot.concurrency", COUNT),
    ("screenshot.timeout_s", TIMEOUT),
    // Without any, failures alone are logged.
    ("log.requests_per_second_max", 0..=u32::MAX as u64),
    ("traces.requests_per_second_max", RATE),
];

/// Whether each number keeps to its bounds. What is no number is left to whoever reads the settings.
pub(super) fn check(figment: &Figment) -> Result<(), ConfigError> {
    for (setting, bounds) in BOUNDS {
        let Ok(Value::Num(_, number)) = figment.find_value(setting) else { continue };
        // The file's are signed.
        let signed = || number.to_i128().and_then(|number| u128::try_from(number).ok());
        let Some(number) = number.to_u128().or_else(signed) else { continue };
        let (least, most) = (u128::from(*bounds.start()), u128::from(*bounds.end()));
        let what = if number < least {
            format!("must be at least {least}")
        } else if number > most {
            format!("must be at most {most}")
        } else {
            continue;
        };
        return Err(explained(setting, &what, figment.find_metadata(setting)));
    }
    Ok(())
}
