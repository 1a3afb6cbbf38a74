//! The manifest (part 2.2): what an app declares, parsed and checked.
//!
//! [`parse`] admits a manifest or refuses it with the first failing *kind* of violation. A kind is
//! an error code at one step, and the steps are always taken in this order:
//!
//! 1. `manifest_too_large`: the manifest's bytes;
//! 2. `manifest_invalid`: an object with known members of the right JSON types;
//! 3. `too_many_collections`, `too_many_external_hosts`, `too_many_embeds`;
//! 4. `collection_name_invalid`;
//! 5. `manifest_invalid`: known members of collections, permissions, event types and `$defs`;
//! 6. `manifest_too_large`, then `collection_schema_invalid`: the schemas under `$defs`, used or
//!    not, and the references to them;
//! 7. `manifest_invalid`: roles;
//! 8. `permission_role_invalid`;
//! 9. `manifest_invalid`: unique, appendOnly, anonWriteBudget, antiAbuse, relations, retention;
//! 10. `capability_invalid`, `external_host_invalid`, `embed_invalid`;
//! 11. `notify_invalid`, `notify_channel_not_enabled`, `notify_push_requires_public`,
//!     `notify_submitter_not_enabled`, `schedule_invalid`, `webhook_invalid`, `ingest_invalid`,
//!     `agent_task_invalid`.
//!
//! `details.path` is the JSON pointer of the first violation (of the place where a missing member
//! belongs), `details.violations` lists the violations of that kind, at most
//! [`VIOLATIONS_MAX`] and no more than 128 KiB of them; `details.left_out` counts the others, if
//! there are any. Where the kind is `manifest_invalid`, those of its later steps stand there as well.
//!
//! What is not here: whether a new manifest may replace an old one (`compat`), and who may do what
//! under it (`access`).

mod collections;
mod hosts;
mod members;
pub mod model;
mod permissions;
mod roles;
pub mod rules;
mod schemas;
mod shape;
mod violations;
mod warnings;

use std::sync::Arc;

use serde_json::Value;

use crate::{Error, ErrorCode, Result, limits::Limits};
pub use hosts::covers_host;
use members::Scope;
pub use model::*;
pub use rules::Rules;
pub use violations::VIOLATIONS_MAX;
use violations::Violations;
pub use warnings::{CrowdedOut, Warning, crowded_out, warnings};

/// What the rules need to know from outside the manifest.
#[derive(Debug, Clone, Copy, Default)]
pub struct ParseContext<'a> {
    /// Hosts that serve this app, without scheme or port: its own origin and its custom domains.
    pub own_hosts: &'a [&'a str],
    /// The visibility that holds when the manifest declares none: the request's, or the app's
    /// present one. `None` means private.
    pub visibility: Option<Visibility>,
}

/// How far a manifest is to be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// A new one: every rule, and a trial compilation of its schemas.
    Check,
    /// A stored one, which was checked when it was deployed.
    Trust,
}

/// Parses and checks a manifest. `raw_len` is the length of its text in bytes, as it was sent.
///
/// # Errors
/// The first failing kind, in the order that this module's page lists.
pub fn parse(
    value: &Value,
    raw_len: usize,
    limits: &Limits,
    context: &ParseContext<'_>,
) -> Result<Manifest> {
    check_size(raw_len, limits)?;
    build(value, limits, context, Mode::Check)
}

/// About how many bytes of memory the manifest of this text takes, without its compiled schemas: at most
/// four times its text.
#[must_use]
pub const fn weight_bytes(text: &str) -> usize {
    4 * text.len()
}

/// Checks the length of a manifest's text, before it is read at all.
///
/// # Errors
/// `manifest_too_large`.
pub fn check_size(raw_len: usize, limits: &Limits) -> Result<()> {
    if raw_len <= limits.max_manifest_bytes { Ok(()) } else { Err(too_large(limits)) }
}

/// `manifest_too_large`, of a text that nobody has read to its end.
#[must_use]
pub fn too_large(limits: &Limits) -> Error {
    let message = format!("has more than {} bytes", limits.max_manifest_bytes);
    violations::one(ErrorCode::ManifestTooLarge, "", message)
}

