//! Deploying a version over an app that has rows: what would break, and how the rows come over.
//!
//! The plan is made outside the actor (parsing, compiling); the gate is decided against the
//! newest rows, in the actor or, for a dry run, on a published root. Nothing is changed before
//! everything is known to fit.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use rookery_domain::{
    Error, ErrorCode, Result,
    compat::{self, Break, LiveRows},
    event::{EventType, RowChange},
    json,
    manifest::{Collection, Manifest, SchemaSource, Visibility},
    row::Row,
    schema::CompiledSchema,
    unique::UniqueKey,
};
use rookery_storage::commit::{AppWrite, Asset, NewVersion, RowState, RowWrite};
use serde_json::{Value, json};

use super::{
    aside::Limit,
    decide::Decision,
    root::{Root, Shelf, Withheld},
    rows::{Digest, DigestMap, Rows},
    working::{PrivateShelf, TombKind, Undo},
};

/// Schemas of custom events by type; a declared type without schema has `None`.
pub type EventSchemas = BTreeMap<Arc<str>, Option<Arc<CompiledSchema>>>;

/// A version ready to be deployed: checked and compiled, but not yet held against the rows.
#[derive(Debug)]
pub struct DeployPlan {
    /// The version it was made from: what it carries over is that one's.
    pub base_version: u32,
    /// The manifest.
    pub manifest: Arc<Manifest>,
    /// Its text.
    pub manifest_text: Arc<str>,
    /// The authored HTML.
    pub html: Arc<str>,
    /// The assets.
    pub assets: Arc<[Asset]>,
    /// Compiled row schemas by collection.
    pub schemas: BTreeMap<Arc<str>, Arc<CompiledSchema>>,
    /// Compiled schemas of custom events by type.
    pub events: EventSchemas,
    /// The new visibility, where the request or the manifest names one.
    pub visibility: Option<Visibility>,
    /// The share token to use when this makes the app `link`: its hash and sealed form.
    pub share: Option<([u8; 32], Arc<str>)>,
    /// The new timezone.
    pub timezone: Option<Arc<str>>,
    /// Go on in spite of breaks.
    pub force: bool,
    /// Detached rows of the collections that the manifest declares, as storage had them.
    pub detached: BTreeMap<Arc<str>, Vec<Arc<Row>>>,
    /// How collections stood when they were declared last that the base version does not declare.
    pub last_declared: BTreeMap<Arc<str>, Arc<Collection>>,
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
    /// Rows that fit and stay detached, because others hold their unique values: how many, by
    /// collection.
    pub crowded_out: BTreeMap<Arc<str>, u64>,
}

/// How the rows come over: made without changing anything.
#[derive(Default)]
struct Carry {
    shelves: Vec<Shelf>,
    private: Vec<PrivateShelf>,
    detach: Vec<(Arc<str>, Arc<Row>)>,
    reattach: Vec<(Arc<str>, Arc<Row>)>,
    crowded_out: BTreeMap<Arc<str>, u64>,
}

impl Carry {
    fn report(&self, version: u32, breaks: Vec<Break>) -> DeployReport {
        DeployReport {
            version,
            breaks,
            detached: self.detach.len() as u64,
            reattached: self.reattach.len() as u64,
            crowded_out: self.crowded_out.clone(),
        }
    }
}

/// Rows that do not fit the new schema of their collection, by collection: of those whose schema
/// changes.
type Unfit = BTreeMap<Arc<str>, HashSet<Digest>>;

struct Gate<'a> {
    root: &'a Root,
    unfit: &'a Unfit,
}

impl LiveRows for Gate<'_> {
    fn count(&self, collection: &str) -> u64 {
        let coming_back = || self.root.withheld(collection).detached;
        self.root.live_rows(collection).unwrap_or_else(coming_back)
    }

    fn failing(&self, collection: &str, _: &SchemaSource) -> u64 {
        self.unfit.get(collection).map_or(0, HashSet::len) as u64
    }
}

