//! The day's salt, with which visitors are told apart: fetched once a day, and never waited for long.
//! A page is shown whether or not storage answers; its view counts without a visitor then.

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwapOption;
use rand::RngCore as _;
use rookery_domain::meters::visit::SALT_BYTES;
use rookery_storage::{Db, meters as stored};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};
use tracing::warn;

/// How long a page waits for it.
const WAIT_MAX: Duration = Duration::from_millis(250);
/// Pause after a failed fetch.
const FAILED_FOR: Duration = Duration::from_secs(10);

type Salt = [u8; SALT_BYTES];

/// Today's salt, as soon as somebody needed it.
#[derive(Default)]
pub(super) struct DaySalt(Arc<Held>);

#[derive(Default)]
struct Held {
    /// With its day.
    salt: ArcSwapOption<(i32, Salt)>,
    /// When it could not be had; locked by whoever fetches it.
    failed: Arc<Mutex<Option<Instant>>>,
}

impl DaySalt {
    /// The salt of `day`, if it can be had at once or nearly so.
    pub(super) async fn of(&self, db: &Db, day: i32) -> Option<Salt> {
        match self.0.of(day) {
            Some(salt) => Some(salt),
            None => timeout(WAIT_MAX, Arc::clone(&self.0).fetch(db.clone(), day)).await.ok()?,
        }
    }
}

impl Held {
    fn of(&self, day: i32) -> Option<Salt> {
        self.salt.load().as_ref().filter(|salt| salt.0 == day).map(|salt| salt.1)
    }

    /// Fetches it, one for all who need it. It goes on when nobody waits any more.
    async fn fetch(self: Arc<Self>, db: Db, day: i32) -> Option<Salt> {
        let mut failed = Arc::clone(&self.failed).lock_owned().await;
        if let Some(salt) = self.of(day) {
            return Some(salt);
        }
        if failed.is_some_and(|at| at.elapsed() < FAILED_FOR) {
            return None;
        }
        let fetching = tokio::spawn(async move {
            let mut candidate = [0; SALT_BYTES];
            rand::rng().fill_bytes(&mut candidate);
            match stored::salt(&db, day, candidate).await {
                Ok(salt) => {
                    self.salt.store(Some(Arc::new((day, salt))));
                    Some(salt)
                }
                Err(error) => {
                    warn!(%error, "the day's salt is not to be had: views count without visitors");
                    *failed = Some(Instant::now());
                    None
                }
            }
        });
        fetching.await.ok()?
    }
}
