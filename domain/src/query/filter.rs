//! The filter: a JSON object, compiled to a tree of tests of bounded size.
//!
//! `{"status": "open", "n": {"gte": 3, "lt": 9}, "or": [{..}, {..}], "not": {..}}`: members of an
//! object all hold. An absent field compares as `null` does, and `exists` tells them apart.
//! `gt gte lt lte` hold between two numbers or two strings only.

use serde_json::{Map, Value};

use super::{
    FILTER_BYTES_MAX, FILTER_DEPTH_MAX, FILTER_NODES_MAX,
    field::{Field, Projection, SystemField, View},
    value::Ref,
};
use crate::{Error, Result, Timestamp, json};

const COMBINATORS: [&str; 3] = ["and", "or", "not"];
const OPERATORS: [&str; 10] =
    ["eq", "ne", "gt", "gte", "lt", "lte", "in", "contains", "prefix", "exists"];

/// A compiled filter.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    root: Node,
    text: String,
    nodes: usize,
}

#[derive(Debug, Clone)]
enum Node {
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    Test(Field, Test),
}

#[derive(Debug, Clone)]
enum Test {
    Eq(Value),
    Ne(Value),
    Gt(Value),
    Gte(Value),
    Lt(Value),
    Lte(Value),
    In(Vec<Value>),
    Contains(Value),
    Prefix(String),
    Exists(bool),
}

impl Filter {
    pub(super) fn parse(text: &str, projection: &mut Projection) -> Result<Self> {
        if text.len() > FILTER_BYTES_MAX {
            return Err(invalid(format!("has more than {FILTER_BYTES_MAX} bytes")));
        }
        let value = json::parse(text.as_bytes()).map_err(|error| invalid(error.message))?;
        let mut compiler = Compiler { projection, nodes: 0 };
        let root = compiler.group(&value, 1)?;
        Ok(Self { root, text: json::canonical(&value), nodes: compiler.nodes })
    }

    pub(super) fn matches(&self, view: &View<'_>) -> bool {
        self.root.holds(view)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// How many tests, combinators and values it has.
    pub(super) const fn nodes(&self) -> usize {
        self.nodes
    }
}

fn invalid(what: impl std::fmt::Display) -> Error {
    Error::invalid(format!("`filter`: {what}"))
}

struct Compiler<'p> {
    projection: &'p mut Projection,
    nodes: usize,
}

impl Compiler<'_> {
    fn count(&mut self, nodes: usize) -> Result<()> {
        self.nodes += nodes;
        if self.nodes > FILTER_NODES_MAX {
            return Err(invalid(format!(
                "has more than {FILTER_NODES_MAX} parts: objects, tests and values"
            )));
        }
        Ok(())
    }

    fn group(&mut self, value: &Value, depth: usize) -> Result<Node> {
        let Value::Object(members) = value else {
            return Err(invalid("expected an object"));
        };
        if depth > FILTER_DEPTH_MAX {
            return Err(invalid(format!("nests deeper than {FILTER_DEPTH_MAX} levels")));
        }
        self.count(1)?;
        let mut all = Vec::with_capacity(members.len());
        for (name, value) in members {
            match name.as_str() {
                "and" => all.push(Node::And(self.groups(name, value, depth)?)),
                "or" => all.push(Node::Or(self.groups(name, value, depth)?)),
                "not" => all.push(Node::Not(Box::new(self.group(value, depth + 1)?))),
                _ => self.field(name, value, &mut all)?,
            }
        }
        Ok(Node::And(all))
    }

    fn groups(&mut self, name: &str, value: &Value, depth: usize) -> Result<Vec<Node>> {
        match value.as_array() {
            Some(groups) if !groups.is_empty() => {
                groups.iter().map(|group| self.group(group, depth + 1)).collect()
            }
            _ => Err(invalid(format!("`{name}` takes a non-empty array of objects"))),
        }
    }

    fn field(&mut self, name: &str, value: &Value, all: &mut Vec<Node>) -> Result<()> {
        let field = Field::parse(name, "filter", self.projection)?;
        match value {
            Value::Object(tests) => self.tests(name, &field, tests, all),
            Value::Array(_) => {
                check_dollar(name)?;
                Err(invalid(format!("`{name}`: use `in` or `eq` to compare with an array")))
            }
            scalar => {
                self.count(1)?;
                all.push(Node::Test(field.clone(), Test::Eq(literal(name, &field, scalar)?)));
                Ok(())
            }
        }
    }

    fn tests(
        &mut self,
        name: &str,
        field: &Field,
        tests: &Map<String, Value>,
        all: &mut Vec<Node>,
    ) -> Result<()> {
        if tests.is_empty() {
            return Err(invalid(format!("`{name}`: expected a value or an operator")));
        }
        for (operator, value) in tests {
            self.count(1)?;
            let test = self.test(name, field, operator, value)?;
            all.push(Node::Test(field.clone(), test));
        }
        Ok(())
    }

    fn test(&mut self, name: &str, field: &Field, operator: &str, value: &Value) -> Result<Test> {
        let takes = |what: &str| invalid(format!("`{name}`: `{operator}` takes {what}"));
        let compared = || match literal(name, field, value)? {
            value @ (Value::Number(_) | Value::String(_)) => Ok(value),
            _ => Err(takes("a number or a string")),
        };
        Ok(match operator {
            "eq" => Test::Eq(literal(name, field, value)?),
            "ne" => Test::Ne(literal(name, field, value)?),
            "gt" => Test::Gt(compared()?),
            "gte" => Test::Gte(compared()?),
            "lt" => Test::Lt(compared()?),
            "lte" => Test::Lte(compared()?),
            "in" => {
                let values = value.as_array().ok_or_else(|| takes("an array"))?;
                self.count(values.len())?;
                let literals = values.iter().map(|value| literal(name, field, value));
                Test::In(literals.collect::<Result<_>>()?)
            }
            "exists" => Test::Exists(value.as_bool().ok_or_else(|| takes("true or false"))?),
            "contains" | "prefix" if has_no_text(field) => {
                return Err(invalid(format!("`{operator}` does not apply to `{name}`")));
            }
            "contains" => Test::Contains(value.clone()),
            "prefix" => Test::Prefix(value.as_str().ok_or_else(|| takes("a string"))?.to_owned()),
            _ => {
                check_dollar(name)?;
                check_dollar(operator)?;
                return Err(invalid(format!(
                    "`{name}`: unknown operator `{operator}`; there are {}",
                    OPERATORS.join(", ")
                )));
            }
        })
    }
}

