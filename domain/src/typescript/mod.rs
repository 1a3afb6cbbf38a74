//! An app's own types in TypeScript, from the schemas of its manifest: they narrow what the SDK's
//! declarations (`sdk/app.d.ts`) leave open, by merging with their interfaces.
//!
//! What is not here: the SDK's own declarations, and whether a row fits its schema (`schema`). A
//! type says less than a schema: bounds, patterns and conditions have no type.

mod schema;
mod text;

use std::fmt::Write as _;

use self::text::quoted;
use crate::manifest::{Manifest, SchemaSource};

/// Declares the collections, events and roles of `manifest` as members of the SDK's interfaces.
/// What is declared without a schema holds any object. The same manifest always gives the same
/// text.
#[must_use]
pub fn declarations(manifest: &Manifest) -> String {
    let mut out = String::from("declare namespace Rookery {\n");
    let collections = manifest.collections.iter().map(|(name, it)| (&**name, it.schema.as_ref()));
    interface(&mut out, "Collections", "The data of each collection's rows.", collections);
    let events = manifest.events.iter().map(|(name, it)| (&**name, it.schema.as_ref()));
    interface(&mut out, "Events", "The data of each custom event.", events);
    out.push_str("  /** The custom roles. */\n  interface Roles {\n");
    for name in manifest.roles.keys() {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "    {}: true;", quoted(name));
    }
    out.push_str("  }\n}\n");
    out
}

fn interface<'a>(
    out: &mut String,
    name: &str,
    about: &str,
    members: impl Iterator<Item = (&'a str, Option<&'a SchemaSource>)>,
) {
    let _ = writeln!(out, "  /** {about} */\n  interface {name} {{");
    for (member, source) in members {
        let _ = writeln!(out, "    {}: {};", quoted(member), root(source));
    }
    out.push_str("  }\n");
}

/// The type of what stands under a schema: always an object.
fn root(source: Option<&SchemaSource>) -> String {
    // The text was checked when the manifest was; what cannot be read says nothing.
    let schema = source.and_then(|source| serde_json::from_str(&source.text).ok());
    schema.map_or_else(|| schema::ANY_OBJECT.to_owned(), |schema| schema::of_object(&schema))
}
