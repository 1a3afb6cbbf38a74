//! How refusals stand on a page, beside times, sizes and counts.

use rookery_domain::{
    Error, ErrorCode,
    error::{Parameter, Reason},
    time::DAY_S,
};

pub use crate::pages::quantities::{At, Bytes, Count, percent};

/// What the API's messages name, as people know it. A message that is about nothing else calls it
/// "this".
const FIELDS: &[(&str, &str)] = &[
    ("key", "The key"),
    ("data", "The content"),
    ("email", "This"),
    ("confirm_email", "This"),
    ("domain", "This"),
    ("name", "The name"),
    ("filter", "The filter"),
    ("sort", "The order"),
    ("timezone", "The timezone"),
    ("max_age_days", "The number of days"),
    ("max_rows", "The number of rows"),
    ("max_uses", "The number of visitors"),
    ("expires_in_s", "The time that it is valid"),
    ("ttl_minutes", "The number of minutes"),
    ("operations", "What it may do"),
    ("collections", "The choice of collections"),
    ("custom_role", "The role"),
    ("role", "The role"),
    ("org_id", "The organization"),
    ("source", "The answer"),
];

/// The member in seconds that forms ask for in days.
const IN_DAYS: &str = "expires_in_s";

/// Members of the API's bodies that a form calls otherwise.
const INPUTS: &[(&str, &str)] = &[
    ("days", "expires_in_s"),
    ("minutes", "ttl_minutes"),
    ("collection", "collections"),
    ("operation", "operations"),
];

/// Whether a refusal names what this field of a form became.
#[must_use]
pub fn names(error: &Error, field: &str) -> bool {
    let member = INPUTS.iter().find(|(input, _)| *input == field).map_or(field, |(_, it)| it);
    subject(&error.message).is_some_and(|(name, _)| name == member)
        || error.message.contains(&format!("`{member}`"))
}

/// The member that a message begins with, and what stands behind it. Of a member within a list, what it
/// is called there.
fn subject(message: &str) -> Option<(&str, &str)> {
    let (member, rest) = message.strip_prefix('`')?.split_once('`')?;
    Some((member.rsplit('.').next()?.split('[').next()?, rest))
}

/// Why something was refused, to people. The API's messages are for programs: they name members of
/// a body.
#[must_use]
pub fn refusal(error: &Error) -> String {
    use ErrorCode as E;
    let message = error.message.as_str();
    match error.code {
        E::Conflict if error.current.is_some() => {
            "Somebody changed this row meanwhile. Look at it as it is now, then try again"
                .to_owned()
        }
        E::CollectionWriteForbidden | E::CollectionDeleteForbidden | E::AuthorNotAllowed => {
            only(error.required.as_deref().unwrap_or_default())
        }
        E::AppendOnly => {
            "Rows of this collection can be added, but not changed or deleted".to_owned()
        }
        E::ManifestIncompatibleRedeploy => {
            "Read what it takes away or opens, and tick the box to go on all the same".to_owned()
        }
        _ => error.reason.as_deref().copied().and_then(of_reason).unwrap_or_else(|| {
            let message = message.strip_suffix(": `email`").unwrap_or(message);
            about_member(message).unwrap_or_else(|| message.to_owned())
        }),
    }
}

/// A refusal whose reason is a value; `None` where the message says it as well.
fn of_reason(reason: Reason) -> Option<String> {
    Some(match reason {
        Reason::Parameter(Parameter::Cursor) => {
            "The address leads to a page that does not belong to this list. Begin again at the \
             first one"
                .to_owned()
        }
        Reason::Parameter(_) => return None,
        Reason::OnlyFor(callers) => format!("Only {callers} may do this"),
        Reason::BodyBytesMax(max) => format!(
            "This is too much for one form: it holds {} at most. Nothing was saved; going back may \
             show you what you wrote",
            Bytes(max as u64)
        ),
    })
}

/// What of a message that begins with a member of a body stands behind it as a sentence goes on; all else
/// is a sentence of its own.
const GOES_ON: &[&str] =
    &["must", "is", "has", "needs", "names", "holds", "takes", "means", "does", "nests"];

/// A message that begins with a member of a body, as a sentence about what people know that as; `None`
/// for one that does not, and for a member that no form has.
fn about_member(message: &str) -> Option<String> {
    if let Some(field) = message.strip_prefix("the form: missing field ") {
        return Some(format!("the form lacks {field}"));
    }
    let (name, rest) = subject(message)?;
    let (field, words) = FIELDS.iter().find(|(field, _)| *field == name)?;
    // What was sent is the better name, where it is told: "foo" needs a dot.
    let sent = rest.strip_prefix(" \"").and_then(|rest| rest.split_once("\": "));
    let (subject, why) = match (rest.strip_prefix(": "), sent) {
        (Some(why), _) => ((*words).to_owned(), why),
        (None, Some((sent, why))) => (format!("“{sent}”"), why),
        (None, None) => return Some(format!("{words}{rest}")),
    };
    if why == "not an id of this kind" {
        return Some(format!("{subject} is unknown"));
    }
    if *field == IN_DAYS
        && let Some((_, most_s)) = why.rsplit_once(" to ")
        && let Ok(most_s) = most_s.parse::<i64>()
    {
        return Some(format!("{subject} must be from 1 to {} days", most_s / DAY_S));
    }
    if let Some((_, what)) = why.split_once("expected ").filter(|(before, _)| {
        before.is_empty() || before.starts_with("unknown variant") || before.starts_with("invalid")
    }) {
        return Some(format!("{subject} must be {what}"));
    }
    let goes_on = why.split(' ').next().is_some_and(|first| GOES_ON.contains(&first));
    Some(if goes_on { format!("{subject} {why}") } else { why.to_owned() })
}

/// A message of the API with the names in it as people quote them.
#[must_use]
pub fn quoted(message: &str) -> String {
    let mut pieces: Vec<&str> = message.split('`').collect();
    // A back-tick alone is somebody's own.
    let alone = pieces.len().is_multiple_of(2).then(|| pieces.pop()).flatten();
    let mut text = String::with_capacity(message.len());
    for (index, piece) in pieces.into_iter().enumerate() {
        text.push_str(if index.is_multiple_of(2) { "" } else { "“" });
        text.push_str(piece);
        text.push_str(if index.is_multiple_of(2) { "" } else { "”" });
    }
    text.extend(alone.into_iter().flat_map(|rest| ["`", rest]));
    text
}

/// That only these subjects of a manifest may do something.
fn only(subjects: &[String]) -> String {
    // Members are named together with the owner.
    let has_members = subjects.iter().any(|subject| subject == "member");
    let said = subjects.iter().filter(|subject| !(has_members && *subject == "owner"));
    let who = said.map(|subject| match (subject.as_str(), subject.split_once(':')) {
        ("owner", _) => "the owner".to_owned(),
        ("member", _) => "members and the owner".to_owned(),
        ("creator", _) => "whoever created the row".to_owned(),
        ("author" | "editor", _) => "whoever changed the row last".to_owned(),
        (_, Some((role, _))) => format!("people with the role “{role}”, with rows of their own"),
        (role, None) => format!("people with the role “{role}”"),
    });
    match who.collect::<Vec<_>>() {
        nobody if nobody.is_empty() => "The app lets nobody do this".to_owned(),
        who => format!("The app lets this be done only by {}", who.join(" or ")),
    }
}
