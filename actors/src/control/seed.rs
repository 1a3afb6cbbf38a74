//! An app's first rows: checked like rows that are written later, and written with the app.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use rookery_domain::{
    Error, ErrorCode, Principal, Result, Timestamp,
    advisory::Evidence,
    event::{Event, EventType, RowChange},
    limits::Limits,
    manifest::{Collection, Manifest},
    row::{Row, RowText},
    row_key,
    schema::{CompiledSchema, Misfit, SchemaViolation, VIOLATIONS_MAX},
};
use rookery_storage::{
    apps::CollectionCounts,
    commit::{RowState, RowWrite, Totals},
};
use serde_json::{Value, json};

use super::{advisories::SAMPLE_ROWS_MAX, draft::Draft};
use crate::app::{aside::Limit, decide::violated, message::NewRow, unique::Forms};

/// First rows by collection.
pub(super) type Input = BTreeMap<String, Vec<NewRow>>;

/// What to do where an app would be full before it is there: there is nothing to delete in it.
const TOO_MUCH: &str =
    "Send fewer or smaller rows in `input_data`, or ask the operator to raise the limit of an app.";

/// The keys of the first rows, those of each collection: what can be said of the rows before it is
/// known what their collections are.
///
/// # Errors
/// `payload_too_large`; `invalid_request` for a key that no row may have, or that two have.
fn keys(input: &Input, row_bytes_max: usize) -> Result<Vec<Vec<Box<str>>>> {
    let keys_of = |(name, rows): (&String, &Vec<NewRow>)| {
        let mut taken = HashSet::new();
        let key_of = |(index, seed): (usize, &NewRow)| {
            let at = place(name, index);
            if seed.data.text().len() > row_bytes_max {
                return Err(Error::new(
                    ErrorCode::PayloadTooLarge,
                    format!("`{at}.data` is larger than {row_bytes_max} bytes"),
                ));
            }
            let Some(key) = &seed.key else { return Ok(row_key::generate().into()) };
            row_key::check(key).map_err(|mut error| {
                error.message = format!("`{at}.key`: {}", error.message);
                error
            })?;
            if !taken.insert(key.clone()) {
                return Err(Error::invalid(format!("`{at}.key`: {key:?} occurs twice")));
            }
            Ok(key.clone())
        };
        rows.iter().enumerate().map(key_of).collect()
    };
    input.iter().map(keys_of).collect()
}

/// What does not fit in first rows, up to [`VIOLATIONS_MAX`] of all of them.
#[derive(Default)]
struct Misfits {
    /// What to say of the first row that has some.
    first: Option<String>,
    violations: Vec<SchemaViolation>,
}

impl Misfits {
    /// Looks for rows of one collection that do not fit its schema.
    ///
    /// # Errors
    /// `unavailable` once `limit` is over.
    fn look_at(
        &mut self,
        name: &str,
        rows: &[NewRow],
        schema: &CompiledSchema,
        limit: Limit,
    ) -> Result<()> {
        for (index, seed) in rows.iter().enumerate() {
            let left = VIOLATIONS_MAX - self.violations.len();
            if left == 0 {
                break;
            }
            limit.check()?;
            let Err(misfit) = schema.validate(seed.data.value()) else { continue };
            self.first.get_or_insert_with(|| {
                format!("`{}` does not fit the schema of `{name}`", place(name, index))
            });
            self.violations.extend(misfit.violations.into_iter().take(left).map(
                |mut violation| {
                    violation.path.insert_str(0, &format!("/input_data/{name}/{index}/data"));
                    violation
                },
            ));
        }
        Ok(())
    }

    /// Refuses the rows if one of them did not fit.
    ///
    /// # Errors
    /// `input_schema_violation`.
    fn refuse(self) -> Result<()> {
        let Some(what) = self.first else { return Ok(()) };
        // The rows behind the last of them were not looked at, so nobody knows how many more there are.
        let misfit = Misfit { violations: self.violations, left_out: 0 };
        Err(violated(ErrorCode::InputSchemaViolation, &what, &misfit))
    }
}

/// Checks that no two rows of one collection have the same value in a unique field.
///
/// # Errors
/// `unique_conflict`.
fn check_unique(decl: &Collection, rows: &[NewRow]) -> Result<()> {
    let mut held = HashSet::new();
    for (index, seed) in rows.iter().enumerate() {
        let forms = Forms::of(&decl.unique, seed.data.value());
        for (number, field) in decl.unique.iter().enumerate() {
            let form = forms.of_field(number);
            if form.is_some_and(|form| !held.insert((number, form))) {
                let at = place(&decl.name, index);
                return Err(Error::new(
                    ErrorCode::UniqueConflict,
                    format!("`{at}`: another row holds this value of `{field}`"),
                )
                .with_details(json!({"field": &**field})));
            }
        }
    }
    Ok(())
}

