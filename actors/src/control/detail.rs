//! An app's record with its numbers, from the live state or from storage: describing an app wakes
//! nothing.

use std::{hash::Hash, sync::Arc};

use rookery_domain::{
    Error, Result,
    access::{Abilities, Ability},
    app::AppRecord,
    manifest::Manifest,
    members::Member,
};
use rookery_storage::{
    apps::{self, AppHead, CollectionCounts},
    commit::Totals,
    versions,
};

use super::{Control, Created, ShownStatus};
use crate::{
    app::{birth::read_manifest, root::Root, standing::of_member},
    registry::{AppHandle, SlotState},
};

/// Everything that an app's detail record shows.
#[derive(Debug, Clone)]
pub struct AppDetail {
    /// The record.
    pub record: Arc<AppRecord>,
    /// Whether no actor is running for it.
    pub dormant: bool,
    /// Declared collections, and removed ones that still have rows.
    pub collections: Vec<CollectionCounts>,
    /// What counts towards its quota.
    pub totals: Totals,
}

impl AppDetail {
    /// An app that was just made: nobody has woken it yet.
    #[must_use]
    pub fn of_created(created: &Created) -> Self {
        Self {
            record: created.record.clone(),
            dormant: true,
            collections: created.collections.clone(),
            totals: created.totals,
        }
    }

    /// An app as its actor sees it, or has published it.
    pub(super) fn of_root(root: &Root) -> Self {
        Self {
            record: root.record.clone(),
            dormant: false,
            collections: root.collection_counts().collect(),
            totals: root.totals,
        }
    }

    /// An app as its actor has published it, which may be falling asleep.
    pub(super) fn of_published(app: &AppHandle, root: &Root) -> Self {
        Self { dormant: is_dormant(app), ..Self::of_root(root) }
    }

    /// An app of which nothing is in memory but its record.
    pub(super) fn of_stored(app: &AppHandle, head: AppHead) -> Self {
        let AppHead { totals, collections, .. } = head;
        Self { record: app.record(), dormant: is_dormant(app), collections, totals }
    }

    /// What its record says of it.
    #[must_use]
    pub fn shown(&self) -> ShownStatus {
        ShownStatus::of(self.record.status, self.dormant)
    }
}

/// A collection as a member of the app is shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedCollection {
    /// Its name.
    pub name: Arc<str>,
    /// Live rows, where the member may count them.
    pub live: Option<u64>,
}

/// Whether no actor is running for it.
pub(super) fn is_dormant(app: &AppHandle) -> bool {
    app.state() != SlotState::Live
}

impl Control {
    /// The manifest of an app's current version. Wakes nothing.
    ///
    /// # Errors
    /// As [`Control::detail`].
    pub async fn manifest(&self, app: &AppHandle) -> Result<Arc<Manifest>> {
        self.manifest_for(app.record().owner, app).await
    }

    /// The same, in the turn of `whose` where it has to be read.
    async fn manifest_for(&self, whose: impl Hash, app: &AppHandle) -> Result<Arc<Manifest>> {
        if let Some(root) = app.peek() {
            return Ok(root.manifest.clone());
        }
        let record = app.record();
        let text = versions::manifest(&self.db, record.id, record.version).await?;
        let text = text.ok_or_else(Error::app_not_found)?;
        self.read_manifest(whose, text).await.map(Arc::new)
    }

    /// Reads a stored manifest beside the event loop, in the turn of `whose`: a large one takes
    /// milliseconds, and somebody may ask for those of many apps.
    ///
    /// # Errors
    /// `unavailable` when very many wait; `internal`, when the text is not what was admitted.
    pub(super) async fn read_manifest(&self, whose: impl Hash, text: Arc<str>) -> Result<Manifest> {
        self.env().compiling.run(whose, move || read_manifest(&text)).await?
    }

    /// Of an app's collections those in which `member` may do something. Wakes nothing.
    ///
    /// # Errors
    /// As [`Control::detail`].
    pub async fn shared_collections(
        &self,
        app: &AppHandle,
        detail: &AppDetail,
        member: &Member,
    ) -> Result<Vec<SharedCollection>> {
        if detail.collections.is_empty() {
            return Ok(Vec::new());
        }
        // Nor does the owner of a shared app choose how long its members wait for their lists.
        let manifest = self.manifest_for(member.human, app).await?;
        let standing = of_member(&manifest, member);
        let shared = |counts: &CollectionCounts| {
            let declared = manifest.collections.get(&counts.name)?;
            let may = Abilities::of(&standing, declared);
            let live = (may.count == Ability::All).then_some(counts.live);
            (!may.are_none()).then(|| SharedCollection { name: counts.name.clone(), live })
        };
        Ok(detail.collections.iter().filter_map(shared).collect())
    }

    /// Describes an app.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer; `app_not_found` when it has gone meanwhile.
    pub async fn detail(&self, app: &AppHandle) -> Result<AppDetail> {
        let head = match app.peek() {
            Some(root) => return Ok(AppDetail::of_published(app, &root)),
            None => apps::head(&self.db, app.id()).await?,
        };
        Ok(AppDetail::of_stored(app, head.ok_or_else(Error::app_not_found)?))
    }
}
