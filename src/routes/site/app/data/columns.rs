//! Which members of a collection's rows are columns of its table, and in what order: what tells rows apart
//! comes first, and what the manifest declares is there on every page, whatever rows are on it.

use std::{collections::BTreeMap, fmt};

use percent_encoding::percent_decode_str;
use rookery_domain::pointer;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::record::Members;
use crate::{error::ApiResult, routes::site::page_context::PageContext};

/// Columns of the table, beside the key and the time.
const COLUMNS_MAX: usize = 6;
/// What a reference to a schema begins with.
const DEFINITIONS: &str = "#/$defs/";

/// What a manifest says of collections and their rows.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Manifest {
    collections: BTreeMap<String, Collection>,
    #[serde(rename = "$defs")]
    definitions: BTreeMap<String, Box<RawValue>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Collection {
    unique: Vec<String>,
    schema: Option<Reference>,
}

#[derive(Deserialize)]
struct Reference {
    #[serde(rename = "$ref")]
    to: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Schema {
    required: Vec<String>,
    properties: Names,
}

/// The names of an object's members, in its order.
#[derive(Default)]
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some((name, IgnoredAny)) = members.next_entry()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }

        from.deserialize_map(InOrder)
    }
}

impl Manifest {
    /// The members that a collection declares: unique ones, required ones, then the others, each kind in
    /// the order in which the manifest has it.
    fn declared(&self, collection: &str) -> Vec<String> {
        let Some(declared) = self.collections.get(collection) else { return Vec::new() };
        let schema = declared.schema.as_ref().and_then(|reference| self.schema(&reference.to));
        let Schema { required, properties: Names(properties) } = schema.unwrap_or_default();
        let is_required = |name: &&String| required.contains(name);
        let ordered = declared
            .unique
            .iter()
            .chain(properties.iter().filter(is_required))
            .chain(&required)
            .chain(&properties);
        let mut names: Vec<String> = Vec::new();
        for name in ordered {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    fn schema(&self, reference: &str) -> Option<Schema> {
        let literal = reference.strip_prefix(DEFINITIONS)?;
        let name = percent_decode_str(literal).decode_utf8_lossy();
        let text = self.definitions.get(&*pointer::name(&name));
        serde_json::from_str(text.or_else(|| self.definitions.get(literal))?.get()).ok()
    }
}

/// The members that a collection declares, in the order of the table; none where its manifest says nothing.
pub(super) async fn declared(
    context: &PageContext,
    app: &str,
    collection: &str,
) -> ApiResult<Vec<String>> {
    let path = format!("/v1/apps/{app}/manifest");
    let manifest = context.api.get_if_allowed::<Box<RawValue>>(&path).await?;
    let manifest = manifest.and_then(|text| serde_json::from_str::<Manifest>(text.get()).ok());
    Ok(manifest.unwrap_or_default().declared(collection))
}

/// The columns of a page of rows: the declared members, then those that most of its rows have.
pub(super) fn columns(declared: &[String], rows: &[Members]) -> Vec<String> {
    let mut counts = BTreeMap::<&String, usize>::new();
    for name in rows.iter().flat_map(|row| row.keys()) {
        *counts.entry(name).or_default() += 1;
    }
    let mut others: Vec<_> =
        counts.into_iter().filter(|(name, _)| !declared.contains(name)).collect();
    others.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let others = others.into_iter().map(|(name, _)| name);
    declared.iter().chain(others).take(COLUMNS_MAX).cloned().collect()
}
