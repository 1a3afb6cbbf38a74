//! `schedules`: a notification on a day relative to a date in a row.
//!
//! What is not here: the calendar that finds the day.

use std::sync::Arc;

use super::{Area, body, subject, when};
use crate::{
    json::whole,
    manifest::{
        Mode,
        members::{FIELD_CHARS_MAX, Members, Scope, is_field, no_such_field},
        violations::{quoted, quoted_text},
    },
};

/// The furthest that a schedule reaches from its date, 10 years either way.
const OFFSET_DAYS_MAX: u64 = 3_650;

/// A schedule rule.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleRule {
    /// The collection whose rows carry the date.
    pub collection: Arc<str>,
    /// The field that holds the date.
    pub date_field: Box<str>,
    /// Days from the date: negative before, 0 on, positive after.
    pub offset_days: i32,
    /// Who is told; never empty.
    pub to: Box<[ScheduleTarget]>,
    /// A level condition.
    pub when: Option<Box<when::When>>,
    /// Plain-text template of the subject line.
    pub subject: Box<str>,
    /// Plain-text template of the body.
    pub body: Box<str>,
}

/// Who a schedule tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleTarget {
    /// The app's owner.
    Owner,
    /// Every member.
    Members,
}

impl Area for ScheduleRule {
    const MEMBERS: &'static [&'static str] =
        &["collection", "dateField", "offsetDays", "to", "when", "subject", "body"];
}

pub(super) fn parse(mut members: Members<'_, '_>, scope: &Scope<'_>) -> Option<ScheduleRule> {
    let collection = members.collection(scope);
    let date_field = members.text("dateField", FIELD_CHARS_MAX);
    if let (Some(collection), Some(field)) = (&collection, date_field) {
        if !is_field(field) || !scope.admits(collection, field) {
            members.refuse("dateField", no_such_field(&collection.name, field));
        } else if !scope.admits_date(collection, field) {
            let shown = quoted_text(field);
            let name = &collection.name;
            let message =
                format!("the schema of {name:?} has no text field {shown}: dates are text");
            members.refuse("dateField", message);
        }
    }
    let offset_days = offset_days(&mut members);
    let to = targets(&mut members, scope);
    let when = when::parse(&mut members, when::Kinds::Level, collection.as_deref(), scope);
    let subject = subject(&mut members);
    let body = body(&mut members);
    Some(ScheduleRule {
        collection: Arc::clone(&collection?.name),
        date_field: date_field?.into(),
        offset_days: offset_days?,
        to,
        when: when?,
        subject: subject?,
        body: body?,
    })
}

fn targets(members: &mut Members<'_, '_>, scope: &Scope<'_>) -> Box<[ScheduleTarget]> {
    let mut targets = Vec::new();
    for (path, text) in members.some_strings("to") {
        let target = match text {
            "owner" => ScheduleTarget::Owner,
            "members" => ScheduleTarget::Members,
            _ => {
                let message = format!("must be owner or members, not {}", quoted_text(text));
                members.violations.push(path, message);
                continue;
            }
        };
        if !targets.contains(&target) {
            targets.push(target);
        } else if scope.mode == Mode::Check {
            // A rule that was admitted before goes on, and tells each once.
            members.violations.push(path, format!("{} is named twice", quoted_text(text)));
        }
    }
    targets.into()
}

fn offset_days(members: &mut Members<'_, '_>) -> Option<i32> {
    let value = members.required("offsetDays")?;
    let days = whole(value).filter(|days| days.unsigned_abs() <= OFFSET_DAYS_MAX);
    if days.is_none() {
        let shown = quoted(value);
        members.refuse(
            "offsetDays",
            format!(
                "must be a whole number from -{OFFSET_DAYS_MAX} to {OFFSET_DAYS_MAX}, not {shown}"
            ),
        );
    }
    days.and_then(|days| i32::try_from(days).ok())
}
