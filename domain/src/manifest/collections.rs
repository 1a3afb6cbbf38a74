//! Collections and event types: names, and what a collection says about its rows.
//!
//! What is not here: permission lists (`permissions`) and schemas (`schemas`).

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use serde_json::Value;

use super::{
    members::{Members, is_field, is_name, no_such_field},
    model::{
        AnonWriteBudget, Collection, EventDecl, Permissions, Relation, Retention, SchemaSource,
    },
    schemas::Schemas,
    shape::TopLevel,
    violations::{Violations, at, quoted, quoted_text},
};
use crate::{
    ErrorCode, Result,
    retention::{MAX_AGE_DAYS_MAX, MAX_ROWS_MAX},
};

/// Unique fields of one collection; each is an index that every write consults.
const UNIQUE_FIELDS_MAX: usize = 20;
/// The largest cap of an anonymous-write budget.
const BUDGET_MAX: u64 = 1_000_000_000;

/// Checks how the collections are called.
///
/// # Errors
/// `collection_name_invalid`.
pub(super) fn check_names(top: &TopLevel<'_>) -> Result<()> {
    let mut violations = Violations::new(ErrorCode::CollectionNameInvalid);
    for name in top.object("collections").keys().filter(|name| !is_name(name)) {
        violations.push(
            at("/collections", name),
            format!(
                "{} must be a lowercase letter, then lowercase letters, digits, _ or -; at most \
                 64 characters",
                quoted_text(name)
            ),
        );
    }
    top.finish(violations)
}

/// The collections, and what is `invalid` about their members.
pub(super) fn parse(
    top: &TopLevel<'_>,
    schemas: &Schemas<'_>,
    permissions: &mut HashMap<&str, Permissions>,
    invalid: &mut Violations,
) -> BTreeMap<Arc<str>, Arc<Collection>> {
    let declared = top.object("collections");
    let names: BTreeMap<&str, Arc<str>> =
        declared.keys().map(|name| (name.as_str(), Arc::from(name.as_str()))).collect();
    let mut collections = BTreeMap::new();
    for (name, value) in top.collections() {
        // That it is an object without unknown members was looked at with the shape.
        let Some(map) = value.as_object() else { continue };
        let members = Members::of(map, at("/collections", name), invalid);
        let schema = schemas.of(value);
        let mut reader = Reader { name, schema, members, schemas, names: &names };
        let collection = Collection {
            name: Arc::clone(&names[name.as_str()]),
            permissions: permissions.remove(name.as_str()).unwrap_or_default(),
            unique: reader.unique(),
            append_only: reader.members.flag("appendOnly"),
            anon_write_budget: reader.budget(),
            challenge: reader.members.choice("antiAbuse", &[("challenge", ())]).is_some(),
            relations: reader.relations(),
            retention: reader.retention(),
            schema: reader.schema,
        };
        collections.insert(Arc::clone(&collection.name), Arc::new(collection));
    }
    collections
}

/// The declared event types; their shape and schemas were checked with the collections'.
pub(super) fn events(top: &TopLevel<'_>, schemas: &Schemas<'_>) -> BTreeMap<Arc<str>, EventDecl> {
    top.object("events")
        .iter()
        .map(|(name, value)| (Arc::from(name.as_str()), EventDecl { schema: schemas.of(value) }))
        .collect()
}

struct Reader<'a, 'v> {
    name: &'a str,
    schema: Option<SchemaSource>,
    members: Members<'a, 'v>,
    schemas: &'a Schemas<'a>,
    names: &'a BTreeMap<&'a str, Arc<str>>,
}

impl Reader<'_, '_> {
    fn check_field(&mut self, path: &str, field: &str) -> bool {
        let message = if !is_field(field) {
            "a field has 1 to 128 characters and no control character".to_owned()
        } else if !self.schemas.admits(self.schema.as_ref(), field) {
            no_such_field(self.name, field)
        } else {
            return true;
        };
        self.members.violations.push(path, message);
        false
    }

    fn unique(&mut self) -> Vec<Arc<str>> {
        let mut fields: Vec<Arc<str>> = Vec::new();
        let mut named = HashSet::new();
        let declared = self.members.strings("unique");
        if declared.len() > UNIQUE_FIELDS_MAX {
            let message =
                format!("has {} fields, at most {UNIQUE_FIELDS_MAX} are allowed", declared.len());
            self.members.refuse("unique", message);
        }
        for (path, field) in declared {
            if named.contains(field) {
                let message = format!("{} is named twice", quoted_text(field));
                self.members.violations.push(path, message);
            } else if self.check_field(&path, field) {
                named.insert(field);
                fields.push(field.into());
            }
        }
        fields
    }

    fn budget(&mut self) -> Option<AnonWriteBudget> {
        let value = self.members.get("anonWriteBudget")?;
        let path = self.members.at("anonWriteBudget");
        let known = ["perIpPerDay", "perAppDay"];
        let mut members = Members::open(value, path, &known, self.members.violations)?;
        Some(AnonWriteBudget {
            per_ip_per_day: members.count("perIpPerDay", BUDGET_MAX),
            per_app_day: members.count("perAppDay", BUDGET_MAX),
        })
    }

    fn retention(&mut self) -> Retention {
        let Some(value) = self.members.get("retention") else { return Retention::default() };
        let path = self.members.at("retention");
        let known = ["maxAgeDays", "maxRows"];
        let Some(mut members) = Members::open(value, path, &known, self.members.violations) else {
            return Retention::default();
        };
        Retention {
            max_age_days: members
                .count("maxAgeDays", MAX_AGE_DAYS_MAX.into())
                .and_then(|days| u32::try_from(days).ok()),
            max_rows: members.count("maxRows", MAX_ROWS_MAX),
        }
    }

    fn relations(&mut self) -> BTreeMap<Arc<str>, Relation> {
        let Some(value) = self.members.get("relations") else { return BTreeMap::new() };
        let path = self.members.at("relations");
        let Value::Object(map) = value else {
            let message = format!("must be an object, not {}", quoted(value));
            self.members.violations.push(path, message);
            return BTreeMap::new();
        };
        let mut relations = BTreeMap::new();
        for (field, value) in map {
            let path = at(&path, field);
            if self.check_field(&path, field)
                && let Some(relation) = self.relation(value, path)
            {
                relations.insert(Arc::from(field.as_str()), relation);
            }
        }
        relations
    }

    fn relation(&mut self, value: &Value, path: String) -> Option<Relation> {
        let known = ["collection", "set"];
        let mut members = Members::open(value, path, &known, self.members.violations)?;
        let set_by_writer = members.choice("set", &[("writer", ())]).is_some();
        let target = members.required("collection")?;
        // The target need not be declared: nothing checks references (contract part 5), and a
        // collection that comes later makes the relation whole.
        let name = target.as_str().filter(|name| is_name(name));
        let collection = name.map(|name| self.names.get(name).cloned().unwrap_or(name.into()));
        if collection.is_none() {
            let message = format!("{} is no name of a collection", quoted(target));
            members.refuse("collection", message);
        }
        Some(Relation { collection: collection?, set_by_writer })
    }
}
