//! The compatibility gate (parts 7 and 9): what a new manifest takes away from live rows, or shows
//! to somebody who did not see it before.
//!
//! A pure function of the two manifests and of a few facts about live rows. Removing access is
//! always compatible, and so is a new collection; one that comes back with rows stands in the old
//! manifest as it was (decision 17). A change of visibility is no break: the owner
//! sets it apart from the manifest as well. What is not here: carrying a forced deploy out, and
//! `unique_backfill_conflict`, which no force overrides.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use crate::{
    Error, ErrorCode,
    access::Subject,
    manifest::{Collection, Manifest, Permissions, SchemaSource, WebhookTarget, covers_host},
};

/// How many rows that fail a new schema are told of one by one.
pub const EXAMPLES_MAX: usize = 5;

/// Facts about live rows that the gate asks for.
pub trait LiveRows {
    /// Live rows of a collection of the old manifest.
    fn count(&self, collection: &str) -> u64;
    /// The live ones, and those that an earlier deploy set aside: they come back under the lists that
    /// are in force then.
    fn kept(&self, collection: &str) -> u64;
    /// The live ones that do not validate against `schema`. Asked only when the schema changed.
    fn failing(&self, collection: &str, schema: &SchemaSource) -> Failing;
}

/// Live rows that do not validate against a new schema.
#[derive(Debug, Clone, Default)]
pub struct Failing {
    /// How many there are.
    pub rows: u64,
    /// Up to [`EXAMPLES_MAX`] of them.
    pub examples: Vec<Example>,
}

/// A row that fails its new schema, and the first reason why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Example {
    /// The row's key.
    pub key: Box<str>,
    /// JSON pointer into its data; empty for the data itself.
    pub path: String,
    /// What is wrong there. It quotes nothing of the data.
    pub message: String,
}

/// One reason why a redeploy needs `force`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Break {
    /// What kind of break it is.
    pub kind: BreakKind,
    /// The collection, for the kinds that concern one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<Arc<str>>,
    /// JSON pointer into the new manifest; for a removed collection, into the old one.
    pub path: String,
    /// What changed, in words.
    pub message: String,
    /// Rows that it concerns: the live ones of the collection, or those that fail its new schema. What
    /// is disclosed includes the rows that are set aside.
    pub rows_affected: u64,
    /// Some of those that fail a new schema.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
}

/// The kinds of break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakKind {
    /// A collection is no longer declared, also when it has no row.
    CollectionRemoved,
    /// Live rows fail the collection's new schema.
    SchemaTightened,
    /// A collection became append-only.
    AppendOnlyAdded,
    /// Somebody or some host may reach what it could not.
    DisclosureWidened,
}

crate::all::all_of!(BreakKind: CollectionRemoved SchemaTightened AppendOnlyAdded DisclosureWidened);

/// Every break of replacing `old` with `new`: collection by collection in the order of names, then
/// those of the whole app.
#[must_use]
pub fn breaks(old: &Manifest, new: &Manifest, rows: &impl LiveRows) -> Vec<Break> {
    let mut breaks = Vec::new();
    for (name, before) in &old.collections {
        match new.collections.get(name) {
            None => breaks.push(Break {
                kind: BreakKind::CollectionRemoved,
                collection: Some(Arc::clone(name)),
                path: format!("/collections/{name}"),
                message: format!("collection {name:?} is removed"),
                rows_affected: rows.count(name),
                examples: Vec::new(),
            }),
            Some(after) => collection(before, after, rows, &mut breaks),
        }
    }
    whole_app(old, new, &mut breaks);
    breaks
}

/// The refusal of a redeploy that was not forced: `manifest_incompatible_redeploy` with
/// `details.breaks`.
#[must_use]
pub fn refusal(breaks: &[Break]) -> Error {
    let first = breaks.first().map_or("it is incompatible", |first| first.message.as_str());
    let more = match breaks.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    Error::new(
        ErrorCode::ManifestIncompatibleRedeploy,
        format!("the new manifest needs force=true: {first}{more}"),
    )
    .with_details(json!({"breaks": breaks}))
}

/// A refusal that no force overrides, of a rehearsal that would have told `breaks`: it tells them
/// too, in `details.breaks`.
#[must_use]
pub fn refused_beside(mut error: Error, breaks: &[Break]) -> Error {
    if !breaks.is_empty() {
        error.details.get_or_insert_with(|| Box::new(json!({})))["breaks"] = json!(breaks);
    }
    error
}

