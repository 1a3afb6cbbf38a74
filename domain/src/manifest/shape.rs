//! The top-level shape: known members of the right JSON types, counts, and the members that need
//! nothing but themselves.
//!
//! What is not here: the content of collections, hosts and rules.

use std::{cell::RefCell, sync::LazyLock};

use serde_json::{Map, Value};

use super::{
    Mode,
    members::{Members, NAME_BYTES_MAX, is_name, unknown},
    model::{Capability, Visibility},
    violations::{Violations, at, one, quoted},
};
use crate::{Error, ErrorCode, Result, limits::Limits};

static NO_MEMBERS: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

const OBJECTS: [&str; 4] = ["collections", "$defs", "roles", "events"];
const ARRAYS: [&str; 8] = [
    "capabilities",
    "externalHosts",
    "embeds",
    "notify",
    "schedules",
    "webhooks",
    "ingest",
    "agentTasks",
];
const COLLECTION: [&str; 8] = [
    "schema",
    "permissions",
    "unique",
    "appendOnly",
    "anonWriteBudget",
    "antiAbuse",
    "relations",
    "retention",
];
const PERMISSIONS: [&str; 5] = ["read", "write", "update", "delete", "countRead"];

/// A manifest whose top level has the right shape.
#[derive(Debug)]
pub(super) struct TopLevel<'a> {
    map: &'a Map<String, Value>,
    pub(super) mode: Mode,
    refused: RefCell<Option<Error>>,
    pub(super) cdn: bool,
    pub(super) visibility: Option<Visibility>,
}

impl<'a> TopLevel<'a> {
    /// The object member `name`, empty when absent.
    pub(super) fn object(&self, name: &str) -> &'a Map<String, Value> {
        self.map.get(name).and_then(Value::as_object).unwrap_or(&NO_MEMBERS)
    }

    /// Whether it is looked into what has this name: of a new manifest not where it is too long. It is
    /// refused by itself, and would stand before each place in what it holds.
    pub(super) fn looks_into(&self, name: &str) -> bool {
        self.mode == Mode::Trust || name.len() <= NAME_BYTES_MAX
    }

    /// The collections that are looked into.
    pub(super) fn collections(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.object("collections").iter().filter(|(name, _)| self.looks_into(name))
    }

    /// The array member `name`, empty when absent.
    pub(super) fn array(&self, name: &str) -> &'a [Value] {
        self.map.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Ends a step. What it refuses of a stored manifest is left out, and the first is remembered.
    ///
    /// # Errors
    /// The step's, of a new manifest.
    pub(super) fn finish(&self, violations: Violations) -> Result<()> {
        match (violations.finish(), self.mode) {
            (Err(error), Mode::Trust) => {
                self.refused.borrow_mut().get_or_insert(error);
                Ok(())
            }
            (done, _) => done,
        }
    }

    /// What was refused first of a stored manifest.
    pub(super) fn refused(self) -> Option<Box<str>> {
        self.refused.into_inner().map(|error| error.to_string().into())
    }

    /// # Errors
    /// `too_many_collections`, `too_many_external_hosts` or `too_many_embeds`.
    pub(super) fn check_counts(&self, limits: &Limits) -> Result<()> {
        let counts = [
            (
                "collections",
                self.object("collections").len(),
                limits.max_collections_per_app,
                ErrorCode::TooManyCollections,
            ),
            (
                "externalHosts",
                self.array("externalHosts").len(),
                limits.max_external_hosts,
                ErrorCode::TooManyExternalHosts,
            ),
            ("embeds", self.array("embeds").len(), limits.max_embeds, ErrorCode::TooManyEmbeds),
        ];
        for (name, count, max, code) in counts {
            if count > max {
                let message = format!("has {count} entries, at most {max} are allowed");
                return Err(one(code, &at("", name), message));
            }
        }
        Ok(())
    }
}

/// The top level; what is `invalid` about it is an unknown member, or one of the wrong JSON type.
///
/// # Errors
/// `manifest_invalid`: not an object.
pub(super) fn top_level<'a>(
    value: &'a Value,
    mode: Mode,
    invalid: &mut Violations,
) -> Result<TopLevel<'a>> {
    let Value::Object(map) = value else {
        let message = format!("must be an object, not {}", quoted(value));
        return Err(one(ErrorCode::ManifestInvalid, "", message));
    };
    let mut cdn = false;
    let mut visibility = None;
    for (name, value) in map {
        let expected = match name.as_str() {
            name if OBJECTS.contains(&name) => (!value.is_object()).then_some("an object"),
            name if ARRAYS.contains(&name) => (!value.is_array()).then_some("an array"),
            "cdn" => {
                cdn = value == &Value::Bool(true);
                (!value.is_boolean()).then_some("true or false")
            }
            "visibility" => {
                visibility = value.as_str().and_then(|text| text.parse().ok());
                visibility.is_none().then_some(Visibility::WORDS)
            }
            _ => {
                let known = [&OBJECTS[..], &ARRAYS, &["cdn", "visibility"]].concat();
                invalid.push(at("", name), unknown(&known));
                None
            }
        };
        if let Some(expected) = expected {
            invalid.push(at("", name), format!("must be {expected}, not {}", quoted(value)));
        }
    }
    Ok(TopLevel { map, mode, refused: RefCell::default(), cdn, visibility })
}

/// What is `invalid` one level down: in collections, their permissions and event types.
pub(super) fn inner(top: &TopLevel<'_>, invalid: &mut Violations) {
    for (name, collection) in top.collections() {
        let path = at("/collections", name);
        known_members(collection, &path, &COLLECTION, invalid);
        if let Some(permissions @ Value::Object(_)) = collection.get("permissions") {
            known_members(permissions, &at(&path, "permissions"), &PERMISSIONS, invalid);
        }
    }
    for (name, event) in top.object("events") {
        let path = at("/events", name);
        if !name.split('.').all(is_name) || name.len() > NAME_BYTES_MAX {
            invalid.push(
                path.clone(),
                "an event type is one or more words joined by dots, each a lowercase letter, then \
                 lowercase letters, digits, _ or -; at most 64 characters",
            );
        }
        if top.looks_into(name) {
            known_members(event, &path, &["schema"], invalid);
        }
    }
}

fn known_members(value: &Value, path: &str, known: &[&str], violations: &mut Violations) {
    // Opening reports every unknown member; nothing is read from it here.
    let _ = Members::open(value, path.to_owned(), known, violations);
}

/// Reads what the page may ask of the device.
///
/// # Errors
/// `capability_invalid`: an entry outside the three, or twice.
pub(super) fn capabilities(top: &TopLevel<'_>) -> Result<Vec<Capability>> {
    let mut violations = Violations::new(ErrorCode::CapabilityInvalid);
    let mut capabilities = Vec::new();
    for (index, value) in top.array("capabilities").iter().enumerate() {
        let path = at("/capabilities", index);
        let capability = match value.as_str() {
            Some("camera") => Capability::Camera,
            Some("microphone") => Capability::Microphone,
            Some("geolocation") => Capability::Geolocation,
            _ => {
                let shown = quoted(value);
                violations
                    .push(path, format!("must be camera, microphone or geolocation, not {shown}"));
                continue;
            }
        };
        if capabilities.contains(&capability) {
            violations.push(path, format!("{} is named twice", quoted(value)));
        } else {
            capabilities.push(capability);
        }
    }
    top.finish(violations)?;
    Ok(capabilities)
}
