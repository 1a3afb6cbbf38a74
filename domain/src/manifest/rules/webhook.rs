//! `webhooks`: a request to a public URL when a row is written.
//!
//! What is not here: the grammar of the target (`hosts`), signing and sending.

use std::sync::Arc;

use super::{Area, Trigger, trigger, when};
use crate::manifest::{
    hosts::webhook_target,
    members::{Members, Scope},
    violations::quoted_text,
};

/// Characters of a target.
const URL_CHARS_MAX: usize = 2_048;

/// An outbound webhook rule.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookRule {
    /// Which write it follows.
    pub on: Trigger,
    /// The collection that is watched.
    pub collection: Arc<str>,
    /// A level or edge condition.
    pub when: Option<Box<when::When>>,
    /// The target, normalised.
    pub url: Box<str>,
}

impl Area for WebhookRule {
    const MEMBERS: &'static [&'static str] = &["on", "collection", "when", "url"];
}

/// `message` about the target `text`, with its scheme and host alone: user information, path or
/// query may be a secret.
fn naming_host(text: &str, message: &str) -> String {
    let start = text.find("://").map_or(0, |at| at + "://".len());
    let is_end = |c: char| matches!(c, '/' | '?' | '#' | '\\') || c.is_whitespace();
    let end = text[start..].find(is_end).map_or(text.len(), |at| start + at);
    // User information may hold a slash, so it is looked for everywhere.
    if end == 0 || text.contains('@') {
        return message.to_owned();
    }
    format!("{}: {message}", quoted_text(&text[..end]))
}

pub(super) fn parse(mut members: Members<'_, '_>, scope: &Scope<'_>) -> Option<WebhookRule> {
    let on = trigger(&mut members);
    let collection = members.collection(scope);
    let when = when::parse(&mut members, when::Kinds::LevelOrEdge, collection.as_deref(), scope);
    let text = members.text("url", URL_CHARS_MAX)?;
    let url = match webhook_target(text, scope.mode) {
        Ok(url) => url,
        Err(message) => {
            members.refuse("url", naming_host(text, &message));
            return None;
        }
    };
    Some(WebhookRule {
        on: on?,
        collection: Arc::clone(&collection?.name),
        when: when?,
        url: url.into(),
    })
}