/// What deploying `plan` over `root` would do, without doing it, and the rows that it would serve.
///
/// # Errors
/// What no force helps against: `conflict`, `unique_backfill_conflict`, `unavailable` when it takes
/// too long.
pub(crate) fn dry_run(root: &Root, plan: &DeployPlan) -> Result<(DeployReport, Vec<Shelf>)> {
    let limit = Limit::of_deploy();
    let unfit = unfit(root, plan, limit)?;
    let breaks = breaks(root, plan, &unfit)?;
    let carry = carry(root, plan, &unfit, limit, |_, _| true)?;
    Ok((carry.report(root.record.version + 1, breaks), carry.shelves))
}

/// What `plan` breaks.
///
/// # Errors
/// `conflict`: an unrestricted app stays private.
fn breaks(root: &Root, plan: &DeployPlan, unfit: &Unfit) -> Result<Vec<Break>> {
    if root.record.unrestricted && plan.visibility.is_some_and(|v| v != Visibility::Private) {
        return Err(unrestricted());
    }
    Ok(compat::breaks(&before(root, plan), &plan.manifest, &Gate { root, unfit }))
}

/// Holds the live rows against the schemas that change.
///
/// # Errors
/// `unavailable` when it takes too long.
fn unfit(root: &Root, plan: &DeployPlan, limit: Limit) -> Result<Unfit> {
    let hash = |source: &Option<SchemaSource>| source.as_ref().map(|source| source.hash);
    let mut unfit = Unfit::new();
    for (name, decl) in &plan.manifest.collections {
        let (Some(old), Some(schema)) = (root.shelf(name), plan.schemas.get(name)) else {
            continue;
        };
        if hash(&old.decl.schema) == hash(&decl.schema) {
            continue;
        }
        let mut keys = HashSet::new();
        for row in old.rows.iter() {
            limit.check()?;
            if !fits(schema, row) {
                keys.insert(Digest::of(row.key()));
            }
        }
        unfit.insert(name.clone(), keys);
    }
    Ok(unfit)
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

/// The row one version on: whoever follows the feed by version hears of its coming and going.
fn next_version(row: &Row) -> Arc<Row> {
    Arc::new(Row { version: row.version + 1, ..row.clone() })
}

fn fits(schema: &CompiledSchema, row: &Row) -> bool {
    serde_json::from_str::<Value>(row.data()).is_ok_and(|value| schema.validate(&value).is_ok())
}

/// Lays out the rows under the plan's manifest. `is_detached` says whether a row that storage
/// listed as detached still is, at that version.
fn carry(
    root: &Root,
    plan: &DeployPlan,
    unfit: &Unfit,
    limit: Limit,
    is_detached: impl Fn(&str, &Row) -> bool,
) -> Result<Carry> {
    let mut carry = Carry::default();
    for shelf in &root.collections {
        if !plan.manifest.collections.contains_key(&shelf.decl.name) {
            let name = &shelf.decl.name;
            carry.detach.extend(shelf.rows.iter().map(|row| (name.clone(), row.clone())));
        }
    }
    for (name, decl) in &plan.manifest.collections {
        let old = root.shelf(name);
        let schema = plan.schemas.get(name);
        let mut rows = old.map(|old| old.rows.clone()).unwrap_or_default();
        if let (Some(old), Some(unfit)) = (old, unfit.get(name).filter(|keys| !keys.is_empty())) {
            for row in old.rows.iter().filter(|row| unfit.contains(&Digest::of(row.key()))) {
                rows.remove(row.key());
                carry.detach.push((name.clone(), row.clone()));
            }
        }
        let (mut unique, shared) = index(&decl.unique, &rows);
        if let Some(field) = shared {
            return Err(backfill(name, field));
        }
        for row in plan.detached.get(name).into_iter().flatten() {
            limit.check()?;
            let fits = schema.is_none_or(|schema| fits(schema, row));
            if !fits || !is_detached(name, row) {
                continue;
            }
            if !enter(&decl.unique, &mut unique, row) {
                *carry.crowded_out.entry(name.clone()).or_default() += 1;
                continue;
            }
            let row = next_version(row);
            rows.put(row.clone());
            carry.reattach.push((name.clone(), row));
        }
        carry.shelves.push(Shelf { decl: decl.clone(), rows });
        carry.private.push(PrivateShelf { schema: schema.cloned(), unique });
    }
    Ok(carry)
}

/// The unique indexes over `rows`, and a field of which two rows share a value: the later holds it.
pub(crate) fn index<'a>(
    fields: &'a [Arc<str>],
    rows: &Rows,
) -> (Vec<DigestMap<Digest>>, Option<&'a str>) {
    let (mut unique, mut shared) = (vec![DigestMap::default(); fields.len()], None);
    if fields.is_empty() {
        return (unique, shared);
    }
    for row in rows.iter() {
        let values = json::pick(row.data(), fields);
        for ((field, value), index) in fields.iter().zip(values).zip(&mut unique) {
            let Some(form) = value.as_ref().and_then(UniqueKey::of) else { continue };
            if index.insert(Digest::of(form.as_str()), Digest::of(row.key())).is_some() {
                shared = shared.or(Some(&**field));
            }
        }
    }
    (unique, shared)
}

