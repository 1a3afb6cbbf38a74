//! What a manifest says that is accepted and may not do what was meant.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use super::{Manifest, Visibility, violations::at};
use crate::{schema, text::quoted};

/// What is said of a rule whose feature does not exist yet.
const NOT_ACTIVE: &str = "not active yet";
/// Files that are gone and named one by one.
const FILES_NAMED_MAX: usize = 5;
/// Rows that stay detached and are named one by one.
const KEYS_NAMED_MAX: usize = 5;

/// Bytes that the origins of a manifest may add to the policy of its pages before a deploy warns: with
/// these the policy has about 3 KiB, and the whole head of a page about 4.
const POLICY_ORIGINS_BYTES_MAX: usize = 2_560;

/// Something that a deploy accepts and that may not do what was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// JSON pointer into the manifest; `/assets` for the files beside it.
    pub path: String,
    /// What is to be known about it.
    pub message: Cow<'static, str>,
}

impl Warning {
    fn new(path: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    /// The manifest makes an app `declared` that was `current`: its owner may have set that.
    #[must_use]
    pub fn visibility(current: Visibility, declared: Visibility) -> Self {
        let (current, declared) = (current.as_str(), declared.as_str());
        let message = format!(
            "the manifest makes the app `{declared}`, which was `{current}` before this deploy; \
             without the member it stays as its owner set it"
        );
        Self::new("/visibility", message)
    }

    /// The list of files that a deploy brings lacks these, which `version` had.
    #[must_use]
    pub fn files_gone(version: u32, gone: &[String]) -> Option<Self> {
        let named = gone.iter().take(FILES_NAMED_MAX).map(|path| format!("`{path}`"));
        let mut named = named.collect::<Vec<_>>().join(", ");
        match gone.len() {
            0 => return None,
            all if all > FILES_NAMED_MAX => {
                named.push_str(&format!(" and {} more", all - FILES_NAMED_MAX));
            }
            _ => {}
        }
        let message = format!(
            "the list replaces the whole list of version {version}, and {} of its files are not in \
             it: {named}",
            gone.len()
        );
        Some(Self::new("/assets", message))
    }

    /// A request that brings no manifest makes an app `asked`, where the one in force makes it
    /// `declared`.
    #[must_use]
    pub fn visibility_apart(asked: Visibility, declared: Visibility) -> Self {
        let (asked, declared) = (asked.as_str(), declared.as_str());
        let message = format!(
            "the app is `{asked}` by this request, and the manifest in force declares `{declared}`: \
             a deploy that sends that manifest again makes the app `{declared}` again"
        );
        Self::new("/visibility", message)
    }

    /// The version before declared `role`, this one does not, and so many members and grant links have
    /// it; `None` when none do.
    #[must_use]
    pub fn role_gone(role: &str, members: usize, links: usize) -> Option<Self> {
        let counted = |count: usize, what: &str| match count {
            0 => None,
            1 => Some(format!("1 {what}")),
            count => Some(format!("{count} {what}s")),
        };
        let holders = [counted(members, "member"), counted(links, "grant link")];
        let holders = holders.into_iter().flatten().collect::<Vec<_>>().join(" and ");
        if holders.is_empty() {
            return None;
        }
        let have = if members + links == 1 { "has" } else { "have" };
        let members = if members > 0 { "it gives its members nothing" } else { "" };
        let links = if links > 0 { "its links open nothing" } else { "" };
        let both = if members.is_empty() || links.is_empty() { "" } else { " and " };
        let message = format!(
            "role {} is not declared any more: {holders} {have} it. Until a version declares it \
             again, {members}{both}{links}",
            quoted(role)
        );
        Some(Self::new(at("/roles", role), message))
    }

    /// The origins that pages may reach make their policy long.
    fn long_policy(manifest: &Manifest) -> Option<Self> {
        let bytes_of = |origins: &[String]| origins.iter().map(|one| one.len() + 1).sum::<usize>();
        // A host may be fetched from and be a source of images.
        let hosts = 2 * bytes_of(&manifest.external_hosts);
        let embeds = bytes_of(&manifest.embeds);
        if hosts + embeds <= POLICY_ORIGINS_BYTES_MAX {
            return None;
        }
        let path = if hosts < embeds { "/embeds" } else { "/externalHosts" };
        let message = format!(
            "`externalHosts` and `embeds` make up {} bytes of the Content-Security-Policy in the head of \
             every answer to a visitor: many proxies refuse heads above 4 KiB, unless they are set \
             otherwise. A wildcard (`*.example.org`) stands for many hosts",
            hosts + embeds
        );
        Some(Self::new(path, message))
    }

    /// So many live rows of `collection` are beyond the bounds that are in force from this deploy on.
    #[must_use]
    pub fn outlived(collection: &str, rows: u64) -> Self {
        let message = format!(
            "rows beyond these bounds, which the next pruning moves to the trash, the oldest first: {rows}"
        );
        Self::new(at(&at("/collections", collection), "retention"), message)
    }

    /// Rows of `collection` fit again and stay detached.
    #[must_use]
    pub fn crowded_out(collection: &str, crowded: &CrowdedOut) -> Self {
        let CrowdedOut { rows, keys } = crowded;
        let named = keys.iter().map(|key| quoted(key)).collect::<Vec<_>>().join(", ");
        let more = if *rows > keys.len() as u64 { ", …" } else { "" };
        let message = format!(
            "rows that stay detached because others hold their unique values: {rows} ({named}{more})"
        );
        Self::new(at(&at("/collections", collection), "unique"), message)
    }
}

/// The warnings about `manifest`, whose text was read as `value`.
#[must_use]
pub fn warnings(value: &Value, manifest: &Manifest) -> Vec<Warning> {
    let mut warnings: Vec<_> =
        manifest.inactive.iter().map(|path| Warning::new(path, NOT_ACTIVE)).collect();
    warnings.extend(Warning::long_policy(manifest));
    let of_rows = manifest.collections.values().filter_map(|decl| decl.schema.as_ref());
    let of_events = manifest.events.values().filter_map(|decl| decl.schema.as_ref());
    let used: BTreeSet<&Arc<str>> = of_rows.chain(of_events).map(|source| &source.name).collect();
    for (name, definition) in value.get("$defs").and_then(Value::as_object).into_iter().flatten() {
        let path = at("/$defs", name);
        if used.contains(&Arc::from(name.as_str()))
            && let Some((keyword, message)) = schema::excludes_objects(definition)
        {
            warnings.push(Warning::new(format!("{path}/{keyword}"), message));
        }
        let doubts = schema::doubts(definition);
        for doubt in doubts.list {
            warnings.push(Warning::new(format!("{path}{}", doubt.pointer), doubt.message));
        }
        if doubts.left_out > 0 {
            let message =
                format!("{} more keywords that JSON Schema does not know", doubts.left_out);
            warnings.push(Warning::new(path, message));
        }
    }
    warnings
}

/// Rows of a collection that fit again and stay detached, because others hold their unique values.
#[derive(Debug, Clone, Default)]
pub struct CrowdedOut {
    rows: u64,
    /// Up to [`KEYS_NAMED_MAX`] of them.
    keys: Vec<Box<str>>,
}

impl CrowdedOut {
    /// Counts the row at `key`.
    pub fn add(&mut self, key: &str) {
        self.rows += 1;
        if self.keys.len() < KEYS_NAMED_MAX {
            self.keys.push(key.into());
        }
    }
}

/// Those about rows that stay detached, by collection.
pub fn crowded_out(rows: &BTreeMap<Arc<str>, CrowdedOut>) -> impl Iterator<Item = Warning> + '_ {
    rows.iter().map(|(collection, crowded)| Warning::crowded_out(collection, crowded))
}
