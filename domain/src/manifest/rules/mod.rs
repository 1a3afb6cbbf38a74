//! Rules that react to rows or write them from outside: notify, schedules, webhooks, ingest and
//! agentTasks, one file each, in the order in which they are checked.
//!
//! They are validated in full on every deploy although nothing runs them yet; the deploy says so,
//! rule by rule, in its warnings. What is not here: running them.

mod agent_task;
mod ingest;
mod notify;
mod schedule;
mod webhook;
mod when;

pub use agent_task::AgentTaskRule;
pub use ingest::{IngestMode, IngestRule};
pub use notify::{Channel, NotifyRule, NotifyTarget};
pub use schedule::{ScheduleRule, ScheduleTarget};
pub use webhook::WebhookRule;
pub use when::{Comparison, When};

use super::{
    members::{Members, Scope},
    model::Visibility,
    shape::TopLevel,
    violations::{Violations, at},
};
use crate::{ErrorCode, Result};

/// Characters of a notification's subject line.
const SUBJECT_CHARS_MAX: usize = 200;
/// Characters of a notification's body.
const BODY_CHARS_MAX: usize = 10_000;

/// All rules of a manifest, each area in declared order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules {
    /// Notifications on writes.
    pub notify: Box<[NotifyRule]>,
    /// Notifications relative to a date in a row.
    pub schedules: Box<[ScheduleRule]>,
    /// Outbound webhooks.
    pub webhooks: Box<[WebhookRule]>,
    /// Inbound catch-hooks.
    pub ingest: Box<[IngestRule]>,
    /// Work queued for agents.
    pub agent_tasks: Box<[AgentTaskRule]>,
}

impl Rules {
    /// Checks that an app of this visibility may have these rules.
    ///
    /// # Errors
    /// `notify_push_requires_public`.
    pub fn check_visibility(&self, visibility: Visibility) -> Result<()> {
        notify::check_visibility(&self.notify, visibility)
    }

    /// The JSON pointer of every rule.
    pub(super) fn pointers(&self) -> Vec<String> {
        [
            ("/notify", self.notify.len()),
            ("/schedules", self.schedules.len()),
            ("/webhooks", self.webhooks.len()),
            ("/ingest", self.ingest.len()),
            ("/agentTasks", self.agent_tasks.len()),
        ]
        .into_iter()
        .flat_map(|(area, count)| (0..count).map(move |index| at(area, index)))
        .collect()
    }
}

/// Which write sets a rule off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// A row was created.
    Create,
    /// A row was updated.
    Update,
}

/// # Errors
/// The first failing area's code.
pub(super) fn parse(top: &TopLevel<'_>, scope: &Scope<'_>) -> Result<Rules> {
    Ok(Rules {
        notify: notify::parse(top, scope)?,
        schedules: each(top, "schedules", ErrorCode::ScheduleInvalid, |members| {
            schedule::parse(members, scope)
        })?,
        webhooks: each(top, "webhooks", ErrorCode::WebhookInvalid, |members| {
            webhook::parse(members, scope)
        })?,
        ingest: ingest::parse(top, scope)?,
        agent_tasks: each(top, "agentTasks", ErrorCode::AgentTaskInvalid, |members| {
            agent_task::parse(members, scope)
        })?,
    })
}

/// A rule area: the members that its rules know, and how one is read.
trait Area {
    /// Every member that a rule of this area may have.
    const MEMBERS: &'static [&'static str];
}

/// Reads the rules of the area `name` one by one. A rule that `read` gives no value for has left
/// a violation.
fn each<R: Area>(
    top: &TopLevel<'_>,
    name: &str,
    code: ErrorCode,
    mut read: impl FnMut(Members<'_, '_>) -> Option<R>,
) -> Result<Box<[R]>> {
    let mut violations = Violations::new(code);
    let mut rules = Vec::new();
    for (index, value) in top.array(name).iter().enumerate() {
        let path = at(&at("", name), index);
        if let Some(members) = Members::open(value, path, R::MEMBERS, &mut violations) {
            rules.extend(read(members));
        }
    }
    top.finish(violations)?;
    Ok(rules.into())
}

/// The required member `on`.
fn trigger(members: &mut Members<'_, '_>) -> Option<Trigger> {
    members.required_choice("on", &[("create", Trigger::Create), ("update", Trigger::Update)])
}

/// The required subject line, which must be a single line: it becomes a mail header.
fn subject(members: &mut Members<'_, '_>) -> Option<Box<str>> {
    let text = members.text("subject", SUBJECT_CHARS_MAX)?;
    if text.chars().any(char::is_control) {
        members.refuse("subject", "must be one line without control characters");
        return None;
    }
    Some(text.into())
}

/// The required body.
fn body(members: &mut Members<'_, '_>) -> Option<Box<str>> {
    Some(members.text("body", BODY_CHARS_MAX)?.into())
}