/// The collection `name` of a new app, for its first rows.
fn declared<'m>(manifest: &'m Manifest, name: &str) -> Result<&'m Arc<Collection>> {
    let hint = "Declare it in this deploy's manifest, or leave its rows out of `input_data`.";
    manifest.collection(name).map_err(|error| error.with_hint(hint))
}

/// Where a row stands in the request.
fn place(collection: &str, index: usize) -> String {
    format!("input_data.{collection}[{index}]")
}

/// What became of the first rows.
#[derive(Default)]
pub(super) struct Seeds {
    pub(super) rows: Vec<RowWrite>,
    pub(super) events: Vec<Arc<Event>>,
    counts: BTreeMap<Arc<str>, u64>,
    pub(super) totals: Totals,
}

impl Seeds {
    /// The first rows and events, checked like rows that are written later: all of them in one step
    /// before any in the next. Whether there is room for them is [`Seeds::check_room`]'s. It may take
    /// as long as a deployment.
    pub(super) fn new(
        input: &Input,
        draft: &Draft,
        by: Principal,
        row_bytes_max: usize,
        now: Timestamp,
    ) -> Result<Self> {
        let limit = Limit::of_deploy();
        let mut seeds = Self::default();
        let mut seq = 1;
        let data = json!({"version": 1}).to_string();
        let deployed = Event {
            seq,
            kind: EventType::AppDeployed,
            at: now,
            by,
            change: None,
            data: Some(data.into()),
            silent: false,
        };
        seeds.events.push(Arc::new(deployed));
        let keys = keys(input, row_bytes_max)?;
        let collections: Vec<_> =
            input.keys().map(|name| declared(&draft.manifest, name)).collect::<Result<_>>()?;
        let lists = || collections.iter().zip(input.values());
        let mut misfits = Misfits::default();
        for (decl, rows) in lists() {
            if let Some(schema) = draft.schemas.get(&decl.name) {
                misfits.look_at(&decl.name, rows, schema, limit)?;
            }
        }
        misfits.refuse()?;
        for (decl, rows) in lists() {
            check_unique(decl, rows)?;
        }
        for ((decl, rows), keys) in lists().zip(keys) {
            for (seed, key) in rows.iter().zip(keys) {
                seq += 1;
                let at = Timestamp(now.0 + seq as i64);
                let row = Arc::new(Row {
                    text: RowText::new(&key, seed.data.text()),
                    version: 1,
                    creator: by,
                    editor: by,
                    created_at: at,
                    updated_at: at,
                });
                seeds.put(decl.name.clone(), row, seq);
            }
        }
        Ok(seeds)
    }

    fn put(&mut self, collection: Arc<str>, row: Arc<Row>, seq: u64) {
        self.totals.live += 1;
        self.totals.bytes += row.stored_bytes();
        *self.counts.entry(collection.clone()).or_default() += 1;
        let change = RowChange::new(collection.clone(), row.clone());
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

    /// Checks that a new app has room for the rows.
    ///
    /// # Errors
    /// `app_quota_exceeded`.
    pub(super) fn check_room(&self, limits: &Limits) -> Result<()> {
        let Totals { live, bytes, .. } = self.totals;
        for (dimension, has, max) in [
            ("rows", live, limits.max_rows_per_app),
            ("storage_bytes", bytes, limits.max_storage_bytes_per_app),
        ] {
            if has > max {
                return Err(Error::new(
                    ErrorCode::AppQuotaExceeded,
                    format!("`input_data` has {has} {dimension}; an app holds at most {max}"),
                )
                .with_details(json!({"dimension": dimension, "limit": max}))
                .with_hint(TOO_MUCH));
            }
        }
        Ok(())
    }

    /// The declared collections with their rows.
    pub(super) fn counts(&self, manifest: &Manifest) -> Vec<CollectionCounts> {
        let of = |name: &Arc<str>| {
            CollectionCounts::of_live(name.clone(), self.counts.get(name).copied().unwrap_or(0))
        };
        manifest.collections.keys().map(of).collect()
    }

    /// What the rows tell about what they hold: the newest, as in the report on an app that is there.
    pub(super) fn evidence(&self) -> BTreeMap<Arc<str>, Evidence> {
        let of = |(name, count): (&Arc<str>, &u64)| {
            let values: Vec<Value> = self
                .rows
                .iter()
                .rev()
                .filter(|write| write.collection == *name)
                .take(SAMPLE_ROWS_MAX as usize)
                .filter_map(|write| serde_json::from_str(write.row.data()).ok())
                .collect();
            (name.clone(), Evidence::gather(*count, &values))
        };
        self.counts.iter().map(of).collect()
    }
}
