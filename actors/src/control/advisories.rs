//! The exposure report: who can do what to which collection, with evidence from the real rows,
//! worst first. It wakes no app: a live one is read from its published state, a dormant one from
//! storage; and it is made once for each (version, seq, visibility).

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use rookery_domain::{
    Result,
    advisory::{Difference, Evidence, Report},
    app::{AppRecord, AppStatus},
    id::{AppId, HumanId},
    json::EMPTY_OBJECT,
    manifest::{Manifest, Visibility},
    row::Row,
};
use rookery_storage::{
    apps::{self, AppHead, CollectionCounts},
    versions,
};
use serde_json::Value;

use super::{AppList, Control, ListedApp};
use crate::{
    app::{
        deploy::DeployPlan,
        root::{CollectionState, Root},
    },
    registry::AppHandle,
};

/// Reports kept; the whole cache is dropped when there are more.
const REPORTS_MAX: usize = 4_096;
/// Rows of a collection that are looked at.
pub(super) const SAMPLE_ROWS_MAX: u32 = 200;

/// The report on one app.
#[derive(Debug, Clone)]
pub struct AppAdvisories {
    /// The app.
    pub record: Arc<AppRecord>,
    /// The findings, worst first.
    pub report: Arc<Report>,
}

/// Reports by app, with what they were made from.
#[derive(Default)]
pub(super) struct Cache(Mutex<BTreeMap<AppId, (Key, Arc<Report>)>>);

/// What a report depends on.
type Key = (u32, u64, Visibility);

impl Control {
    /// The reports on every app of `owner`, the most exposed first; none on one that is deleted or
    /// closed, which nobody reaches.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn advisories(&self, owner: HumanId) -> Result<Vec<AppAdvisories>> {
        // However many apps an account may have now.
        let (apps, _) = self.list(owner, AppList::default(), usize::MAX).await?;
        let mut all = Vec::with_capacity(apps.len());
        let open = |listed: &ListedApp| listed.app.record().status == AppStatus::Live;
        for ListedApp { app, head } in apps.into_iter().filter(open) {
            let report = self.report(&app, head).await?;
            all.push(AppAdvisories { record: app.record(), report });
        }
        all.sort_by_key(|app| Reverse(app.report.worst()));
        Ok(all)
    }

    /// The report on an app; `head` is what storage says that it holds.
    async fn report(&self, app: &AppHandle, head: AppHead) -> Result<Arc<Report>> {
        let record = app.record();
        let root = app.peek();
        let seq = root.as_ref().map_or(head.seq, |root| root.seq);
        let key = (record.version, seq, record.visibility);
        if let Some((made_from, report)) = self.advisories.0.lock().get(&record.id)
            && *made_from == key
        {
            return Ok(report.clone());
        }
        let report = match root {
            Some(root) => self.aside(&record, move || of_root(&root)).await?,
            None => self.of_storage(record.clone(), head.collections).await?,
        };
        let report = Arc::new(report);
        let mut cache = self.advisories.0.lock();
        if cache.len() >= REPORTS_MAX {
            cache.clear();
        }
        cache.insert(record.id, (key, report.clone()));
        Ok(report)
    }

    async fn of_storage(
        &self,
        record: Arc<AppRecord>,
        counts: Vec<CollectionCounts>,
    ) -> Result<Report> {
        let text = versions::manifest(&self.db, record.id, record.version).await?;
        let text = text.unwrap_or_else(|| EMPTY_OBJECT.into());
        let manifest = self.read_manifest(record.owner, text).await?;
        let mut evidence = BTreeMap::new();
        for count in counts.into_iter().filter(|count| count.live > 0) {
            let sample = apps::sample(&self.db, record.id, &count.name, SAMPLE_ROWS_MAX).await?;
            let gather = move || {
                let rows: Vec<Value> =
                    sample.iter().filter_map(|data| serde_json::from_str(data).ok()).collect();
                Evidence::gather(count.live, &rows)
            };
            evidence.insert(count.name.clone(), self.aside(&record, gather).await?);
        }
        Ok(Report::new(&manifest, record.visibility, &evidence))
    }

    /// Looks through rows beside the event loop: those of one app may be tens of MiB.
    async fn aside<T: Send + 'static>(
        &self,
        app: &AppRecord,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        self.env().scanning.run(app.owner, look).await
    }

    /// What `manifest` exposes, or would, with the rows that the app has now.
    ///
    /// # Errors
    /// Those of a read of the app.
    pub async fn report_on(&self, app: &AppHandle, manifest: Arc<Manifest>) -> Result<Report> {
        let root = app.root().await?;
        let record = root.record.clone();
        let visibility = record.visibility;
        let look = move || Report::new(&manifest, visibility, &evidence(&root.collections));
        self.aside(&record, look).await
    }
}

/// What deploying `plan` over `root` changes in the report; `served` are the rows that it serves.
pub(super) fn change(root: &Root, plan: &DeployPlan, served: &[CollectionState]) -> Difference {
    let visibility = plan.visibility.unwrap_or(root.record.visibility);
    let after = Report::new(&plan.manifest, visibility, &evidence(served));
    of_root(root).difference(&after)
}

fn of_root(root: &Root) -> Report {
    Report::new(&root.manifest, root.record.visibility, &evidence(&root.collections))
}

fn evidence(collections: &[CollectionState]) -> BTreeMap<Arc<str>, Evidence> {
    let value = |row: &Arc<Row>| serde_json::from_str::<Value>(row.data()).ok();
    let of_collection = |state: &CollectionState| {
        let sample: Vec<Value> =
            state.rows.iter().rev().take(SAMPLE_ROWS_MAX as usize).filter_map(value).collect();
        (state.decl.name.clone(), Evidence::gather(state.rows.len() as u64, &sample))
    };
    collections.iter().map(of_collection).collect()
}
