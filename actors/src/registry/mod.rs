//! The registry: where every app lives. It alone knows whether an app has an actor now, and
//! brings it up when somebody needs it.
//!
//! Reading an app's record wakes nothing. What is not here: the rules of an app (`app`), and what
//! spans apps and accounts (`control`).

pub(crate) mod counting;
mod handle;
pub(crate) mod history;
pub(crate) mod shards;
pub(crate) mod slot;
mod stage;
pub(crate) mod use_clock;
mod wake;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::RwLock;
use rookery_domain::{
    Error, ErrorCode, Result,
    app::{AppRecord, AppStatus},
    id::AppId,
};
use rookery_storage::offload::Offload;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::env::Env;
pub use handle::{AppHandle, Observation};
use shards::Shards;
use slot::Slot;
pub use stage::SlotState;

/// Parts of the registry, so that look-ups of different apps rarely meet.
const PARTS: usize = 16;

/// All apps of this process. Cheap to clone.
#[derive(Clone)]
pub struct Apps {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) env: Arc<Env>,
    parts: [RwLock<HashMap<AppId, Arc<Slot>>>; PARTS],
    slugs: RwLock<HashMap<Arc<str>, AppId>>,
    pub(crate) shards: Arc<Shards>,
    /// For whoever brings an app up, which is in memory as it is loaded.
    wakes: Offload,
    inflight_bytes: Arc<Semaphore>,
    incarnations: AtomicU64,
    /// Cancelled when no new work is taken any more; waiting polls end then.
    pub(crate) stopping: CancellationToken,
}

impl Apps {
    pub(crate) fn new(env: Arc<Env>, shards: Arc<Shards>) -> Self {
        let wakes = Offload::with_permits(env.options.wakes_max, env.options.request_timeout);
        let inflight_bytes = Arc::new(Semaphore::new(env.options.inflight_bytes_max));
        Self {
            inner: Arc::new(Inner {
                env,
                parts: Default::default(),
                slugs: RwLock::default(),
                shards,
                wakes,
                inflight_bytes,
                incarnations: AtomicU64::new(1),
                stopping: CancellationToken::new(),
            }),
        }
    }

    /// The app with this id or slug, whatever its status, but for one that only waits for the sweeper.
    /// Wakes nothing.
    ///
    /// # Errors
    /// `app_not_found`; `unavailable` when storage does not answer.
    pub async fn find(&self, id_or_slug: &str) -> Result<AppHandle> {
        let app = self.find_until_destroyed(id_or_slug).await?;
        if app.record().is_over(self.inner.env.clock.now()) {
            return Err(Error::app_not_found());
        }
        Ok(app)
    }

    /// As [`Apps::find`], one that waits for the sweeper included.
    ///
    /// # Errors
    /// As [`Apps::find`].
    pub(crate) async fn find_until_destroyed(&self, id_or_slug: &str) -> Result<AppHandle> {
        if let Ok(id) = id_or_slug.parse::<AppId>() {
            return self.by_id(id).await;
        }
        let known = self.inner.slugs.read().get(id_or_slug).copied();
        if let Some(id) = known {
            match self.by_id(id).await {
                // This one is destroyed; another one may have the slug by now.
                Err(error) if error.code == ErrorCode::AppNotFound => self.unlink(id_or_slug, id),
                found => return found,
            }
        }
        // What cannot be a slug is not asked of storage.
        if rookery_domain::slug::check(id_or_slug).is_err() {
            return Err(Error::app_not_found());
        }
        let record = self.inner.env.store.record_by_slug(id_or_slug).await?;
        self.adopt(record.ok_or_else(Error::app_not_found)?).await
    }

    /// The app with this id.
    ///
    /// # Errors
    /// As [`Apps::find`].
    pub async fn by_id(&self, id: AppId) -> Result<AppHandle> {
        let known = self.part(id).read().get(&id).cloned();
        if let Some(slot) = known {
            return self.present(slot).await;
        }
        let record = self.inner.env.store.record(id).await?;
        self.adopt(record.ok_or_else(Error::app_not_found)?).await
    }