/// Enters a row into the indexes, or leaves them alone and says false when a value is taken.
fn enter(fields: &[Arc<str>], unique: &mut [DigestMap<Digest>], row: &Row) -> bool {
    let forms: Vec<_> = json::pick(row.data(), fields)
        .into_iter()
        .map(|value| Some(Digest::of(UniqueKey::of(&value?)?.as_str())))
        .collect();
    let taken = |(form, index): (&Option<Digest>, &DigestMap<Digest>)| {
        form.is_some_and(|form| index.contains_key(&form))
    };
    if forms.iter().zip(unique.iter()).any(taken) {
        return false;
    }
    for (form, index) in forms.into_iter().zip(unique) {
        if let Some(form) = form {
            index.insert(form, Digest::of(row.key()));
        }
    }
    true
}

fn backfill(collection: &str, field: &str) -> Error {
    Error::new(
        ErrorCode::UniqueBackfillConflict,
        format!("live rows of `{collection}` share a value of `{field}`, so it cannot be unique"),
    )
    .with_details(json!({"collection": collection, "field": field}))
}

impl Decision<'_> {
    /// Deploys `plan`, or refuses it and changes nothing.
    pub(super) fn deploy(&mut self, plan: &DeployPlan) -> Result<DeployReport> {
        let root = &self.working.root;
        if root.record.version != plan.base_version {
            return Err(Error::unavailable("another version was deployed meanwhile"));
        }
        let limit = Limit::of_deploy();
        let unfit = unfit(root, plan, limit)?;
        let breaks = breaks(root, plan, &unfit)?;
        if !breaks.is_empty() && !plan.force {
            return Err(compat::refusal(&breaks));
        }
        let carry = carry(root, plan, &unfit, limit, |collection, row| {
            self.working
                .tomb(collection, Digest::of(row.key()))
                .is_some_and(|tomb| tomb.kind == TombKind::Detached && tomb.version == row.version)
        })?;
        let report = carry.report(root.record.version + 1, breaks);
        self.apply(plan, carry);
        Ok(report)
    }

    fn apply(&mut self, plan: &DeployPlan, carry: Carry) {
        let working = &mut *self.working;
        let shelves = std::mem::replace(&mut working.private.shelves, carry.private);
        let events = std::mem::replace(&mut working.private.events, plan.events.clone());
        working.open.journal.push(Undo::Shelves(Box::new((shelves, events))));
        working.root.manifest = plan.manifest.clone();
        working.root.collections = carry.shelves;
        let who = self.standing.principal;
        let at = working.stamp(self.now);
        for (collection, row) in carry.detach {
            working.count_gone(&row);
            let left = next_version(&row);
            working.bury(&collection, left.clone(), RowState::Detached);
            let change = RowChange { collection, row: left, previous_editor: None };
            working.emit(EventType::RowDeleted, who, at, Some(change), None, false);
        }
        for (collection, row) in carry.reattach {
            working.drop_tomb(&collection, Digest::of(row.key()));
            working.count_live(&row);
            let change = RowChange {
                collection: collection.clone(),
                row: row.clone(),
                previous_editor: None,
            };
            working.emit(EventType::RowRestored, who, at, Some(change), None, false);
            working.open.write_row(RowWrite { collection, row, state: RowState::Live });
        }
        let mut record = (*working.root.record).clone();
        record.version += 1;
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

/// `conflict`: an unrestricted app stays private.
pub(crate) fn unrestricted() -> Error {
    Error::new(
        ErrorCode::Conflict,
        "this app is unrestricted, so it must stay private: turn that off first",
    )
}
