//! The shapes that the document describes and no type of this crate writes: files, JSON of the
//! authors' own, and what the domain serializes itself.

#![expect(dead_code, reason = "these types describe; nothing builds them")]

use std::borrow::Cow;

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, Type, schema::AdditionalProperties,
    },
};

use super::ids::CallerId;
use super::words::{Audience, BreakKind, CallerKind, Exposure, LooksLike, Severity};
use crate::routes::collections::bodies::KeyedDelete;

/// A JSON object with any members: `type: object` alone admits them too, but generators of clients
/// read it as an object without any.
pub(crate) struct AnyObject;

impl PartialSchema for AnyObject {
    fn schema() -> RefOr<Schema> {
        let any = AdditionalProperties::FreeForm(true);
        ObjectBuilder::new()
            .description(Some("A JSON object with any members."))
            .additional_properties(Some(any))
            .into()
    }
}

impl ToSchema for AnyObject {
    fn name() -> Cow<'static, str> {
        "AnyObject".into()
    }
}

/// The bytes of a file as they are.
pub(crate) struct FileBytes;

impl PartialSchema for FileBytes {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::KnownFormat(KnownFormat::Binary);
        ObjectBuilder::new().schema_type(Type::String).format(Some(format)).into()
    }
}

impl ToSchema for FileBytes {
    fn name() -> Cow<'static, str> {
        "FileBytes".into()
    }
}

/// Who did something.
#[derive(ToSchema)]
pub(crate) struct PrincipalRecord {
    /// What it is.
    #[schema(value_type = CallerKind)]
    kind: String,
    /// Its id.
    #[schema(value_type = CallerId)]
    id: String,
}

/// One row to delete: its key, or the key with the version you have seen.
#[derive(ToSchema)]
#[serde(untagged)]
pub(crate) enum DeleteEntry {
    /// The row as it is.
    Key(String),
    /// The row as you have seen it.
    Keyed(KeyedDelete),
}

/// One reason why a redeploy needs `force`.
#[derive(ToSchema)]
pub(crate) struct BreakRecord {
    /// What it breaks.
    #[schema(value_type = BreakKind)]
    kind: String,
    /// The collection, for the kinds that concern one.
    collection: Option<String>,
    /// JSON pointer into the new manifest; for a removed collection, into the old one.
    path: String,
    /// What changed, in words.
    message: String,
    /// Live rows that it concerns: those of the collection, or those that fail its new schema.
    rows_affected: u64,
    /// Some of those that fail a new schema, up to five.
    examples: Option<Vec<UnfitRowRecord>>,
}

/// A row that fails a new schema, and the first reason why.
#[derive(ToSchema)]
pub(crate) struct UnfitRowRecord {
    /// The row's key.
    key: String,
    /// JSON pointer into its data; empty for the data itself.
    path: String,
    /// What is wrong there.
    message: String,
}

/// One operation on one collection that is open to strangers.
#[derive(ToSchema)]
pub(crate) struct FindingRecord {
    /// How bad it is.
    #[schema(value_type = Severity)]
    severity: String,
    /// The collection.
    collection: String,
    /// What strangers can do.
    #[schema(value_type = Exposure)]
    exposure: String,
    /// Which strangers.
    #[schema(value_type = Audience)]
    audience: String,
    /// The subjects of the governing list, as the manifest spells them.
    subjects: Vec<String>,
    /// Live rows of the collection.
    rows: u64,
    /// Rows of the sample behind `fields`.
    sampled: u64,
    /// Fields that look personal or secret; only where rows can be read.
    fields: Vec<FieldEvidenceRecord>,
    /// The finding in words.
    message: String,
}

/// A field that looks personal or secret.
#[derive(ToSchema)]
pub(crate) struct FieldEvidenceRecord {
    /// Dotted path of the field; items of an array share their array's path.
    field: String,
    /// What it looks like.
    #[schema(value_type = LooksLike)]
    looks_like: String,
    /// In how many sampled rows it does.
    seen: u64,
}

/// What changes in who can see and do what.
#[derive(ToSchema)]
pub(crate) struct ExposureDifferenceRecord {
    /// Findings that are new, worst first.
    added: Vec<FindingRecord>,
    /// Findings that are gone, worst first.
    removed: Vec<FindingRecord>,
    /// Findings about the same operation that read differently, worst first.
    changed: Vec<FindingChangeRecord>,
}

/// One finding before and after.
#[derive(ToSchema)]
pub(crate) struct FindingChangeRecord {
    /// As it is.
    before: FindingRecord,
    /// As it would be.
    after: FindingRecord,
}
