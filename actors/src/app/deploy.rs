//! Deploying a version over an app that has rows: what it would break, and making it the app's.
//! How the rows come over is in [`carry_over`](super::carry_over).
//!
//! The plan is made outside the actor (parsing, compiling); the gate is decided against the
//! newest rows, in the actor or, for a dry run, on a published root. Nothing is changed before
//! everything is known to fit.

use std::{collections::BTreeMap, sync::Arc};

use rookery_domain::{
    Error, ErrorCode, Result, Timestamp,
    app::{AppRecord, ShareToken},
    compat::{self, Break, Failing, LiveRows},
    manifest::{self, Collection, Manifest, SchemaSource, Visibility, Warning},
    retention,
    row::Row,
    schema::CompiledSchema,
};
use rookery_storage::{offload::Permit, versions::VersionAsset};

use super::{
    aside::Limit,
    carry_over::{CarriedOver, Unfit, UnfitRows, carry_over, unfit_rows},
    root::{CollectionState, Root, Withheld},
};

/// Schemas of custom events by type; a declared type without schema has `None`.
pub type EventSchemas = BTreeMap<Arc<str>, Option<Arc<CompiledSchema>>>;

/// Plans, over all apps, that hold detached rows at a time, two of an account at most: those of one may be
/// as large as an app. Other deploys wait.
pub(crate) const DETACHED_PERMITS: usize = 3;

/// How an app stood when somebody decided to deploy to it, by what a rehearsal showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// The version that was current.
    pub version: u32,
    /// Who reached it.
    pub visibility: Visibility,
}

impl Expected {
    /// How the app of `record` stands.
    #[must_use]
    pub fn of(record: &AppRecord) -> Self {
        Self { version: record.version, visibility: record.visibility }
    }

    /// # Errors
    /// `conflict` where the app of `record` stands otherwise.
    pub(crate) fn check(self, record: &AppRecord) -> Result<()> {
        let now = Self::of(record);
        if self == now {
            return Ok(());
        }
        let (before, after) = (self.visibility.as_str(), now.visibility.as_str());
        let message = format!(
            "the app was at version {} and {before} when this was decided, and is at version {} and {after} now",
            self.version, now.version
        );
        Err(Error::new(ErrorCode::Conflict, message))
    }
}

/// A version ready to be deployed: checked and compiled, but not yet held against the rows.
#[derive(Debug)]
pub struct DeployPlan {
    /// The version it was made from: what it carries over is that one's.
    pub base_version: u32,
    /// How the app has to stand, where the request depends on it.
    pub expected: Option<Expected>,
    /// The manifest.
    pub manifest: Arc<Manifest>,
    /// Its text.
    pub manifest_text: Arc<str>,
    /// The authored HTML.
    pub html: Arc<str>,
    /// The assets.
    pub assets: Arc<[VersionAsset]>,
    /// Compiled row schemas by collection.
    pub schemas: BTreeMap<Arc<str>, Arc<CompiledSchema>>,
    /// Compiled schemas of custom events by type.
    pub events: EventSchemas,
    /// The new visibility, where the request or the manifest names one.
    pub visibility: Option<Visibility>,
    /// Whether the request itself names it.
    pub asks_visibility: bool,
    /// The share token to use when this makes the app `link`.
    pub share: Option<ShareToken>,
    /// The new timezone.
    pub timezone: Option<Arc<str>>,
    /// Go on in spite of breaks.
    pub force: bool,
    /// Detached rows of the collections that the manifest declares.
    pub detached: DetachedRows,
    /// How collections stood when they were declared last that the base version does not declare.
    pub last_declared: BTreeMap<Arc<str>, Arc<Collection>>,
    /// Warnings that are known before the rows are looked at.
    pub warnings: Vec<Warning>,
}

/// Detached rows that a deploy may bring back, as storage had them.
#[derive(Debug, Default)]
pub struct DetachedRows {
    /// The rows by collection.
    pub by_collection: BTreeMap<Arc<str>, Vec<Arc<Row>>>,
    /// The permit to hold them, where there are any.
    pub permit: Option<Permit>,
}

/// What a deploy did, or would do.
#[derive(Debug, Clone, Default)]
pub struct DeployReport {
    /// The version's number.
    pub version: u32,
    /// What it breaks (empty unless forced or a dry run).
    pub breaks: Vec<Break>,
    /// Rows that were served and are not any more.
    pub detached: u64,
    /// Rows that were detached and are served again.
    pub reattached: u64,
    /// What it accepts, though it may not do what was meant.
    pub warnings: Vec<Warning>,
}

