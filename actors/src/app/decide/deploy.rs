//! Deploying a version: the gate, decided against the newest rows, and what changes when it is passed.
//! What a plan breaks and which rows come over is told in [`deploy`](crate::app::deploy) and
//! [`carry_over`](crate::app::carry_over), for dry runs as well.

use std::sync::Arc;

use rookery_domain::{
    Error, Result, compat,
    event::{EventType, RowChange},
    manifest::{Collection, Manifest},
};
use rookery_storage::{
    commit::{AppWrite, RowState, RowWrite},
    versions::NewVersion,
};
use serde_json::json;

use super::Decision;
use crate::app::{
    aside::Limit,
    carry_over::{CarriedOver, carry_over, unfit_rows},
    deploy::{DeployPlan, DeployReport, breaks_of, report},
    private::TombKind,
    root::{Root, Withheld},
    rows::Digest,
    working::Undo,
};

impl Decision<'_> {
    /// Deploys `plan`, or refuses it and changes nothing.
    pub(super) fn deploy(&mut self, plan: &DeployPlan) -> Result<DeployReport> {
        let root = &self.working.root;
        if root.record.version != plan.base_version {
            return Err(Error::unavailable("another version was deployed meanwhile"));
        }
        if let Some(expected) = plan.expected {
            expected.check(&root.record)?;
        }
        let limit = Limit::of_deploy();
        let unfit = unfit_rows(root, plan, limit)?;
        let breaks = breaks_of(root, plan, &unfit)?;
        if !breaks.is_empty() && !plan.force {
            return Err(compat::refusal(&breaks));
        }
        let carried = carry_over(root, plan, &unfit, limit, |collection, row| {
            self.working
                .tomb(collection, Digest::of(row.key()))
                .is_some_and(|tomb| tomb.kind == TombKind::Detached && tomb.version == row.version)
        })?;
        let report = report(root, plan, &carried, breaks, self.now);
        self.serve(plan, carried);
        Ok(report)
    }

    /// Serves the plan's collections from here on, with the rows that were carried over.
    fn serve(&mut self, plan: &DeployPlan, carried: CarriedOver) {
        let stamp = self.stamp();
        let working = &mut *self.working;
        let reads_differ = reads_differ(&working.root, &plan.manifest);
        let collections = std::mem::replace(&mut working.private.collections, carried.private);
        let events = std::mem::replace(&mut working.private.events, plan.events.clone());
        working.open.journal.push(Undo::Collections(Box::new((collections, events))));
        working.root.manifest = plan.manifest.clone();
        working.root.declared_bytes = working.private.declared_bytes(&plan.manifest_text);
        working.root.collections = carried.collections;
        for (collection, row) in carried.detach {
            working.count_gone(&row);
            // Whoever follows the feed by version hears of its going.
            let left = Arc::new(row.next_version(row.updated_at));
            working.bury(&collection, left.clone(), RowState::Detached);
            working.emit_row(EventType::RowDeleted, stamp, RowChange::new(collection, left));
        }
        for (collection, row) in carried.reattach {
            working.drop_tomb(&collection, Digest::of(row.key()));
            working.count_live(&row);
            let change = RowChange::new(collection.clone(), row.clone());
            working.emit_row(EventType::RowRestored, stamp, change);
            working.open.write_row(RowWrite { collection, row, state: RowState::Live });
        }
        let mut record = (*working.root.record).clone();
        record.version += 1;
        // What the owner set for a collection goes with it, unless rows of it wait to come back.
        let root = &working.root;
        record.retention.retain(|name, _| {
            plan.manifest.collections.contains_key(&**name)
                || root.withheld(name) != Withheld::default()
        });
        let opens = plan.visibility.is_some_and(|to| record.visibility.admits_less_than(to));
        if opens || reads_differ {
            // The event of this deploy, which is the next one.
            record.opened_seq = working.root.seq + 1;
        }
        if let Some(visibility) = plan.visibility {
            record.set_visibility(visibility, plan.share.clone());
        }
        if let Some(timezone) = &plan.timezone {
            record.timezone = timezone.clone();
        }
        let number = record.version;
        let version = NewVersion {
            number,
            html: plan.html.clone(),
            manifest: plan.manifest_text.clone(),
            assets: plan.assets.clone(),
            by: self.standing.principal,
            created_at: self.now,
            drop_through: number.saturating_sub(self.env.limits.versions_kept as u32),
        };
        let write = AppWrite { version: Some(version), ..AppWrite::of(record) };
        let data = json!({"version": number}).to_string().into();
        self.rewrite_with(write, EventType::AppDeployed, Some(data));
    }
}

/// Whether others than before may read rows that there are or were.
fn reads_differ(before: &Root, after: &Manifest) -> bool {
    let by_others = |(name, now): (&Arc<str>, &Arc<Collection>)| {
        let was = before.manifest.collections.get(name);
        match was {
            Some(was) => was.permissions.read != now.permissions.read,
            // Rows of it may wait to come back, and of those that were destroyed the events tell.
            None => true,
        }
    };
    // A role that is not declared gives nothing.
    !before.manifest.roles.keys().eq(after.roles.keys()) || after.collections.iter().any(by_others)
}