/// Combinators and operators have no `$` here: a name that has one is told how it is written.
fn check_dollar(name: &str) -> Result<()> {
    match name.strip_prefix('$') {
        Some(word) if COMBINATORS.contains(&word) || OPERATORS.contains(&word) => {
            Err(invalid(format!("`{name}` is written `{word}`, without `$`")))
        }
        _ => Ok(()),
    }
}

const fn has_no_text(field: &Field) -> bool {
    matches!(field, Field::System(system) if !matches!(system, SystemField::Key))
}

/// The value to compare `field` with: a time becomes microseconds, as the row's own does.
fn literal(name: &str, field: &Field, value: &Value) -> Result<Value> {
    let Field::System(system) = field else { return Ok(value.clone()) };
    let (fits, what) = match system {
        SystemField::CreatedAt | SystemField::UpdatedAt => {
            let at: Option<Timestamp> = serde_json::from_value(value.clone()).ok();
            let at =
                at.ok_or_else(|| invalid(format!("`{name}` is compared with a time (RFC 3339)")))?;
            return Ok(at.0.into());
        }
        SystemField::Key => (value.is_string(), "a string"),
        SystemField::Version => (value.is_number(), "a number"),
    };
    if !fits {
        return Err(invalid(format!("`{name}` is compared with {what}")));
    }
    Ok(value.clone())
}

impl Node {
    fn holds(&self, view: &View<'_>) -> bool {
        match self {
            Self::And(nodes) => nodes.iter().all(|node| node.holds(view)),
            Self::Or(nodes) => nodes.iter().any(|node| node.holds(view)),
            Self::Not(node) => !node.holds(view),
            Self::Test(field, test) => test.holds(view.value(field)),
        }
    }
}

impl Test {
    fn holds(&self, found: Option<Ref<'_>>) -> bool {
        if let Self::Exists(wanted) = self {
            return found.is_some() == *wanted;
        }
        let found = found.unwrap_or(Ref::Null);
        let order = |value| found.order(&Ref::of(value));
        match self {
            Self::Eq(value) => found.equals(&Ref::of(value)),
            Self::Ne(value) => !found.equals(&Ref::of(value)),
            Self::Gt(value) => order(value).is_some_and(std::cmp::Ordering::is_gt),
            Self::Gte(value) => order(value).is_some_and(std::cmp::Ordering::is_ge),
            Self::Lt(value) => order(value).is_some_and(std::cmp::Ordering::is_lt),
            Self::Lte(value) => order(value).is_some_and(std::cmp::Ordering::is_le),
            Self::In(values) => values.iter().any(|value| found.equals(&Ref::of(value))),
            Self::Contains(value) => match (&found, value) {
                (Ref::String(text), Value::String(part)) => text.contains(part.as_str()),
                (Ref::Array(items), value) => {
                    items.iter().any(|item| Ref::of(item).equals(&Ref::of(value)))
                }
                _ => false,
            },
            Self::Prefix(prefix) => {
                matches!(found, Ref::String(text) if text.starts_with(prefix.as_str()))
            }
            Self::Exists(_) => false,
        }
    }
}
