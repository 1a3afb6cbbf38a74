//! The schemas under `$defs`, and the references of collections and event types to them.
//!
//! What is not here: what a schema may hold (`schema`).

use std::{collections::BTreeMap, sync::LazyLock};

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::{
    Mode,
    model::SchemaSource,
    shape::TopLevel,
    violations::{Violations, at, quoted_text},
};
use crate::{
    ErrorCode, Result,
    limits::Limits,
    pointer,
    schema::{Trials, admit, admits_date, admits_field},
};

const PREFIX: &str = "#/$defs/";

/// The admitted schemas by their name under `$defs`.
#[derive(Default)]
pub(super) struct Schemas<'a> {
    by_name: BTreeMap<&'a str, (SchemaSource, &'a Value)>,
}

/// What stands in place of a schema that a stored manifest names and does not have: nothing fits it.
static MISSING: LazyLock<SchemaSource> = LazyLock::new(SchemaSource::nothing);

impl Schemas<'_> {
    /// The schema that the member `schema` of a collection or event type points to.
    pub(super) fn of(&self, declaration: &Value) -> Option<SchemaSource> {
        let reference = declaration.get("schema")?;
        let found = referenced(reference).ok().and_then(|name| self.by_name.get(name.as_str()));
        // References have not always been read as parts of a URI.
        let found = found.or_else(|| self.by_name.get(literal(reference)?));
        Some(found.map_or_else(|| MISSING.clone(), |(source, _)| source.clone()))
    }

    /// Whether data under `schema` can have the top-level member `field`.
    pub(super) fn admits(&self, schema: Option<&SchemaSource>, field: &str) -> bool {
        schema
            .and_then(|source| self.by_name.get(&*source.name))
            .is_none_or(|(_, schema)| admits_field(schema, field))
    }

    /// Whether its top-level member `field` can be a date.
    pub(super) fn admits_date(&self, schema: Option<&SchemaSource>, field: &str) -> bool {
        schema
            .and_then(|source| self.by_name.get(&*source.name))
            .is_none_or(|(_, schema)| admits_date(schema, field))
    }
}

/// # Errors
/// `manifest_too_large` for a schema beyond its bytes, else `collection_schema_invalid`.
pub(super) fn check<'a>(top: &TopLevel<'a>, limits: &Limits) -> Result<Schemas<'a>> {
    let definitions = top.object("$defs");
    let mut by_name = BTreeMap::new();
    let mut oversize = Violations::new(ErrorCode::ManifestTooLarge);
    for (name, schema) in definitions {
        let source = SchemaSource::new(name, schema);
        if source.text.len() > limits.max_schema_bytes {
            let (length, max) = (source.text.len(), limits.max_schema_bytes);
            oversize
                .push(at("/$defs", name), format!("has {length} bytes, at most {max} are allowed"));
        }
        by_name.insert(name.as_str(), (source, schema));
    }
    top.finish(oversize)?;

    let mut violations = Violations::new(ErrorCode::CollectionSchemaInvalid);
    for place in ["collections", "events"] {
        for (name, declaration) in top.object(place) {
            let path = at(&at(&at("", place), name), "schema");
            if let Some(reference) = declaration.get("schema") {
                check_reference(reference, path, &by_name, &mut violations);
            }
        }
    }
    if top.mode == Mode::Check {
        let mut trials = Trials::default();
        for (name, (source, schema)) in &by_name {
            let Err(faults) = admit(schema, &source.text, limits.row_bytes_max, &mut trials) else {
                continue;
            };
            let path = at("/$defs", name);
            for fault in faults.list {
                violations.push(format!("{path}{}", fault.pointer), fault.message);
            }
            violations.leave_out(faults.left_out);
        }
    }
    top.finish(violations)?;
    Ok(Schemas { by_name })
}

fn check_reference(
    reference: &Value,
    path: String,
    definitions: &BTreeMap<&str, (SchemaSource, &Value)>,
    violations: &mut Violations,
) {
    match referenced(reference) {
        Err(()) => violations
            .push(path, format!("must be an object with a single $ref of the form {PREFIX}<Name>")),
        Ok(name) => {
            if !definitions.contains_key(name.as_str()) {
                violations.push(
                    at(&path, "$ref"),
                    format!("there is no {} under $defs", quoted_text(&name)),
                );
            }
        }
    }
}

/// What a reference says behind `#/$defs/`.
fn literal(reference: &Value) -> Option<&str> {
    let Value::Object(map) = reference else { return None };
    let target = map.get("$ref").filter(|_| map.len() == 1)?;
    target.as_str()?.strip_prefix(PREFIX)
}

/// The name under `$defs` that a reference points to. It is the fragment of a URI: unescaped as RFC
/// 6901 has it (section 6), percent-encoding first.
fn referenced(reference: &Value) -> std::result::Result<String, ()> {
    let name = literal(reference).ok_or(())?;
    if name.is_empty() || name.contains('/') {
        return Err(());
    }
    let name = percent_decode_str(name).decode_utf8().map_err(drop)?;
    Ok(pointer::name(&name).into_owned())
}
