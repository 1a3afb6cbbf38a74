//! The disclosure page: what an app's manifest declares, in words that a human can judge by. It
//! says who may do what, what the page may use and reach, and what is kept how long.
//!
//! What is not here: what is really in the rows (the advisories), and whether the declared rules
//! of features to come are active.

use std::collections::BTreeMap;

use askama::Template;
use rookery_domain::{
    access::Subject,
    app::AppRecord,
    manifest::{AnonWriteBudget, Collection, Manifest, Retention, Visibility, WebhookTarget},
    retention,
};
use url::Url;

use super::{shell::Shell, visible::visible};

/// What an app's manifest declares.
#[derive(Debug, Clone, Template)]
#[template(path = "disclosure.html")]
pub struct DisclosurePage {
    /// The frame.
    pub shell: Shell,
    slug: String,
    version: u32,
    audience: &'static str,
    /// The organization whose admins act as its owner.
    org: Option<String>,
    pub(crate) collections: Vec<CollectionView>,
    /// What its page uses and reaches.
    pub(crate) reach: Vec<String>,
    /// What else happens.
    pub(crate) rules: Vec<String>,
}

/// What holds for one collection.
#[derive(Debug, Clone)]
pub(crate) struct CollectionView {
    /// Its name.
    pub(crate) name: String,
    /// What can be done, and who may.
    pub(crate) may: Vec<(&'static str, String)>,
    /// What holds for every row.
    pub(crate) facts: Vec<String>,
}

impl DisclosurePage {
    /// The page about `record`, whose current version declares `manifest`.
    #[must_use]
    pub fn new(shell: Shell, record: &AppRecord, manifest: &Manifest) -> Self {
        let words = Words { manifest, visibility: record.visibility };
        let collection = |decl: &Collection| {
            words.collection(decl, retention::in_force(decl, &record.retention))
        };
        Self {
            shell,
            slug: record.slug.to_string(),
            version: record.version,
            audience: match record.visibility {
                Visibility::Private => "Only its owner and those it has invited reach its page.",
                Visibility::Link => "Whoever has the share link reaches its page.",
                Visibility::Public => "Everybody reaches its page.",
            },
            org: None,
            collections: manifest.collections.values().map(|decl| collection(decl)).collect(),
            reach: reach(manifest, record.unrestricted),
            rules: rules(manifest),
        }
    }

    /// The page about an app that is in the organization of this name, if it is in any.
    #[must_use]
    pub fn in_org(self, org: Option<String>) -> Self {
        Self { org, ..self }
    }
}

/// How subjects are called in this app.
struct Words<'a> {
    manifest: &'a Manifest,
    visibility: Visibility,
}

impl Words<'_> {
    fn collection(&self, decl: &Collection, kept: Retention) -> CollectionView {
        let lists = &decl.permissions;
        let mut may = vec![("Read", self.who(&lists.read)), ("Create", self.who(&lists.write))];
        if !decl.append_only {
            may.push(("Change", self.who(&lists.update)));
            may.push(("Delete", self.who(&lists.delete)));
        }
        may.push(("Count", self.who(&lists.count_read)));
        CollectionView { name: decl.name.to_string(), may, facts: facts(decl, kept) }
    }

    fn who(&self, list: &[Subject]) -> String {
        if list.is_empty() {
            return "nobody".to_owned();
        }
        // Members are named together with the owner.
        let is_said =
            |subject: &&Subject| **subject == Subject::Owner && list.contains(&Subject::Member);
        let names = list.iter().filter(|subject| !is_said(subject));
        names.map(|subject| self.subject(subject)).collect::<Vec<_>>().join(", ")
    }

    fn subject(&self, subject: &Subject) -> String {
        match subject {
            Subject::Owner => "the owner".to_owned(),
            Subject::Member => "members and the owner".to_owned(),
            Subject::Anyone => match self.visibility {
                Visibility::Private => "everybody who was invited",
                Visibility::Link => "everybody with the share link",
                Visibility::Public => "everybody",
            }
            .to_owned(),
            Subject::Role(role) => self.role(role),
            Subject::Creator => "whoever created the row".to_owned(),
            Subject::Editor { .. } => "whoever changed the row last".to_owned(),
            Subject::RoleCreator(role) => {
                format!("{} (only rows that they created)", self.role(role))
            }
            Subject::RoleOwn(role) => {
                format!("{} (only rows that they created or changed last)", self.role(role))
            }
        }
    }

    fn role(&self, name: &str) -> String {
        let title = self.manifest.roles.get(name).and_then(|role| role.title.as_deref());
        format!("people with the role “{}”", visible(title.unwrap_or(name)))
    }
}

