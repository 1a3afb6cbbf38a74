//! An app's record with its numbers, from the live state or from storage: describing an app wakes
//! nothing.

use std::{collections::BTreeMap, sync::Arc};

use rookery_domain::{Error, Result, app::AppRecord, manifest::Manifest};
use rookery_storage::{
    apps::{self, CollectionCounts},
    commit::Totals,
    versions,
};

use super::{Control, Created, Shown};
use crate::{
    app::{birth::read_manifest, root::Root},
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
    #[must_use]
    pub fn of_root(root: &Root) -> Self {
        Self {
            record: root.record.clone(),
            dormant: false,
            collections: root.collection_counts(),
            totals: root.totals,
        }
    }

    /// What its record says of it.
    #[must_use]
    pub fn shown(&self) -> Shown {
        Shown::of(self.record.status, self.dormant)
    }
}

impl Control {
    /// The manifest of an app's current version. Wakes nothing.
    ///
    /// # Errors
    /// As [`Control::detail`].
    pub async fn manifest(&self, app: &AppHandle) -> Result<Arc<Manifest>> {
        if let Some(root) = app.peek() {
            return Ok(root.manifest.clone());
        }
        let record = app.record();
        let text = versions::manifest(&self.db, record.id, record.version).await?;
        read_manifest(&text.ok_or_else(Error::app_not_found)?).map(Arc::new)
    }

    /// Describes an app.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer; `app_not_found` when it has gone meanwhile.
    pub async fn detail(&self, app: &AppHandle) -> Result<AppDetail> {
        let dormant = app.state() != SlotState::Live;
        if let Some(root) = app.peek() {
            return Ok(AppDetail { dormant, ..AppDetail::of_root(&root) });
        }
        let record = app.record();
        let text = versions::manifest(&self.db, record.id, record.version)
            .await?
            .ok_or_else(Error::app_not_found)?;
        let (totals, _) =
            apps::head(&self.db, record.id).await?.ok_or_else(Error::app_not_found)?;
        let stored = apps::collection_counts(&self.db, record.id).await?;
        let mut counts: BTreeMap<Arc<str>, CollectionCounts> =
            stored.into_iter().map(|one| (one.name.clone(), one)).collect();
        let mut collections = Vec::new();
        for name in read_manifest(&text)?.collections.keys() {
            let none = || CollectionCounts::of_live(name.clone(), 0);
            collections.push(counts.remove(name).unwrap_or_else(none));
        }
        collections.extend(counts.into_values());
        Ok(AppDetail { record, dormant, collections, totals })
    }
}
