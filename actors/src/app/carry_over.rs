//! How the rows of an app come over to a new manifest: which fit, which are set aside and which
//! come back. It is worked out beside the state, so that a refused deploy leaves nothing behind.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use rookery_domain::{
    Error, ErrorCode, Result,
    compat::{EXAMPLES_MAX, Example, Failing},
    manifest::{CrowdedOut, SchemaSource},
    row::Row,
    schema::{CompiledSchema, Misfit, SchemaViolation},
};
use serde_json::json;

use super::{
    aside::Limit,
    deploy::DeployPlan,
    private::PrivateCollection,
    root::{CollectionState, Root},
    rows::{Digest, Rows},
    unique,
};

/// How many keys of rows that share a value are told.
const KEYS_TOLD_MAX: usize = 20;

/// The rows under the new manifest, and which of them come and go.
#[derive(Default)]
pub(super) struct CarriedOver {
    pub(super) collections: Vec<CollectionState>,
    pub(super) private: Vec<PrivateCollection>,
    pub(super) detach: Vec<(Arc<str>, Arc<Row>)>,
    pub(super) reattach: Vec<(Arc<str>, Arc<Row>)>,
    /// Rows that fit and stay detached, because others hold their unique values: how many, by
    /// collection.
    pub(super) crowded_out: BTreeMap<Arc<str>, CrowdedOut>,
}

/// For each collection whose schema changes, the rows that do not fit the new one.
pub(super) type UnfitRows = BTreeMap<Arc<str>, Unfit>;

/// The rows of a collection that do not fit its new schema.
#[derive(Default)]
pub(super) struct Unfit {
    keys: HashSet<Digest>,
    examples: Vec<Example>,
}

impl Unfit {
    /// The same, as the compatibility gate asks for them.
    pub(super) fn failing(&self) -> Failing {
        Failing { rows: self.keys.len() as u64, examples: self.examples.clone() }
    }

    fn add(&mut self, row: &Row, misfit: Misfit) {
        self.keys.insert(Digest::of(row.key()));
        if self.examples.len() < EXAMPLES_MAX
            && let Some(first) = misfit.violations.into_iter().next()
        {
            let SchemaViolation { path, message, .. } = first;
            self.examples.push(Example { key: row.key().into(), path, message });
        }
    }
}

/// Holds the live rows against the schemas that change.
///
/// # Errors
/// `unavailable` when it takes too long.
pub(super) fn unfit_rows(root: &Root, plan: &DeployPlan, limit: Limit) -> Result<UnfitRows> {
    let hash = |source: &Option<SchemaSource>| source.as_ref().map(|source| source.hash);
    let mut unfit = UnfitRows::new();
    for (name, decl) in &plan.manifest.collections {
        let (Some(old), Some(schema)) = (root.collection(name), plan.schemas.get(name)) else {
            continue;
        };
        if hash(&old.decl.schema) == hash(&decl.schema) {
            continue;
        }
        let mut found = Unfit::default();
        for row in old.rows.iter() {
            limit.check()?;
            if let Err(misfit) = check(schema, row) {
                found.add(row, misfit);
            }
        }
        unfit.insert(name.clone(), found);
    }
    Ok(unfit)
}

/// Lays out the rows under the plan's manifest. `is_detached` says whether a row that storage
/// listed as detached still is, at that version.
pub(super) fn carry_over(
    root: &Root,
    plan: &DeployPlan,
    unfit: &UnfitRows,
    limit: Limit,
    is_detached: impl Fn(&str, &Row) -> bool,
) -> Result<CarriedOver> {
    let mut carried = CarriedOver::default();
    for state in &root.collections {
        if !plan.manifest.collections.contains_key(&state.decl.name) {
            let name = &state.decl.name;
            carried.detach.extend(state.rows.iter().map(|row| (name.clone(), row.clone())));
        }
    }
    for (name, decl) in &plan.manifest.collections {
        let old = root.collection(name);
        let schema = plan.schemas.get(name);
        let mut rows = old.map(|old| old.rows.clone()).unwrap_or_default();
        if let (Some(old), Some(unfit)) =
            (old, unfit.get(name).filter(|unfit| !unfit.keys.is_empty()))
        {
            for row in old.rows.iter().filter(|row| unfit.keys.contains(&Digest::of(row.key()))) {
                rows.remove(row.key());
                carried.detach.push((name.clone(), row.clone()));
            }
        }
        let (mut index, shared) = unique::index_of(&decl.unique, &rows);
        if let Some(field) = shared {
            return Err(backfill(name, field, &rows));
        }
        let mut back = Vec::new();
        for row in plan.detached.by_collection.get(name).into_iter().flatten() {
            limit.check()?;
            let fits = schema.is_none_or(|schema| check(schema, row).is_ok());
            if !fits || !is_detached(name, row) {
                continue;
            }
            if !unique::enter(&decl.unique, &mut index, row) {
                carried.crowded_out.entry(name.clone()).or_default().add(row.key());
                continue;
            }
            // Whoever follows the feed by version hears of its coming.
            back.push(Arc::new(row.next_version(row.updated_at)));
        }
        rows.put_all(&back);
        carried.reattach.extend(back.into_iter().map(|row| (name.clone(), row)));
        carried.collections.push(CollectionState { decl: decl.clone(), rows });
        carried.private.push(PrivateCollection { schema: schema.cloned(), unique: Some(index) });
    }
    Ok(carried)
}

fn check(schema: &CompiledSchema, row: &Row) -> Result<(), Misfit> {
    schema.validate(&row.value())
}

/// What is told of rows that share a value of a field that is to be unique.
fn backfill(collection: &str, field: &Arc<str>, rows: &Rows) -> Error {
    let sharing = unique::sharing(field, rows);
    let keys = &sharing[..sharing.len().min(KEYS_TOLD_MAX)];
    let some = keys.iter().take(2).map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" and ");
    Error::new(
        ErrorCode::UniqueBackfillConflict,
        format!(
            "{} live rows of `{collection}`, {some} among them, share a value of `{field}`, so it cannot be unique",
            sharing.len()
        ),
    )
    .with_details(json!({
        "collection": collection, "field": &**field, "rows_affected": sharing.len(), "keys": keys,
    }))
}
