//! Retention (part 2.2, contract part 5): which rows of a collection have outlived its bounds.
//! The author's manifest gives a default, the owner overrides it per axis. What is not here: the
//! pruning itself, which soft-deletes as `system`.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    Error, Result, Timestamp,
    field_patch::FieldPatch,
    manifest::{Collection, Manifest, Retention},
    time::DAY_S,
};

/// The longest age bound, in days: a hundred years.
pub const MAX_AGE_DAYS_MAX: u32 = 36_500;
/// The largest row bound.
pub const MAX_ROWS_MAX: u64 = 1_000_000_000;

/// Seconds between two prunings; they run on whole multiples of it since the Unix epoch.
pub const SWEEP_EVERY_S: i64 = 600;

/// The bounds in force: on each axis the owner's, else the author's.
#[must_use]
pub fn effective(author: Retention, owner: Retention) -> Retention {
    Retention {
        max_age_days: owner.max_age_days.or(author.max_age_days),
        max_rows: owner.max_rows.or(author.max_rows),
    }
}

/// The bounds in force in a collection, given the owner's overrides of its app.
#[must_use]
pub fn in_force(decl: &Collection, overrides: &BTreeMap<String, Retention>) -> Retention {
    effective(decl.retention, overrides.get(&*decl.name).copied().unwrap_or_default())
}

/// The collections that have bounds, given the owner's overrides of their app.
pub fn bounds<'a>(
    manifest: &'a Manifest,
    overrides: &'a BTreeMap<String, Retention>,
) -> impl Iterator<Item = (&'a str, Retention)> {
    manifest.collections.iter().filter_map(|(name, decl)| {
        let bounds = in_force(decl, overrides);
        (bounds != Retention::default()).then_some((&**name, bounds))
    })
}

/// Whether any collection has bounds.
#[must_use]
pub fn is_bounded(manifest: &Manifest, overrides: &BTreeMap<String, Retention>) -> bool {
    bounds(manifest, overrides).next().is_some()
}

/// `invalid_request` that names the axis out of bounds.
fn check(bounds: Retention) -> Result<()> {
    if bounds.max_age_days.is_some_and(|days| !(1..=MAX_AGE_DAYS_MAX).contains(&days)) {
        let message = format!("`max_age_days` must be from 1 to {MAX_AGE_DAYS_MAX}");
        return Err(Error::invalid(message));
    }
    if bounds.max_rows.is_some_and(|rows| !(1..=MAX_ROWS_MAX).contains(&rows)) {
        return Err(Error::invalid(format!("`max_rows` must be from 1 to {MAX_ROWS_MAX}")));
    }
    Ok(())
}

/// What a retention `PATCH` says of the owner's override.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionPatch {
    /// The age axis, in days.
    pub max_age_days: FieldPatch<u32>,
    /// The row axis.
    pub max_rows: FieldPatch<u64>,
}

impl RetentionPatch {
    /// The owner's override after this patch.
    ///
    /// # Errors
    /// `invalid_request` that names the axis out of bounds.
    pub fn apply(self, owner: Retention) -> Result<Retention> {
        let patched = Retention {
            max_age_days: self.max_age_days.apply(owner.max_age_days),
            max_rows: self.max_rows.apply(owner.max_rows),
        };
        check(patched)?;
        Ok(patched)
    }
}

/// How many live rows are beyond `bounds` at `now`: the oldest ones by `created_at`, which
/// `oldest_first` gives of the `live` rows in order. It is read no further than needed; both axes
/// prune from the old end, so the number says which rows.
#[must_use]
pub fn rows_due(
    bounds: Retention,
    now: Timestamp,
    live: u64,
    oldest_first: impl IntoIterator<Item = Timestamp>,
) -> u64 {
    let too_many = bounds.max_rows.map_or(0, |max| live.saturating_sub(max));
    let too_old = bounds.max_age_days.map_or(0, |days| {
        let outlived = |created_at: &Timestamp| expiry(*created_at, days) <= now;
        oldest_first.into_iter().take_while(outlived).count() as u64
    });
    too_many.max(too_old).min(live)
}

/// When the oldest row outlives the age axis; `None` without that axis or without rows. The row
/// axis needs no clock: it is over its bound only right after a write.
#[must_use]
pub fn next_expiry(bounds: Retention, oldest: Option<Timestamp>) -> Option<Timestamp> {
    Some(expiry(oldest?, bounds.max_age_days?))
}

/// When pruning will next find a row to take, as far as is known now: the first sweep after `now`
/// when `due` rows are beyond the bounds already, else the first one after the oldest row outlives
/// the age axis. `None` when nothing is going to be pruned.
#[must_use]
pub fn next_run(
    bounds: Retention,
    now: Timestamp,
    due: u64,
    oldest: Option<Timestamp>,
) -> Option<Timestamp> {
    let ripe = if due > 0 { now } else { next_expiry(bounds, oldest)?.max(now) };
    Some(next_sweep(ripe))
}

/// Time from `now` to the next sweep.
#[must_use]
pub const fn until_next_sweep(now: Timestamp) -> Duration {
    Duration::from_micros(next_sweep(now).0.abs_diff(now.0))
}

/// The first sweep after `at`.
const fn next_sweep(at: Timestamp) -> Timestamp {
    let every = SWEEP_EVERY_S * crate::time::MICROS_PER_SECOND;
    Timestamp((at.0.div_euclid(every) + 1).saturating_mul(every))
}

const fn expiry(created_at: Timestamp, days: u32) -> Timestamp {
    created_at.plus_seconds(days as i64 * DAY_S)
}