/// The rows of today, as the compatibility gate asks for them.
struct RowsToday<'a> {
    root: &'a Root,
    unfit: &'a UnfitRows,
}

impl LiveRows for RowsToday<'_> {
    fn count(&self, collection: &str) -> u64 {
        let coming_back = || self.root.withheld(collection).detached;
        self.root.live_rows(collection).unwrap_or_else(coming_back)
    }

    fn kept(&self, collection: &str) -> u64 {
        self.root.live_rows(collection).unwrap_or_default()
            + self.root.withheld(collection).detached
    }

    fn failing(&self, collection: &str, _: &SchemaSource) -> Failing {
        self.unfit.get(collection).map(Unfit::failing).unwrap_or_default()
    }
}

/// What deploying `plan` over `root` would do, without doing it, and the rows that it would serve.
///
/// # Errors
/// What `force` does not help against: `conflict`, `unique_backfill_conflict` (with the breaks beside
/// it), `unavailable` when it takes too long.
pub(crate) fn dry_run(
    root: &Root,
    plan: &DeployPlan,
    now: Timestamp,
) -> Result<(DeployReport, Vec<CollectionState>)> {
    let limit = Limit::of_deploy();
    let unfit = unfit_rows(root, plan, limit)?;
    let breaks = breaks_of(root, plan, &unfit)?;
    let carried = carry_over(root, plan, &unfit, limit, |_, _| true)
        .map_err(|error| compat::refused_beside(error, &breaks))?;
    Ok((report(root, plan, &carried, breaks, now), carried.collections))
}

/// What deploying `plan` does, to the deployer.
pub(super) fn report(
    root: &Root,
    plan: &DeployPlan,
    carried: &CarriedOver,
    breaks: Vec<Break>,
    now: Timestamp,
) -> DeployReport {
    let current = root.record.visibility;
    let moved = plan.visibility.filter(|new| !plan.asks_visibility && *new != current);
    let moved = moved.map(|new| Warning::visibility(current, new));
    let crowded_out = manifest::crowded_out(&carried.crowded_out);
    let outlived = outlived(root, &carried.collections, now);
    let of_rows = moved.into_iter().chain(crowded_out).chain(outlived);
    DeployReport {
        version: root.record.version + 1,
        breaks,
        detached: carried.detach.len() as u64,
        reattached: carried.reattach.len() as u64,
        warnings: plan.warnings.iter().cloned().chain(of_rows).collect(),
    }
}

/// What is to be said of the rows that pruning takes from `served` and would not have taken before.
fn outlived(
    root: &Root,
    served: &[CollectionState],
    now: Timestamp,
) -> impl Iterator<Item = Warning> {
    let due = move |state: &CollectionState| {
        let bounds = retention::in_force(&state.decl, &root.record.retention);
        let oldest_first = state.rows.iter().map(|row| row.created_at);
        retention::rows_due(bounds, now, state.rows.len() as u64, oldest_first)
    };
    served.iter().filter_map(move |state| {
        let (before, after) = (root.collection(&state.decl.name).map_or(0, due), due(state));
        (after > before).then(|| Warning::outlived(&state.decl.name, after))
    })
}

/// What `plan` breaks.
///
/// # Errors
/// `conflict`: an unrestricted app stays private.
pub(super) fn breaks_of(root: &Root, plan: &DeployPlan, unfit: &UnfitRows) -> Result<Vec<Break>> {
    let breaks = compat::breaks(&before(root, plan), &plan.manifest, &RowsToday { root, unfit });
    if root.record.unrestricted && plan.visibility.is_some_and(|v| v != Visibility::Private) {
        return Err(compat::refused_beside(unrestricted(), &breaks));
    }
    Ok(breaks)
}

/// The manifest that `plan` is held against: the one in force, and beside it the collections that
/// come back with rows, as they stood when they were declared last. Where no kept version tells,
/// only the owner could reach them.
fn before(root: &Root, plan: &DeployPlan) -> Manifest {
    let mut before = (*root.manifest).clone();
    for (name, decl) in &plan.manifest.collections {
        if before.collections.contains_key(name) || root.withheld(name) == Withheld::default() {
            continue;
        }
        let last = plan.last_declared.get(name).cloned();
        let last = last.unwrap_or_else(|| Arc::new(decl.for_the_owner_alone()));
        before.collections.insert(name.clone(), last);
    }
    before
}

/// `conflict`: an unrestricted app stays private.
pub(crate) fn unrestricted() -> Error {
    Error::new(
        ErrorCode::Conflict,
        "this app is unrestricted, so it must stay private: turn that off first",
    )
}
