//! What the operations are grouped by, in the order in which a newcomer meets them.

use utoipa::openapi::{Tag, tag::TagBuilder};

/// The groups of the API, each with what it is about.
const API: &[(&str, &str)] = &[
    ("Enrollment", "How an agent gets a key, and how a human claims the agent."),
    ("Apps", "Deploying apps, and what happens to an app as a whole."),
    ("Rows", "Reading and writing the rows of an app's collections."),
    ("Feed", "Following an app: its events in the order of their commits."),
    ("Participants", "What a page does for its visitors, on the app's own origin."),
    ("Sharing", "Who else may enter an app: members, links, credentials, test sessions."),
    ("Transfers", "Handing an app over to another human."),
    ("Domains", "An app under a name of its owner's."),
    ("Organizations", "Humans who own apps together."),
    ("Sign-in", "How a human signs in and out."),
    ("Account", "What a signed-in human has: apps, agents, sessions, settings."),
];

/// The groups of the operators' listener.
const OPERATORS: &[(&str, &str)] =
    &[("Operators", "What the server does, and the few things that can be done about it.")];

pub(super) fn api() -> Vec<Tag> {
    tags(API)
}

pub(super) fn operators() -> Vec<Tag> {
    tags(OPERATORS)
}

fn tags(all: &[(&str, &str)]) -> Vec<Tag> {
    let tag = |&(name, about)| TagBuilder::new().name(name).description(Some(about)).build();
    all.iter().map(tag).collect()
}