fn facts(decl: &Collection, kept: Retention) -> Vec<String> {
    let mut facts = Vec::new();
    if decl.append_only {
        facts.push("Rows can be added, but not changed or deleted.".to_owned());
    }
    facts.push(match &decl.schema {
        Some(schema) => format!("Each row must fit the schema “{}”.", schema.name),
        None => "Rows may hold anything.".to_owned(),
    });
    if !decl.unique.is_empty() {
        facts.push(format!("No two rows share: {}.", decl.unique.join(", ")));
    }
    if decl.challenge {
        facts.push("Creating a row needs a solved challenge, against robots.".to_owned());
    }
    if let Some(AnonWriteBudget { per_ip_per_day, per_app_day }) = decl.anon_write_budget {
        if let Some(count) = per_ip_per_day {
            facts.push(format!(
                "Visitors of one network who are no members write {} a day.",
                several(count, "once", "times")
            ));
        }
        if let Some(count) = per_app_day {
            facts.push(format!(
                "All visitors together who are no members write {} a day.",
                several(count, "once", "times")
            ));
        }
    }
    for (field, relation) in &decl.relations {
        let only = if relation.set_by_writer { "; only the row's creator changes it" } else { "" };
        facts.push(format!("“{field}” names a row of “{}”{only}.", relation.collection));
    }
    facts.push(match (kept.max_age_days, kept.max_rows) {
        (None, None) => "Rows are kept until they are deleted.".to_owned(),
        (Some(days), None) => {
            format!("Rows are deleted after {}.", several(days.into(), "1 day", "days"))
        }
        (None, Some(rows)) => {
            let kept = if rows == 1 { "is" } else { "are" };
            format!("Only the newest {} {kept} kept.", several(rows, "row", "rows"))
        }
        (Some(days), Some(rows)) => format!(
            "Rows are deleted after {}, and beyond the newest {}.",
            several(days.into(), "1 day", "days"),
            several(rows, "row", "rows"),
        ),
    });
    facts
}

/// What is said of one, or how many there are with the word for several.
fn several(count: u64, one: &str, word: &str) -> String {
    if count == 1 { one.to_owned() } else { format!("{count} {word}") }
}

fn reach(manifest: &Manifest, unrestricted: bool) -> Vec<String> {
    let mut reach = Vec::new();
    if unrestricted {
        reach.push("Its owner lets it talk to any internet service.".to_owned());
    }
    for capability in &manifest.capabilities {
        reach.push(format!("It may ask to use the {}.", capability.as_str()));
    }
    reach.extend(manifest.external_hosts.iter().map(|host| format!("It talks to {host}.")));
    reach.extend(manifest.embeds.iter().map(|host| format!("It shows parts of {host}.")));
    if manifest.cdn {
        reach.push("It loads scripts and styles from public CDNs.".to_owned());
    }
    let mut targets = BTreeMap::<(&str, String), usize>::new();
    for WebhookTarget { collection, url } in &manifest.webhook_targets {
        // Only where to: path and query often carry a secret.
        let origin = Url::parse(url).map(|url| url.origin().ascii_serialization());
        *targets.entry((collection, origin.unwrap_or_default())).or_default() += 1;
    }
    reach.extend(targets.into_iter().map(|((collection, origin), rules)| match rules {
        1 => format!("Rows of “{collection}” are sent to {origin}, by 1 rule."),
        count => format!("Rows of “{collection}” are sent to {origin}, by {count} rules."),
    }));
    reach
}

fn rules(manifest: &Manifest) -> Vec<String> {
    let mut rules: Vec<String> = manifest
        .events
        .keys()
        .map(|kind| format!("Visitors may send events of the type “{kind}”."))
        .collect();
    let Some(declared) = manifest.rules.as_deref() else { return rules };
    rules.extend(
        declared.notify.iter().map(|rule| {
            format!("Writes to “{}” notify people: “{}”.", rule.collection, rule.subject)
        }),
    );
    rules.extend(declared.schedules.iter().map(|rule| {
        format!(
            "“{}” of “{}” reminds people: “{}”.",
            rule.date_field, rule.collection, rule.subject
        )
    }));
    rules.extend(declared.ingest.iter().map(|rule| {
        format!("A hook “{}” writes rows of “{}” from outside.", rule.name, rule.collection)
    }));
    rules.extend(declared.agent_tasks.iter().map(|rule| {
        format!("Writes to “{}” give agents work: “{}”.", rule.collection, rule.task_type)
    }));
    rules
}
