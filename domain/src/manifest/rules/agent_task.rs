//! `agentTasks`: work that a written row queues for an agent.
//!
//! What is not here: the queue, leases and their credentials.

use std::sync::Arc;

use super::{Area, Trigger, trigger, when};
use crate::manifest::{
    members::{Members, Scope},
    violations::quoted_text,
};

/// Characters of a task's type.
const TASK_TYPE_CHARS_MAX: usize = 64;
/// Characters of a task's prompt.
const PROMPT_CHARS_MAX: usize = 16_000;

/// An agent-task rule.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentTaskRule {
    /// Which write it follows.
    pub on: Trigger,
    /// The collection that is watched.
    pub collection: Arc<str>,
    /// The label that routes the task.
    pub task_type: Box<str>,
    /// What the agent is asked to do.
    pub prompt: Box<str>,
    /// Collections that the task's credential may read.
    pub reads: Box<[Arc<str>]>,
    /// Collections that the task's credential may write.
    pub writes: Box<[Arc<str>]>,
    /// A level or edge condition.
    pub when: Option<Box<when::When>>,
}

impl Area for AgentTaskRule {
    const MEMBERS: &'static [&'static str] =
        &["on", "collection", "taskType", "prompt", "reads", "writes", "when"];
}

pub(super) fn parse(mut members: Members<'_, '_>, scope: &Scope<'_>) -> Option<AgentTaskRule> {
    let on = trigger(&mut members);
    let collection = members.collection(scope);
    let task_type = members.text("taskType", TASK_TYPE_CHARS_MAX);
    if task_type.is_some_and(|label| label.trim() != label || label.chars().any(char::is_control)) {
        members.refuse("taskType", "is a label: no white space around it, no control character");
    }
    let prompt = members.text("prompt", PROMPT_CHARS_MAX);
    let reads = collections(&mut members, "reads", scope);
    let writes = collections(&mut members, "writes", scope);
    let when = when::parse(&mut members, when::Kinds::LevelOrEdge, collection.as_deref(), scope);
    Some(AgentTaskRule {
        on: on?,
        collection: Arc::clone(&collection?.name),
        task_type: task_type?.into(),
        prompt: prompt?.into(),
        reads,
        writes,
        when: when?,
    })
}

fn collections(members: &mut Members<'_, '_>, name: &str, scope: &Scope<'_>) -> Box<[Arc<str>]> {
    let mut names: Vec<Arc<str>> = Vec::new();
    for (path, text) in members.strings(name) {
        match scope.collections.get_key_value(text) {
            Some((known, _)) if names.contains(known) => {
                members.violations.push(path, format!("{} is named twice", quoted_text(text)));
            }
            Some((known, _)) => names.push(Arc::clone(known)),
            None => {
                let message = format!("no collection {} is declared", quoted_text(text));
                members.violations.push(path, message);
            }
        }
    }
    names.into()
}
