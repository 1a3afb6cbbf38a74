//! An app's first rows: checked like rows that are written later, and written with the app.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use rookery_domain::{
    Error, ErrorCode, Result, Timestamp,
    advisory::Evidence,
    event::{Event, EventType, RowChange},
    limits::Limits,
    manifest::{Collection, Manifest},
    row::{Row, RowText},
    row_key,
    schema::CompiledSchema,
    unique::UniqueKey,
};
use rookery_storage::{
    apps::CollectionCounts,
    commit::{RowState, RowWrite, Totals},
};
use serde_json::{Value, json};

use super::{Control, CreateApp, SeedRow, advisories::SAMPLE_ROWS_MAX, draft};
use crate::app::decide::violated;

impl Control {
    /// The first rows and events, checked like rows that are written later.
    pub(super) fn seed(
        &self,
        request: &CreateApp,
        draft: &draft::Draft,
        now: Timestamp,
    ) -> Result<Seeds> {
        let limits = &self.env().limits;
        let mut seeds = Seeds::default();
        let mut seq = 1;
        let data = json!({"version": 1}).to_string();
        let deployed = Event {
            seq,
            kind: EventType::AppDeployed,
            at: now,
            by: request.by,
            change: None,
            data: Some(data.into()),
            silent: false,
        };
        seeds.events.push(Arc::new(deployed));
        for (name, rows) in &request.input_data {
            let decl = draft.manifest.collection(name)?;
            let mut checks = SeedChecks {
                limits,
                decl,
                schema: draft.schemas.get(&decl.name).map(|schema| &**schema),
                keys: HashSet::new(),
                held: HashSet::new(),
            };
            for (index, seed) in rows.iter().enumerate() {
                let key = checks.check(seed, index)?;
                seq += 1;
                let at = Timestamp(now.0 + seq as i64);
                let row = Arc::new(Row {
                    text: RowText::new(&key, seed.data.text()),
                    version: 1,
                    creator: request.by,
                    editor: request.by,
                    created_at: at,
                    updated_at: at,
                });
                seeds.put(decl.name.clone(), row, seq);
            }
        }
        let Totals { live, bytes, .. } = seeds.totals;
        for (dimension, has, max) in [
            ("rows", live, limits.max_rows_per_app),
            ("storage_bytes", bytes, limits.max_storage_bytes_per_app),
        ] {
            if has > max {
                return Err(Error::new(
                    ErrorCode::AppQuotaExceeded,
                    format!("`input_data` has {has} {dimension}; an app holds at most {max}"),
                )
                .with_details(json!({"dimension": dimension, "limit": max})));
            }
        }
        Ok(seeds)
    }
}

/// One collection of a new app while its first rows are checked.
struct SeedChecks<'a> {
    limits: &'a Limits,
    decl: &'a Collection,
    schema: Option<&'a CompiledSchema>,
    keys: HashSet<Box<str>>,
    held: HashSet<(Arc<str>, UniqueKey)>,
}

impl SeedChecks<'_> {
    /// The key of a row that the collection may have: the one at `index` of its first rows.
    fn check(&mut self, seed: &SeedRow, index: usize) -> Result<Box<str>> {
        let name = &self.decl.name;
        let at = format!("input_data.{name}[{index}]");
        let (data, bytes_max) = (&seed.data, self.limits.row_bytes_max);
        if data.text().len() > bytes_max {
            return Err(Error::new(
                ErrorCode::PayloadTooLarge,
                format!("`{at}.data` is larger than {bytes_max} bytes"),
            ));
        }
        if let Some(schema) = self.schema {
            schema.validate(data.value()).map_err(|mut violations| {
                for violation in &mut violations {
                    violation.path.insert_str(0, &format!("/input_data/{name}/{index}/data"));
                }
                let what = format!("`{at}` does not fit the schema of `{name}`");
                violated(ErrorCode::InputSchemaViolation, &what, &violations)
            })?;
        }
        if let Some(key) = &seed.key {
            row_key::check(key).map_err(|mut error| {
                error.message = format!("`{at}.key`: {}", error.message);
                error
            })?;
        }
        let key = seed.key.clone().unwrap_or_else(|| row_key::generate().into());
        if !self.keys.insert(key.clone()) {
            return Err(Error::invalid(format!("`{at}.key`: {key:?} occurs twice")));
        }
        for field in &self.decl.unique {
            let form = UniqueKey::of_field(data.value(), field);
            if form.is_some_and(|form| !self.held.insert((field.clone(), form))) {
                return Err(Error::new(
                    ErrorCode::UniqueConflict,
                    format!("`{at}`: another row holds this value of `{field}`"),
                )
                .with_details(json!({"field": &**field})));
            }
        }
        Ok(key)
    }
}

/// What [`Control::seed`] made of the first rows.
#[derive(Default)]
pub(super) struct Seeds {
    pub(super) rows: Vec<RowWrite>,
    pub(super) events: Vec<Arc<Event>>,
    counts: BTreeMap<Arc<str>, u64>,
    pub(super) totals: Totals,
}

impl Seeds {
    fn put(&mut self, collection: Arc<str>, row: Arc<Row>, seq: u64) {
        self.totals.live += 1;
        self.totals.bytes += row.stored_bytes();
        *self.counts.entry(collection.clone()).or_default() += 1;
        let change =
            RowChange { collection: collection.clone(), row: row.clone(), previous_editor: None };
        self.events.push(Arc::new(Event {
            seq,
            kind: EventType::RowCreated,
            at: row.created_at,
            by: row.creator,
            change: Some(change),
            data: None,
            silent: false,
        }));
        self.rows.push(RowWrite { collection, row, state: RowState::Live });
    }

    /// The declared collections with their rows.
    pub(super) fn counts(&self, manifest: &Manifest) -> Vec<CollectionCounts> {
        let of = |name: &Arc<str>| {
            CollectionCounts::of_live(name.clone(), self.counts.get(name).copied().unwrap_or(0))
        };
        manifest.collections.keys().map(of).collect()
    }

    /// What the rows tell about what they hold.
    pub(super) fn evidence(&self) -> BTreeMap<Arc<str>, Evidence> {
        let of = |(name, count): (&Arc<str>, &u64)| {
            let values: Vec<Value> = self
                .rows
                .iter()
                .filter(|write| write.collection == *name)
                .take(SAMPLE_ROWS_MAX as usize)
                .filter_map(|write| serde_json::from_str(write.row.data()).ok())
                .collect();
            (name.clone(), Evidence::gather(*count, &values))
        };
        self.counts.iter().map(of).collect()
    }
}
