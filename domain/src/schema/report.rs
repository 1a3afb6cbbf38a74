//! How much work it is to say what is wrong with a value, before anybody does it.
//!
//! The validator answers yes or no without allocating, but its report builds one error for each
//! pair of a subschema and a place in the value that it fails, however few of them are read: 1,500
//! branches against an array of 16,000 items were measured at more than 6 GB. What is not here:
//! validating.

use serde_json::Value;

/// Errors that a report may build on the way to the few that it shows; each takes some 400 bytes.
const ERRORS_MAX: usize = 50_000;

/// Whether a report on `value` under `schema` stays within [`ERRORS_MAX`].
pub(super) fn is_affordable(schema: &Value, value: &Value) -> bool {
    let mut budget = Budget(ERRORS_MAX);
    budget.pair(schema, value).is_some()
}

struct Budget(usize);

impl Budget {
    fn spend(&mut self, amount: usize) -> Option<()> {
        self.0 = self.0.checked_sub(amount)?;
        Some(())
    }

    /// Spends what the errors of `schema` at `value`, and of all below both, may take; `None` when
    /// the budget does not reach.
    fn pair(&mut self, schema: &Value, value: &Value) -> Option<()> {
        let Value::Object(keywords) = schema else { return self.spend(1) };
        self.spend(1 + keywords.len())?;
        for (keyword, rule) in keywords {
            match keyword.as_str() {
                // An error carries a copy of what was allowed.
                "enum" | "const" => self.copy(rule)?,
                "allOf" | "anyOf" | "oneOf" => self.each(rule, value)?,
                "not" | "if" | "then" | "else" => self.pair(rule, value)?,
                "dependentSchemas" => {
                    for schema in members(rule) {
                        self.pair(schema, value)?;
                    }
                }
                "properties" => {
                    self.spend(members(rule).count())?;
                    for (name, schema) in rule.as_object().into_iter().flatten() {
                        if let Some(member) = value.as_object().and_then(|map| map.get(name)) {
                            self.pair(schema, member)?;
                        }
                    }
                }
                "patternProperties" => {
                    for schema in members(rule) {
                        for member in members(value) {
                            self.pair(schema, member)?;
                        }
                    }
                }
                "additionalProperties" | "unevaluatedProperties" => {
                    for member in members(value) {
                        self.pair(rule, member)?;
                    }
                }
                "propertyNames" => {
                    for _ in members(value) {
                        self.pair(rule, &Value::Null)?;
                    }
                }
                "items" | "unevaluatedItems" | "contains" => {
                    for item in value.as_array().into_iter().flatten() {
                        self.pair(rule, item)?;
                    }
                }
                "prefixItems" => {
                    let schemas = rule.as_array().into_iter().flatten();
                    for (schema, item) in schemas.zip(value.as_array().into_iter().flatten()) {
                        self.pair(schema, item)?;
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    fn each(&mut self, schemas: &Value, value: &Value) -> Option<()> {
        schemas.as_array().into_iter().flatten().try_for_each(|schema| self.pair(schema, value))
    }

    fn copy(&mut self, value: &Value) -> Option<()> {
        self.spend(1)?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.copy(item)),
            Value::Object(map) => map.values().try_for_each(|member| self.copy(member)),
            _ => Some(()),
        }
    }
}

fn members(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_object().into_iter().flat_map(|map| map.values())
}