fn collection(
    before: &Collection,
    after: &Collection,
    rows: &impl LiveRows,
    breaks: &mut Vec<Break>,
) {
    let name = &after.name;
    let found = |kind, member: &str, message, rows_affected| Break {
        kind,
        collection: Some(Arc::clone(name)),
        path: format!("/collections/{name}/{member}"),
        message,
        rows_affected,
        examples: Vec::new(),
    };
    if let Some(schema) = &after.schema
        && before.schema.as_ref().is_none_or(|old| old.hash != schema.hash)
    {
        let failing = rows.failing(name, schema);
        if failing.rows > 0 {
            let message = match failing.rows {
                1 => format!("1 live row of {name:?} fails its new schema"),
                many => format!("{many} live rows of {name:?} fail its new schema"),
            };
            let found = found(BreakKind::SchemaTightened, "schema", message, failing.rows);
            breaks.push(Break { examples: failing.examples, ..found });
        }
    }
    if after.append_only && !before.append_only {
        let message = format!("rows of {name:?} can no longer be updated or deleted");
        let count = rows.count(name);
        breaks.push(found(BreakKind::AppendOnlyAdded, "appendOnly", message, count));
    }
    for (list, member, verb) in LISTS {
        let known = list(&before.permissions);
        for subject in list(&after.permissions).iter().filter(|new| !is_implied(known, new)) {
            let message = format!("{subject} may now {verb} {name:?}");
            let count = if member == "write" { 0 } else { rows.kept(name) };
            let member = format!("permissions/{member}");
            breaks.push(found(BreakKind::DisclosureWidened, &member, message, count));
        }
    }
}

type List = fn(&Permissions) -> &[Subject];

/// The five lists, their member in the manifest, and what they let a subject do.
const LISTS: [(List, &str, &str); 5] = [
    (|lists| &lists.read, "read", "read"),
    (|lists| &lists.write, "write", "create rows of"),
    (|lists| &lists.update, "update", "update rows of"),
    (|lists| &lists.delete, "delete", "delete rows of"),
    (|lists| &lists.count_read, "countRead", "count rows of"),
];

/// Whether every caller who satisfies `new` satisfies `old` too, on the same rows.
///
/// `anyone` implies all. `member` implies `owner`, because the owner satisfies `member`; a custom
/// role is implied by neither, because a grant-link holder has it without being a member. A role
/// implies its row-scoped forms, and those imply one another as their rows do.
#[must_use]
pub fn is_implied(old: &[Subject], new: &Subject) -> bool {
    let creator = || old.contains(&Subject::Creator);
    let editor = || old.iter().any(|subject| matches!(subject, Subject::Editor { .. }));
    if old.contains(&Subject::Anyone) {
        return true;
    }
    match new {
        Subject::Anyone => false,
        Subject::Member => old.contains(&Subject::Member),
        Subject::Owner => old.contains(&Subject::Owner) || old.contains(&Subject::Member),
        Subject::Role(_) => old.contains(new),
        Subject::Creator => creator(),
        Subject::Editor { .. } => editor(),
        Subject::RoleOwn(role) => {
            let of_creator = || creator() || old.contains(&Subject::RoleCreator(Arc::clone(role)));
            old.contains(new)
                || old.contains(&Subject::Role(Arc::clone(role)))
                || (editor() && of_creator())
        }
        Subject::RoleCreator(role) => {
            old.contains(new)
                || old.contains(&Subject::Role(Arc::clone(role)))
                || old.contains(&Subject::RoleOwn(Arc::clone(role)))
                || creator()
        }
    }
}

fn whole_app(old: &Manifest, new: &Manifest, breaks: &mut Vec<Break>) {
    let mut widened = |path: String, message: String| {
        breaks.push(Break {
            kind: BreakKind::DisclosureWidened,
            collection: None,
            path,
            message,
            rows_affected: 0,
            examples: Vec::new(),
        });
    };
    for (index, capability) in new.capabilities.iter().enumerate() {
        if !old.capabilities.contains(capability) {
            let name = capability.as_str();
            widened(format!("/capabilities/{index}"), format!("the page may now use {name}"));
        }
    }
    if new.cdn && !old.cdn {
        widened("/cdn".to_owned(), "the page may now load from public CDNs".to_owned());
    }
    let hosts = [
        ("externalHosts", &old.external_hosts, &new.external_hosts, "talk to"),
        ("embeds", &old.embeds, &new.embeds, "embed"),
    ];
    for (member, before, after, verb) in hosts {
        for (index, host) in after.iter().enumerate() {
            if !before.iter().any(|known| covers_host(known, host)) {
                widened(format!("/{member}/{index}"), format!("the page may now {verb} {host}"));
            }
        }
    }
    for (index, target) in new.webhook_targets.iter().enumerate() {
        let WebhookTarget { collection, url } = target;
        let is_known = old.webhook_targets.iter().any(|known| known.url == *url);
        // What goes where others go already is more only of a collection that has rows.
        let is_more = !is_known || old.collections.contains_key(collection);
        if is_more && !old.webhook_targets.contains(target) {
            // Only its origin: a target's path and query often carry a secret.
            let origin = url::Url::parse(url).map_or_else(
                |_| "a new target".to_owned(),
                |url| url.origin().ascii_serialization(),
            );
            let member = if is_known { "collection" } else { "url" };
            let message =
                format!("rows of {collection:?} may now be sent to a webhook at {origin}");
            widened(format!("/webhooks/{index}/{member}"), message);
        }
    }
}