    /// The handle of a stored record; adds a dormant slot where there is none. A slot that exists is
    /// newer than any record, unless the outcome of its last commit is unknown.
    ///
    /// To be called right after the record was read: an app that is destroyed in between would come
    /// back, until somebody wakes it.
    ///
    /// # Errors
    /// `app_not_found` for one that is being destroyed; `unavailable` when storage does not answer.
    pub async fn adopt(&self, record: AppRecord) -> Result<AppHandle> {
        if record.status == AppStatus::Purging {
            return Err(Error::app_not_found());
        }
        let (id, slug) = (record.id, record.slug.clone());
        let env = &self.inner.env;
        let limit = env.options.mailbox_limit;
        let slot = self
            .part(id)
            .write()
            .entry(id)
            .or_insert_with(|| {
                let record = Arc::new(record);
                Arc::new(Slot::new(record, limit, env.observer.clone(), env.started))
            })
            .clone();
        self.inner.slugs.write().insert(slug, id);
        self.present(slot).await
    }

    /// [`Self::adopt`] for one of a list; `None` when it was purged since that was read.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub(crate) async fn adopt_listed(&self, record: AppRecord) -> Result<Option<AppHandle>> {
        match self.adopt(record).await {
            Err(error) if error.code == ErrorCode::AppNotFound => Ok(None),
            adopted => adopted.map(Some),
        }
    }

    /// Forgets an app that is destroyed in storage too.
    pub(crate) fn forget(&self, id: AppId) {
        let slot = self.part(id).write().remove(&id);
        if let Some(slot) = slot {
            slot.destroy();
            self.unlink(&slot.record.load().slug, id);
        }
    }

    /// Forgets the places of dormant apps, and of those that were not found, that nobody has asked for
    /// within `idle`: whoever asks next reads the record anew.
    pub(crate) fn forget_dormant(&self, idle: Duration) {
        for part in &self.inner.parts {
            let mut forgotten = Vec::new();
            part.write().retain(|id, slot| {
                slot.end_backoff();
                // Nobody else holds it, and nobody gets it while the part is locked.
                let forgets = Arc::strong_count(slot) == 1 && slot.is_forgettable(idle);
                if forgets {
                    forgotten.push((slot.record.load().slug.clone(), *id));
                }
                !forgets
            });
            for (slug, id) in forgotten {
                self.unlink(&slug, id);
            }
        }
    }

    /// Stops `slug` from leading to the app; a new app may have taken it already.
    fn unlink(&self, slug: &str, id: AppId) {
        let mut slugs = self.inner.slugs.write();
        if slugs.get(slug) == Some(&id) {
            slugs.remove(slug);
        }
    }

    /// The slot of an app that somebody has asked for lately.
    pub(crate) fn known(&self, id: AppId) -> Option<Arc<Slot>> {
        self.part(id).read().get(&id).cloned()
    }

    /// How many apps are known and live, without walking them.
    #[must_use]
    pub fn counts(&self) -> AppCounts {
        AppCounts {
            known: self.inner.parts.iter().map(|part| part.read().len()).sum(),
            live: self.inner.shards.sizes().iter().sum(),
        }
    }

    /// Ends waiting polls; returns when what was admitted has been answered, or `within` has passed
    /// (then false). Nothing is admitted after that.
    pub(crate) async fn drain(&self, within: Duration) -> bool {
        self.inner.stopping.cancel();
        let all = u32::try_from(self.inner.env.options.inflight_bytes_max).unwrap_or(u32::MAX);
        // Every admitted request holds a share of these until it is answered.
        let idle = self.inner.inflight_bytes.acquire_many(all);
        let is_idle = tokio::time::timeout(within, idle).await.is_ok();
        self.inner.inflight_bytes.close();
        is_idle
    }

    /// Whether the process is about to end: no poll waits, and long work ends early.
    pub(crate) fn is_stopping(&self) -> bool {
        self.inner.stopping.is_cancelled()
    }

    pub(crate) fn handle(&self, slot: Arc<Slot>) -> AppHandle {
        AppHandle { apps: self.clone(), slot, from_trash: false }
    }

    /// The handle of the slot's app, once the outcome of its last commit is known.
    async fn present(&self, slot: Arc<Slot>) -> Result<AppHandle> {
        if slot.unresolved_commit().is_some() {
            wake::resolve_commit(self, &slot).await?;
        }
        if slot.record.load().status == AppStatus::Purging || slot.is_gone() {
            return Err(Error::app_not_found());
        }
        Ok(self.handle(slot))
    }

    fn part(&self, id: AppId) -> &RwLock<HashMap<AppId, Arc<Slot>>> {
        &self.inner.parts[id.part_of(PARTS)]
    }

    pub(crate) fn next_incarnation(&self) -> u64 {
        self.inner.incarnations.fetch_add(1, Ordering::Relaxed)
    }
}

/// Apps in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppCounts {
    /// Apps somebody has asked for lately.
    pub known: usize,
    /// Apps with an actor.
    pub live: usize,
}
