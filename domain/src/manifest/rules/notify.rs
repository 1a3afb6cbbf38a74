//! `notify`: mail or push when a row is written.
//!
//! What is not here: templates' placeholders and sending.

use std::{collections::HashSet, sync::Arc};

use super::{Area, Trigger, body, each, subject, trigger};
use crate::{
    ErrorCode, Result,
    manifest::{
        Mode,
        members::{Members, Scope},
        model::{Collection, Visibility},
        shape::TopLevel,
        violations::{Violations, quoted_text},
    },
};

/// What is wrong with a push in an app that not everybody may open.
const PUSH_IS_PUBLIC: &str = "push needs an app that is public";

/// A notification rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyRule {
    /// Which write it follows.
    pub on: Trigger,
    /// The collection that is watched.
    pub collection: Arc<str>,
    /// Who is told; never empty.
    pub to: Box<[NotifyTarget]>,
    /// How; e-mail when the manifest names no channel.
    pub channels: Box<[Channel]>,
    /// Plain-text template of the subject line.
    pub subject: Box<str>,
    /// Plain-text template of the body.
    pub body: Box<str>,
}

/// Who a notification goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifyTarget {
    /// The app's owner.
    Owner,
    /// Every member.
    Members,
    /// Who wrote the row last.
    Author,
    /// Who created the row.
    Creator,
    /// Holders of a custom role.
    Role(Arc<str>),
    /// Whoever the relation of this name points to.
    Field(Arc<str>),
    /// Whoever submitted the row, also an outsider.
    Submitter,
}

/// How a notification travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// E-mail.
    Email,
    /// Browser push.
    Push,
}

impl Area for NotifyRule {
    const MEMBERS: &'static [&'static str] =
        &["on", "collection", "to", "channels", "subject", "body"];
}

/// Violations that have codes of their own; reported only when every rule is well-formed.
struct Refused {
    channel: Violations,
    push: Violations,
    submitter: Violations,
}

pub(super) fn parse(top: &TopLevel<'_>, scope: &Scope<'_>) -> Result<Box<[NotifyRule]>> {
    let mut refused = Refused {
        channel: Violations::new(ErrorCode::NotifyChannelNotEnabled),
        push: Violations::new(ErrorCode::NotifyPushRequiresPublic),
        submitter: Violations::new(ErrorCode::NotifySubmitterNotEnabled),
    };
    let rules = each(top, "notify", ErrorCode::NotifyInvalid, |members| {
        rule(members, scope, &mut refused)
    })?;
    top.finish(refused.channel)?;
    top.finish(refused.push)?;
    top.finish(refused.submitter)?;
    Ok(rules)
}

/// Checks that an app of this visibility may have the rules.
///
/// # Errors
/// `notify_push_requires_public`.
pub(crate) fn check_visibility(rules: &[NotifyRule], visibility: Visibility) -> Result<()> {
    let mut refused = Violations::new(ErrorCode::NotifyPushRequiresPublic);
    for (index, rule) in rules.iter().enumerate() {
        let push = rule.channels.iter().position(|channel| *channel == Channel::Push);
        if let Some(channel) = push.filter(|_| visibility != Visibility::Public) {
            refused.push(format!("/notify/{index}/channels/{channel}"), PUSH_IS_PUBLIC);
        }
    }
    refused.finish()
}

fn rule(
    mut members: Members<'_, '_>,
    scope: &Scope<'_>,
    refused: &mut Refused,
) -> Option<NotifyRule> {
    let on = trigger(&mut members);
    let collection = members.collection(scope);
    let to = targets(&mut members, collection.as_deref(), scope, refused);
    let channels = channels(&mut members, scope, refused);
    let subject = subject(&mut members);
    let body = body(&mut members);
    Some(NotifyRule {
        on: on?,
        collection: Arc::clone(&collection?.name),
        to,
        channels,
        subject: subject?,
        body: body?,
    })
}

fn targets(
    members: &mut Members<'_, '_>,
    collection: Option<&Collection>,
    scope: &Scope<'_>,
    refused: &mut Refused,
) -> Box<[NotifyTarget]> {
    let mut targets = Vec::new();
    let mut named = HashSet::new();
    for (path, text) in members.some_strings("to") {
        match target(text, collection, scope) {
            Ok(_) if !named.insert(text) => {
                // A rule that was admitted before goes on, and tells each once.
                if scope.mode == Mode::Check {
                    let message = format!("{} is named twice", quoted_text(text));
                    members.violations.push(path, message);
                }
            }
            Ok(target) => {
                if target == NotifyTarget::Submitter && !scope.external_sending {
                    refused.submitter.push(path, "sending to outsiders is off in this deployment");
                }
                targets.push(target);
            }
            Err(message) => members.violations.push(path, message),
        }
    }
    targets.into()
}

fn target(
    text: &str,
    collection: Option<&Collection>,
    scope: &Scope<'_>,
) -> std::result::Result<NotifyTarget, String> {
    if let Some(name) = text.strip_prefix("role:") {
        return scope
            .roles
            .get_key_value(name)
            .map(|(role, _)| NotifyTarget::Role(Arc::clone(role)))
            .ok_or_else(|| format!("no role {} is declared", quoted_text(name)));
    }
    if let Some(name) = text.strip_prefix("field:") {
        // Without its collection, the rule is malformed already.
        let Some(collection) = collection else { return Ok(NotifyTarget::Field(name.into())) };
        return collection
            .relations
            .get_key_value(name)
            .map(|(field, _)| NotifyTarget::Field(Arc::clone(field)))
            .ok_or_else(|| {
                format!("{:?} declares no relation {}", collection.name, quoted_text(name))
            });
    }
    match text {
        "owner" => Ok(NotifyTarget::Owner),
        "members" => Ok(NotifyTarget::Members),
        "author" => Ok(NotifyTarget::Author),
        "creator" => Ok(NotifyTarget::Creator),
        "submitter" => Ok(NotifyTarget::Submitter),
        _ => Err(format!(
            "must be owner, members, author, creator, role:<name> or field:<relation>, not {}",
            quoted_text(text)
        )),
    }
}

fn channels(
    members: &mut Members<'_, '_>,
    scope: &Scope<'_>,
    refused: &mut Refused,
) -> Box<[Channel]> {
    if members.get("channels").is_none() {
        return [Channel::Email].into();
    }
    let mut channels = Vec::new();
    for (path, text) in members.some_strings("channels") {
        let channel = match text {
            "email" => Channel::Email,
            "push" => {
                if !scope.public && scope.mode == Mode::Check {
                    refused.push.push(path.as_str(), PUSH_IS_PUBLIC);
                }
                Channel::Push
            }
            "inapp" => {
                refused.channel.push(path, "inapp is not available yet, email is");
                continue;
            }
            _ => {
                let message = format!("must be email or push, not {}", quoted_text(text));
                members.violations.push(path, message);
                continue;
            }
        };
        if channels.contains(&channel) {
            members.violations.push(path, format!("{} is named twice", quoted_text(text)));
        } else {
            channels.push(channel);
        }
    }
    channels.into()
}
