//! The checked manifest: every value in here has passed every rule of part 2.2.

use std::{collections::BTreeMap, str::FromStr, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::rules::Rules;
use crate::{
    access::{Subject, SubjectList},
    text::quoted,
};

/// A whole manifest.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    /// Declared collections by name.
    pub collections: BTreeMap<Arc<str>, Arc<Collection>>,
    /// Custom roles by name.
    pub roles: BTreeMap<Arc<str>, Role>,
    /// Custom event types by name (contract part 6).
    pub events: BTreeMap<Arc<str>, EventDecl>,
    /// Browser capabilities, in declared order.
    pub capabilities: Vec<Capability>,
    /// Origins the page fetches from, normalised.
    pub external_hosts: Vec<String>,
    /// Origins the page embeds, normalised.
    pub embeds: Vec<String>,
    /// Whether the page may load from the public CDNs.
    pub cdn: bool,
    /// The declared visibility; `None` leaves it to the request, then to `private`.
    pub visibility: Option<Visibility>,
    /// Where rows are sent, one per `webhooks` rule and in its order: what the disclosure gate compares.
    pub webhook_targets: Vec<WebhookTarget>,
    /// Rules of features that react to rows; `None` when there is none, as in most apps.
    pub rules: Option<Box<Rules>>,
    /// JSON pointers of the rules that are valid but not active yet.
    pub inactive: Vec<String>,
    /// Of one that was read back: what a rule that came later refuses of it first. It is left out.
    pub refused: Option<Box<str>>,
}

/// That the rows of a collection are sent somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookTarget {
    /// The collection.
    pub collection: Arc<str>,
    /// The URL, normalised. Its path and query often carry a secret.
    pub url: Box<str>,
}

/// A declared collection.
#[derive(Debug, Clone)]
pub struct Collection {
    /// Its name.
    pub name: Arc<str>,
    /// Its row schema; `None` accepts any object.
    pub schema: Option<SchemaSource>,
    /// Who may do what.
    pub permissions: Permissions,
    /// Fields that are unique among live rows.
    pub unique: Vec<Arc<str>>,
    /// Rows can be created but not updated or deleted.
    pub append_only: bool,
    /// Bounds on writes of visitors who have no right but that of `anyone`.
    pub anon_write_budget: Option<AnonWriteBudget>,
    /// Create and upsert need a challenge answer.
    pub challenge: bool,
    /// Relations by backing field.
    pub relations: BTreeMap<Arc<str>, Relation>,
    /// The author's default bounds.
    pub retention: Retention,
}

impl Collection {
    /// The same collection as if nobody but the owner could ever reach it.
    #[must_use]
    pub fn for_the_owner_alone(&self) -> Self {
        let owner = || [Subject::Owner].into_iter().collect();
        let permissions = Permissions {
            read: owner(),
            write: owner(),
            update: owner(),
            delete: owner(),
            count_read: owner(),
        };
        Self { permissions, append_only: false, ..self.clone() }
    }
}

/// A row or event schema: the object under `$defs`, not yet compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaSource {
    /// The name under `$defs`.
    pub name: Arc<str>,
    /// Its text, minified; equal schemas have equal text.
    pub text: Arc<str>,
    /// SHA-256 of `text`: the key of the shared cache of compiled validators.
    pub hash: [u8; 32],
}

/// The permission lists of a collection, `update` already resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Who reads rows.
    pub read: SubjectList,
    /// Who creates rows.
    pub write: SubjectList,
    /// Who updates rows; equals `write` when the manifest leaves it out.
    pub update: SubjectList,
    /// Who deletes rows.
    pub delete: SubjectList,
    /// Who counts rows; empty when the manifest leaves it out.
    pub count_read: SubjectList,
}

impl Permissions {
    /// Whether any of the lists names the custom role, in whatever form.
    #[must_use]
    pub fn names_role(&self, role: &str) -> bool {
        let Self { read, write, update, delete, count_read } = self;
        let lists = [read, write, update, delete, count_read];
        lists.iter().any(|list| list.iter().any(|subject| subject.role() == Some(role)))
    }
}

/// A custom role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Shown to humans instead of the name.
    pub title: Option<String>,
}

/// A declared custom event type.
#[derive(Debug, Clone)]
pub struct EventDecl {
    /// The schema of its data; `None` accepts any object.
    pub schema: Option<SchemaSource>,
}

/// Bounds on writes of visitors who have no right but that of `anyone`, per calendar day in the app's
/// timezone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnonWriteBudget {
    /// Writes of one network.
    pub per_ip_per_day: Option<u64>,
    /// Writes of all these visitors together.
    pub per_app_day: Option<u64>,
}

/// A relation: the field of this name holds a row key of another collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// The collection it points to.
    pub collection: Arc<str>,
    /// `set: "writer"`: set at creation, changed by the row's creator only.
    pub set_by_writer: bool,
}

/// Retention bounds of a collection; `None` on an axis is unbounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// Days after `created_at` at which a row is pruned.
    pub max_age_days: Option<u32>,
    /// Live rows that are kept, the newest ones.
    pub max_rows: Option<u64>,
}

/// A browser capability a page may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capability {
    /// `camera`
    Camera,
    /// `microphone`
    Microphone,
    /// `geolocation`
    Geolocation,
}

impl Capability {
    /// The name in the manifest.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Camera => "camera",
            Self::Microphone => "microphone",
            Self::Geolocation => "geolocation",
        }
    }
}

/// Who can reach an app at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// The owner and members.
    #[default]
    Private,
    /// Whoever holds the share link.
    Link,
    /// Everybody.
    Public,
}

crate::all::all_of!(Visibility: Private Link Public);

impl Visibility {
    /// Its words, as refusals list them.
    pub const WORDS: &'static str = "private, link or public";

    /// Whether with `other` somebody reaches the app who does not now.
    #[must_use]
    pub fn admits_less_than(self, other: Self) -> bool {
        let width = |visibility| match visibility {
            Self::Private => 0,
            Self::Link => 1,
            Self::Public => 2,
        };
        width(self) < width(other)
    }

    /// The name on the wire and in storage.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Link => "link",
            Self::Public => "public",
        }
    }
}

impl FromStr for Visibility {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().find(|one| one.as_str() == text);
        known.copied().ok_or_else(|| format!("must be {}, not {}", Self::WORDS, quoted(text)))
    }
}

// Not derived: a refusal quotes what was sent, which is no secret here.
impl<'de> Deserialize<'de> for Visibility {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