/// Reads back a manifest that [`parse`] admitted before, here or in an earlier release. No schema is
/// compiled, and nothing is refused: not by limits that were lowered since, not by rules that came
/// later. What such a rule cannot make sense of is left out, and [`Manifest::refused`] tells the first
/// of it; so an app lives on, and its owner can mend it.
///
/// # Errors
/// `manifest_invalid` if it is no object at all.
pub fn reload(value: &Value) -> Result<Manifest> {
    let unbounded = Limits {
        max_collections_per_app: usize::MAX,
        max_external_hosts: usize::MAX,
        max_embeds: usize::MAX,
        max_schema_bytes: usize::MAX,
        row_bytes_max: usize::MAX,
        notify_external_enabled: true,
        ..Limits::default()
    };
    // Push rules were checked against the visibility of their deploy, which may have changed.
    let context = ParseContext { own_hosts: &[], visibility: Some(Visibility::Public) };
    build(value, &unbounded, &context, Mode::Trust)
}

fn build(
    value: &Value,
    limits: &Limits,
    context: &ParseContext<'_>,
    mode: Mode,
) -> Result<Manifest> {
    // Once something is `manifest_invalid`, the steps of other codes refuse nothing any more, and
    // those of this one say all that is.
    let mut invalid = Violations::new(ErrorCode::ManifestInvalid);
    let top = shape::top_level(value, mode, &mut invalid)?;
    if invalid.is_empty() {
        top.check_counts(limits)?;
        collections::check_names(&top)?;
    }
    shape::inner(&top, &mut invalid);
    let schemas = unless_invalid(schemas::check(&top, limits), &invalid)?;
    let roles = roles::parse(&top, &mut invalid);
    let mut permissions = unless_invalid(permissions::parse(&top, &roles), &invalid)?;
    let collections = collections::parse(&top, &schemas, &mut permissions, &mut invalid);
    top.finish(invalid)?;
    let events = collections::events(&top, &schemas);
    let capabilities = shape::capabilities(&top)?;
    let external_hosts =
        hosts::parse_list(&top, "externalHosts", ErrorCode::ExternalHostInvalid, context)?;
    let embeds = hosts::parse_list(&top, "embeds", ErrorCode::EmbedInvalid, context)?;
    let visibility = top.visibility;
    let scope = Scope {
        collections: &collections,
        schemas: &schemas,
        roles: &roles,
        public: visibility.or(context.visibility) == Some(Visibility::Public),
        external_sending: limits.notify_external_enabled,
        mode,
    };
    let rules = rules::parse(&top, &scope)?;
    let targets = rules
        .webhooks
        .iter()
        .map(|rule| WebhookTarget { collection: rule.collection.clone(), url: rule.url.clone() });
    let webhook_targets = targets.collect();
    let inactive = rules.pointers();
    Ok(Manifest {
        collections,
        roles,
        events,
        capabilities,
        external_hosts,
        embeds,
        cdn: top.cdn,
        visibility,
        webhook_targets,
        refused: top.refused(),
        rules: (!inactive.is_empty()).then(|| Box::new(rules)),
        inactive,
    })
}

/// What a step of another code made, or its refusal; nothing in place of one that comes behind
/// what is `invalid`.
fn unless_invalid<T: Default>(step: Result<T>, invalid: &Violations) -> Result<T> {
    if invalid.is_empty() { step } else { Ok(step.unwrap_or_default()) }
}

impl Manifest {
    /// The collection `name`.
    ///
    /// # Errors
    /// `collection_not_found`.
    pub fn collection(&self, name: &str) -> Result<&Arc<Collection>> {
        self.collections.get(name).ok_or_else(|| Error::collection_not_found(name))
    }

    /// Whether it declares the custom role `name`. One that it does not gives nothing.
    #[must_use]
    pub fn declares_role(&self, name: &str) -> bool {
        self.roles.contains_key(name)
    }
}
