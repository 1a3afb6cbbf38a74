//! One condition on rows, typed by people, as a filter of the API.

use serde_json::{Value, json};

/// The condition that was typed, as a filter of the API. Nobody says whether `42` is a number or a text
/// of digits, so rows fit by either.
#[must_use]
pub fn condition(field: &str, op: &str, text: &str) -> Value {
    let of = |op: &str, value: Value| json!({field: {op: value}});
    let each =
        |values: Vec<Value>| -> Value { values.into_iter().map(|value| of(op, value)).collect() };
    let one_of = |values: Vec<Value>| of("in", values.into());
    match op {
        "in" => one_of(text.split(',').flat_map(|one| readings(field, one.trim())).collect()),
        "contains" | "prefix" => of(op, Value::String(text.to_owned())),
        "exists" => of(op, literal(text).unwrap_or_else(|| text.into())),
        "eq" => match readings(field, text) {
            values if values.len() > 1 => one_of(values),
            values => of(op, values.into_iter().next().unwrap_or_default()),
        },
        "ne" => json!({"and": each(readings(field, text))}),
        // Nothing is more or less than a truth value.
        _ => {
            let mut values = readings(field, text);
            values.retain(|value| value.is_number() || value.is_string());
            json!({"or": each(values)})
        }
    }
}

/// What a text may stand for in a field of rows: the value that it is in JSON, and the text itself. In
/// quotes it is a text only; and of what every row has, the type is known.
fn readings(field: &str, text: &str) -> Vec<Value> {
    let plain = || Value::String(text.to_owned());
    match (literal(text), field) {
        (Some(quoted @ Value::String(_)), _) => vec![quoted],
        (None, _) | (_, "key" | "created_at" | "updated_at") => vec![plain()],
        (Some(value), "version") => vec![value],
        (Some(value), _) => vec![value, plain()],
    }
}

/// The number, truth value, null or quoted text that a text is.
fn literal(text: &str) -> Option<Value> {
    let value = serde_json::from_str(text).ok()?;
    (!matches!(value, Value::Object(_) | Value::Array(_))).then_some(value)
}
