//! `ingest`: inbound catch-hooks that turn a JSON body into a row.
//!
//! What is not here: hook URLs and secrets, and mapping a delivery.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use serde_json::Value;

use super::{Area, each};
use crate::{
    ErrorCode, Result,
    manifest::{
        Mode,
        members::{DOT_PATH_CHARS_MAX, Members, Scope, is_dot_path, is_field, no_such_field},
        model::Collection,
        shape::TopLevel,
        violations::{at, quoted, quoted_text},
    },
};

/// Characters of a hook's name.
const NAME_CHARS_MAX: usize = 64;

/// An inbound hook rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestRule {
    /// Its name, unique in the app.
    pub name: Box<str>,
    /// The collection that is written.
    pub collection: Arc<str>,
    /// Whether a delivery adds a row or may replace one.
    pub mode: IngestMode,
    /// Dotted path in the body by field of the row.
    pub map: BTreeMap<Box<str>, Box<str>>,
    /// Dotted path of a value that two deliveries of one thing share.
    pub dedupe_key: Option<Box<str>>,
    /// Answers the provider's URL verification by echoing its challenge.
    pub handshake_echo: bool,
    /// A delivery wakes the app.
    pub wake: bool,
    /// Deliveries must be signed.
    pub verify: bool,
}

/// What a delivery does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IngestMode {
    /// Adds a row.
    Append,
    /// Replaces the row with the same value of this unique field, or adds one.
    Upsert {
        /// The unique field.
        on: Arc<str>,
    },
}

impl Area for IngestRule {
    const MEMBERS: &'static [&'static str] = &[
        "name",
        "collection",
        "mode",
        "upsertOn",
        "map",
        "dedupeKey",
        "handshake",
        "wake",
        "verify",
    ];
}

pub(super) fn parse(top: &TopLevel<'_>, scope: &Scope<'_>) -> Result<Box<[IngestRule]>> {
    let mut names = HashSet::new();
    each(top, "ingest", ErrorCode::IngestInvalid, |mut members| {
        let name = name(&mut members);
        if let Some(name) = &name
            && !names.insert(name.clone())
        {
            members.refuse("name", format!("{name:?} is the name of another hook"));
        }
        rule(name, members, scope)
    })
}

fn rule(
    name: Option<Box<str>>,
    mut members: Members<'_, '_>,
    scope: &Scope<'_>,
) -> Option<IngestRule> {
    let collection = members.collection(scope);
    let mode = mode(&mut members, collection.as_deref());
    let map = map(&mut members, collection.as_deref(), scope);
    let dedupe_key = match members.get("dedupeKey") {
        None => None,
        Some(_) => dot_path(&mut members, "dedupeKey"),
    };
    let handshake_echo = members.choice("handshake", &[("echo", ())]).is_some();
    let wake = members.flag("wake");
    let verify = members.flag("verify");
    Some(IngestRule {
        name: name?,
        collection: Arc::clone(&collection?.name),
        mode: mode?,
        map: map?,
        dedupe_key,
        handshake_echo,
        wake,
        verify,
    })
}

/// `[a-z0-9][a-z0-9_-]{0,63}`
fn name(members: &mut Members<'_, '_>) -> Option<Box<str>> {
    let value = members.required("name")?;
    let is_word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let valid = value.as_str().filter(|text| {
        text.len() <= NAME_CHARS_MAX
            && text.bytes().next().is_some_and(is_word)
            && text.bytes().all(|b| is_word(b) || b == b'_' || b == b'-')
    });
    if valid.is_none() {
        let shown = quoted(value);
        members.refuse("name", format!("must match [a-z0-9][a-z0-9_-]{{0,63}}, not {shown}"));
    }
    valid.map(Into::into)
}

fn mode(members: &mut Members<'_, '_>, collection: Option<&Collection>) -> Option<IngestMode> {
    let is_upsert = members.required_choice("mode", &[("append", false), ("upsert", true)])?;
    match (is_upsert, members.get("upsertOn")) {
        (false, None) => Some(IngestMode::Append),
        (false, Some(_)) => {
            members.refuse("upsertOn", "goes with mode upsert only");
            None
        }
        (true, None) => {
            members.refuse("upsertOn", "is required by mode upsert");
            None
        }
        (true, Some(value)) => {
            // Without its collection, the rule is malformed already.
            let unique = &collection?.unique;
            let field = value.as_str().and_then(|text| unique.iter().find(|f| &***f == text));
            if field.is_none() {
                let shown = quoted(value);
                members.refuse("upsertOn", format!("{shown} is no unique field of the collection"));
            }
            field.map(|on| IngestMode::Upsert { on: Arc::clone(on) })
        }
    }
}

fn map(
    members: &mut Members<'_, '_>,
    collection: Option<&Collection>,
    scope: &Scope<'_>,
) -> Option<BTreeMap<Box<str>, Box<str>>> {
    let value = members.required("map")?;
    let path = members.at("map");
    let Value::Object(fields) = value else {
        members.refuse("map", format!("must be an object, not {}", quoted(value)));
        return None;
    };
    if fields.is_empty() {
        members.refuse("map", "must map at least one field");
        return None;
    }
    let is_short =
        |text: &str| scope.mode == Mode::Trust || text.chars().count() <= DOT_PATH_CHARS_MAX;
    let mut map = BTreeMap::new();
    for (field, source) in fields {
        let path = at(&path, field);
        if let Some(collection) = collection
            && (!is_field(field) || !scope.admits(collection, field))
        {
            members.violations.push(path, no_such_field(&collection.name, field));
            continue;
        }
        match source.as_str() {
            Some(text) if is_dot_path(text) && is_short(text) => {
                map.insert(field.as_str().into(), text.into());
            }
            Some(text) if is_dot_path(text) => {
                let message = format!("must have at most {DOT_PATH_CHARS_MAX} characters");
                members.violations.push(path, message);
            }
            _ => members
                .violations
                .push(path, format!("must be a dotted path, not {}", quoted(source))),
        }
    }
    Some(map)
}

fn dot_path(members: &mut Members<'_, '_>, name: &str) -> Option<Box<str>> {
    let text = members.text(name, DOT_PATH_CHARS_MAX)?;
    if !is_dot_path(text) {
        members.refuse(name, format!("{} is not a dotted path", quoted_text(text)));
        return None;
    }
    Some(text.into())
}
