//! From memory to storage: what was counted is taken out of the slots, added to the stored sums in
//! batches, and put back where storage certainly did not take it.

use std::sync::{Arc, atomic::Ordering};

use rookery_domain::{
    Error, ErrorCode, Result,
    app::AppStatus,
    id::{AppId, HumanId},
    meters::{day_of_hour, hour_of, visit::visitor},
};
use rookery_storage::{
    Db, StorageError,
    meters::{
        self as stored,
        roll_up::{APPS_MAX, Tally},
    },
};

use super::PageView;
use crate::{
    Control,
    registry::{AppHandle, Apps, slot::Slot},
    task::to_the_end,
};

/// Most chunks of old meters that one round deletes.
const CHUNKS_MAX: usize = 200;

/// Whose meters are rolled up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Whose {
    /// All apps'.
    All,
    /// One app's.
    App(AppId),
    /// Those of an account's apps.
    Account(HumanId),
}

impl Whose {
    fn has(self, slot: &Slot) -> bool {
        match self {
            Self::All => true,
            Self::App(app) => slot.id == app,
            Self::Account(human) => slot.record.load().owner == human,
        }
    }
}

/// Rolls up what was counted until now; the number of apps.
///
/// # Errors
/// `unavailable` when storage does not answer: what was counted waits for the next time.
pub(crate) async fn roll_up(apps: &Apps, db: &Db, whose: Whose) -> Result<u64> {
    let collector = &apps.inner.env.collector;
    let _rolling = collector.rolling.lock().await;
    let listed: Vec<Arc<Slot>> = {
        let mut listed = collector.listed.lock();
        listed.extract_if(.., |slot| whose.has(slot)).collect()
    };
    let mut done = 0;
    let mut rest = listed.chunks(APPS_MAX);
    while let Some(chunk) = rest.next() {
        let (slots, tallies): (Vec<_>, Vec<_>) =
            chunk.iter().filter_map(|slot| Some((slot, tally(slot)?))).unzip();
        match stored::roll_up::roll_up(db, tallies.clone()).await {
            Ok(()) => done += tallies.len() as u64,
            // It may be stored: counting too little is better than counting twice.
            Err(error @ StorageError::MaybeCommitted(_)) => {
                collector.listed.lock().extend(rest.flatten().cloned());
                return Err(error.into());
            }
            Err(error) => {
                let mut listed = collector.listed.lock();
                for (slot, tally) in slots.into_iter().zip(tallies) {
                    if slot.usage.give_back(tally) {
                        listed.push(slot.clone());
                    }
                }
                listed.extend(rest.flatten().cloned());
                return Err(error.into());
            }
        }
    }
    Ok(done)
}

/// What a slot has counted; `None` when that is nothing. What a destroyed app has used since the last
/// roll-up is its account's all the same.
fn tally(slot: &Slot) -> Option<Tally> {
    let pending = slot.usage.take();
    if pending.hours.is_empty() && pending.views.is_empty() {
        return None;
    }
    let record = slot.record.load();
    let is_gone = record.status == AppStatus::Purging || slot.is_gone();
    Some(Tally { is_gone, ..pending.into_tally(slot.id, record.owner) })
}

/// Deletes what is too old, once a day; true when it is done for today. What tells visitors of a
/// past day apart goes after its last views have been rolled up.
///
/// # Errors
/// `unavailable` when storage does not answer.
pub(crate) async fn forget(apps: &Apps, db: &Db) -> Result<bool> {
    let env = &apps.inner.env;
    let forgotten = &apps.inner.env.collector.forgotten;
    let today = day_of_hour(hour_of(env.clock.now()));
    if forgotten.load(Ordering::Relaxed) == today {
        return Ok(true);
    }
    let days_kept = i32::try_from(env.options.meters_retention_days).unwrap_or(i32::MAX);
    let first = today.saturating_sub(days_kept);
    for _ in 0..CHUNKS_MAX {
        if apps.is_stopping() {
            break;
        }
        let more = stored::forget::visitors(db, today).await?;
        if !stored::forget::sums(db, first).await? && !more {
            forgotten.store(today, Ordering::Relaxed);
            return Ok(true);
        }
    }
    Ok(false)
}

impl Control {
    /// Counts a page view of `app`. Wakes nothing; the first one of a day fetches the salt.
    pub async fn count_view(&self, app: &AppHandle, view: PageView<'_>) {
        let hour = hour_of(self.env().clock.now());
        let salt = self.env().collector.salt.of(&self.db, day_of_hour(hour)).await;
        let visitor = salt.map(|salt| visitor(&salt, app.id(), view.network, view.user_agent));
        app.count_view(hour, visitor, view.source);
    }

    /// Rolls up before a report, so that it shows what was counted until now; where storage takes no
    /// writes, what was until then.
    ///
    /// # Errors
    /// `internal` where storage refuses what should have been fine.
    pub(crate) async fn bring_up_to_date(&self, whose: Whose) -> Result<()> {
        match self.roll_up(whose).await {
            // The counts go along with the next round.
            Err(error) if error.code == ErrorCode::Unavailable => Ok(()),
            other => other,
        }
    }

    /// Rolls up what was counted until now.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer, also in the middle of it: a report can be asked for
    /// again.
    pub(crate) async fn roll_up(&self, whose: Whose) -> Result<()> {
        let (apps, db) = (self.apps.clone(), self.db.clone());
        let rolled_up = to_the_end(async move { roll_up(&apps, &db, whose).await.map(drop) }).await;
        rolled_up.map_err(|error| match error.is_unknown_outcome() {
            true => Error::unavailable("usage could not be summed up").caused_by(error),
            false => error,
        })
    }
}
