//! `when`: the condition under which a rule fires.
//!
//! What is not here: evaluating it against rows.

use serde_json::Value;

use crate::manifest::{
    members::{DOT_PATH_CHARS_MAX, Members, Scope, is_dot_path, no_such_field},
    model::Collection,
    violations::quoted_text,
};

/// A condition on one field.
#[derive(Debug, Clone, PartialEq)]
pub struct When {
    /// Dotted path of the field.
    pub field: Box<str>,
    /// How the field is compared.
    pub op: Comparison,
    /// What it is compared with; `None` only for `exists`, where it stands for `true`.
    pub value: Option<Value>,
    /// Fires only when the condition was false before the write and is true after it.
    pub edge: bool,
}

/// The operators of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Greater.
    Gt,
    /// Greater or equal.
    Gte,
    /// Less.
    Lt,
    /// Less or equal.
    Lte,
    /// One of a list.
    In,
    /// Present and not null.
    Exists,
}

const COMPARISONS: [(&str, Comparison); 8] = [
    ("eq", Comparison::Eq),
    ("ne", Comparison::Ne),
    ("gt", Comparison::Gt),
    ("gte", Comparison::Gte),
    ("lt", Comparison::Lt),
    ("lte", Comparison::Lte),
    ("in", Comparison::In),
    ("exists", Comparison::Exists),
];

/// Which conditions a rule takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kinds {
    /// True or false at a moment.
    Level,
    /// Also becoming true.
    LevelOrEdge,
}

/// The optional member `when`. The outer `None` means that it is there and malformed.
#[expect(clippy::option_option, reason = "malformed and absent are different answers")]
pub(super) fn parse(
    members: &mut Members<'_, '_>,
    kinds: Kinds,
    collection: Option<&Collection>,
    scope: &Scope<'_>,
) -> Option<Option<Box<When>>> {
    let Some(value) = members.get("when") else { return Some(None) };
    let path = members.at("when");
    let known = ["field", "op", "value", "edge"];
    let mut when = Members::open(value, path, &known, members.violations)?;
    let field = when.text("field", DOT_PATH_CHARS_MAX);
    let op = when.required_choice("op", &COMPARISONS);
    let edge = when.flag("edge");
    if edge && kinds == Kinds::Level {
        when.refuse("edge", "this rule takes no edge condition");
    }
    let value = when.get("value").cloned();
    let (field, op) = (field?, op?);
    if !is_dot_path(field) {
        when.refuse("field", format!("{} is not a dotted path", quoted_text(field)));
        return None;
    }
    let top_field = field.split('.').next().unwrap_or(field);
    if let Some(collection) = collection
        && !scope.admits(collection, top_field)
    {
        when.refuse("field", no_such_field(&collection.name, top_field));
        return None;
    }
    let fits = match (op, &value) {
        (Comparison::Exists, None | Some(Value::Bool(_))) => Ok(()),
        (Comparison::Exists, _) => Err("exists takes true or false"),
        (_, None) => Err("is required"),
        (Comparison::In, Some(Value::Array(items))) if !items.is_empty() => Ok(()),
        (Comparison::In, _) => Err("in takes an array with at least one entry"),
        (
            Comparison::Gt | Comparison::Gte | Comparison::Lt | Comparison::Lte,
            Some(Value::Number(_) | Value::String(_)),
        )
        | (Comparison::Eq | Comparison::Ne, Some(_)) => Ok(()),
        (_, Some(_)) => Err("an order needs a number or a string"),
    };
    if let Err(message) = fits {
        when.refuse("value", message);
        return None;
    }
    Some(Some(Box::new(When { field: field.into(), op, value, edge })))
}
