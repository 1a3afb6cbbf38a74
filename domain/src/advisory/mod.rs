//! The exposure report: which collections an app opens to people it does not know, with evidence
//! from real rows, worst first; and what a redeploy would change about it.
//!
//! What is not here: choosing the rows of a sample and caching the report. What a field looks like
//! is in [`evidence`].

pub mod evidence;

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use serde::Serialize;

use crate::{
    access::Subject,
    manifest::{Collection, Manifest, Visibility},
};
use evidence::FIELDS_COUNTED_MAX;
pub use evidence::{Evidence, FieldEvidence, LooksLike};

/// What one app exposes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The visibility that the report assumes.
    pub visibility: Visibility,
    /// The findings, worst first.
    pub findings: Vec<Finding>,
}

/// One operation on one collection that is open to strangers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The collection.
    pub collection: Arc<str>,
    /// What strangers can do.
    pub exposure: Exposure,
    /// Which strangers.
    pub audience: Audience,
    /// The subjects of the governing list, as the manifest spells them.
    pub subjects: Vec<String>,
    /// Live rows of the collection.
    pub rows: u64,
    /// Rows of the sample behind `fields`.
    pub sampled: u64,
    /// Fields that look personal or secret; only where rows can be read.
    pub fields: Vec<FieldEvidence>,
    /// The finding in words.
    pub message: String,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Usual for a public page.
    Low,
    /// Probably not meant.
    Medium,
    /// Harms people or data.
    High,
    /// Secrets are open to everybody.
    Critical,
}

crate::all::all_of!(Severity: Info Low Medium High Critical);

impl Severity {
    const fn one_less(self) -> Self {
        match self {
            Self::Critical => Self::High,
            Self::High => Self::Medium,
            Self::Medium => Self::Low,
            Self::Low | Self::Info => Self::Info,
        }
    }
}

/// What strangers can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exposure {
    /// Read every row.
    Read,
    /// Delete every row.
    Delete,
    /// Change every row.
    Update,
    /// Create rows.
    Create,
    /// Count rows.
    Count,
}

crate::all::all_of!(Exposure: Read Delete Update Create Count);

/// Whom `anyone` lets in under a visibility; the most people first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// Public: the internet.
    Everyone,
    /// Link: whoever has the share link.
    LinkHolders,
    /// Private: members, and holders of a grant link or preview token.
    Invited,
}

crate::all::all_of!(Audience: Everyone LinkHolders Invited);

impl Audience {
    const fn of(visibility: Visibility) -> Self {
        match visibility {
            Visibility::Public => Self::Everyone,
            Visibility::Link => Self::LinkHolders,
            Visibility::Private => Self::Invited,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Everyone => "anyone",
            Self::LinkHolders => "anyone with the link",
            Self::Invited => "anyone invited",
        }
    }

    const fn weigh(self, severity: Severity) -> Severity {
        match self {
            Self::Everyone => severity,
            Self::LinkHolders => severity.one_less(),
            Self::Invited => Severity::Info,
        }
    }
}

/// What a redeploy would change about a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Findings that are new, worst first.
    pub added: Vec<Finding>,
    /// Findings that are gone, worst first.
    pub removed: Vec<Finding>,
    /// Findings about the same operation that read differently, worst first.
    pub changed: Vec<Change>,
}

/// One finding before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// As it is.
    pub before: Finding,
    /// As it would be.
    pub after: Finding,
}

impl Difference {
    /// Whether both reports say the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

impl Report {
    /// The report on `manifest` as it is served under `visibility`. A collection without evidence
    /// counts as empty.
    #[must_use]
    pub fn new(
        manifest: &Manifest,
        visibility: Visibility,
        evidence: &BTreeMap<Arc<str>, Evidence>,
    ) -> Self {
        let nothing = Evidence::default();
        let audience = Audience::of(visibility);
        let mut findings: Vec<_> = manifest
            .collections
            .values()
            .flat_map(|collection| {
                let evidence = evidence.get(&collection.name).unwrap_or(&nothing);
                of_collection(collection, audience, evidence)
            })
            .collect();
        findings.sort_by(|left, right| left.order().cmp(&right.order()));
        Self { visibility, findings }
    }

    /// The worst severity, `None` when nothing is exposed.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.findings.first().map(|finding| finding.severity)
    }

    /// What changes when this report becomes `after`.
    #[must_use]
    pub fn difference(&self, after: &Self) -> Difference {
        let lacks = |report: &Self, finding: &Finding| {
            !report.findings.iter().any(|other| other.is_about_the_same_as(finding))
        };
        let changed = after.findings.iter().filter_map(|new| {
            let old = self.findings.iter().find(|old| old.is_about_the_same_as(new))?;
            (old != new).then(|| Change { before: old.clone(), after: new.clone() })
        });
        Difference {
            added: after.findings.iter().filter(|new| lacks(self, new)).cloned().collect(),
            removed: self.findings.iter().filter(|old| lacks(after, old)).cloned().collect(),
            changed: changed.collect(),
        }
    }
}

impl Finding {
    fn order(&self) -> impl Ord + '_ {
        (Reverse(self.severity), Reverse(self.rows), &self.collection, self.exposure)
    }

    /// The order of findings about several apps: the worst first; of those alike what most people
    /// reach, then what holds most rows.
    #[must_use]
    pub fn order_among_apps(&self) -> impl Ord + use<> {
        (Reverse(self.severity), self.audience, Reverse(self.rows))
    }

    fn is_about_the_same_as(&self, other: &Self) -> bool {
        self.collection == other.collection && self.exposure == other.exposure
    }
}

fn of_collection(collection: &Collection, audience: Audience, evidence: &Evidence) -> Vec<Finding> {
    let lists = &collection.permissions;
    // Whoever does not see a row does not change it either; one's own rows are no exposure.
    let changes_seen = !collection.append_only && lists.read.contains(&Subject::Anyone);
    let candidates = [
        (Exposure::Read, &lists.read, true),
        (Exposure::Delete, &lists.delete, changes_seen),
        (Exposure::Update, &lists.update, changes_seen),
        (Exposure::Create, &lists.write, true),
        // Who reads every row can count them without asking.
        (Exposure::Count, &lists.count_read, !lists.read.contains(&Subject::Anyone)),
    ];
    candidates
        .into_iter()
        .filter(|(_, list, possible)| *possible && list.contains(&Subject::Anyone))
        .map(|(exposure, list, _)| Finding {
            severity: audience.weigh(severity(exposure, collection, evidence)),
            collection: Arc::clone(&collection.name),
            exposure,
            audience,
            subjects: list.iter().map(ToString::to_string).collect(),
            rows: evidence.rows,
            sampled: evidence.sampled,
            fields: match exposure {
                Exposure::Read => evidence.fields.clone(),
                _ => Vec::new(),
            },
            message: message(exposure, audience, collection, evidence),
        })
        .collect()
}

fn severity(exposure: Exposure, collection: &Collection, evidence: &Evidence) -> Severity {
    match exposure {
        Exposure::Read if evidence.has(LooksLike::Secret) => Severity::Critical,
        Exposure::Read if !evidence.fields.is_empty() => Severity::High,
        Exposure::Read if evidence.rows > 0 => Severity::Low,
        Exposure::Update | Exposure::Delete if evidence.rows > 0 => Severity::High,
        Exposure::Update | Exposure::Delete => Severity::Medium,
        Exposure::Create => match guards(collection) {
            0 => Severity::Medium,
            1 => Severity::Low,
            _ => Severity::Info,
        },
        Exposure::Read | Exposure::Count => Severity::Info,
    }
}

/// How many of challenge and budget stand before an anonymous write.
fn guards(collection: &Collection) -> usize {
    let budget = collection
        .anon_write_budget
        .is_some_and(|caps| caps.per_ip_per_day.is_some() || caps.per_app_day.is_some());
    usize::from(collection.challenge) + usize::from(budget)
}

fn message(
    exposure: Exposure,
    audience: Audience,
    collection: &Collection,
    evidence: &Evidence,
) -> String {
    let who = audience.words();
    let rows = match evidence.rows {
        0 => "rows, once there are any".to_owned(),
        1 => "1 row".to_owned(),
        count => format!("{count} rows"),
    };
    let mut text = match exposure {
        Exposure::Read => format!("{who} can read {rows}"),
        Exposure::Update => format!("{who} can change {rows}"),
        Exposure::Delete => format!("{who} can delete {rows}"),
        Exposure::Count => format!("{who} can count {rows}"),
        Exposure::Create => {
            let guard = match (guards(collection), collection.challenge) {
                (0, _) => "without challenge or budget",
                (1, true) => "after a challenge, without a budget",
                (1, false) => "within a budget, without a challenge",
                _ => "after a challenge and within a budget",
            };
            format!("{who} can create rows {guard}")
        }
    };
    if exposure == Exposure::Read {
        for &kind in LooksLike::ALL {
            match evidence.count(kind) {
                0 => {}
                1 => text += &format!("; 1 field looks like {}", kind.singular()),
                FIELDS_COUNTED_MAX => {
                    text += &format!(
                        "; {FIELDS_COUNTED_MAX} fields or more look like {}",
                        kind.plural()
                    );
                }
                count => text += &format!("; {count} fields look like {}", kind.plural()),
            }
        }
        if evidence.sampled < evidence.rows {
            if evidence.fields.is_empty() {
                text += "; no field looks personal or secret";
            }
            text += &format!(" (in {} sampled rows)", evidence.sampled);
        }
    }
    text
}
