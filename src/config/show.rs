//! `rookery config`: what is in force and where it came from, as TOML, with secrets masked.

use std::fmt::Write as _;

use figment::{
    Figment,
    value::{Dict, Num, Value},
};

/// Settings whose values are never printed.
const SECRETS: &[&str] = &[
    "server.key",
    "ops.token",
    "storage.database_url",
    "mail.smtp_url",
    "idp.client_secret",
    "traces.headers",
];
/// What stands for a secret that is set.
const MASK: &str = "\"***\"";

pub(super) fn describe(figment: &Figment) -> String {
    let mut out = String::new();
    let Ok(root) = figment.find_value("") else { return out };
    let Some(root) = root.into_dict() else { return out };
    table(figment, "", &root, &mut out);
    for (section, value) in &root {
        if let Value::Dict(_, inner) = value {
            let _ = write!(out, "\n[{section}]\n");
            table(figment, section, inner, &mut out);
        }
    }
    out
}

fn table(figment: &Figment, section: &str, dict: &Dict, out: &mut String) {
    for (key, value) in dict {
        if matches!(value, Value::Dict(..)) {
            continue;
        }
        let path = if section.is_empty() { key.clone() } else { format!("{section}.{key}") };
        let masked = SECRETS.contains(&path.as_str()) && value.as_str() != Some("");
        let text = if masked { MASK.to_owned() } else { literal(value) };
        let _ = write!(out, "{key} = {text}");
        let metadata = figment.find_metadata(&path);
        let name = metadata.map(|metadata| match &metadata.source {
            Some(source) => source.to_string(),
            None => metadata.name.to_string(),
        });
        // The defaults are a string and have neither file nor variable to name.
        match name {
            Some(name) if !name.starts_with("TOML") => {
                let _ = writeln!(out, " # {name}");
            }
            _ => out.push('\n'),
        }
    }
}

/// A value in TOML. A JSON string is a TOML basic string.
fn literal(value: &Value) -> String {
    match value {
        Value::String(_, text) => serde_json::Value::from(text.as_str()).to_string(),
        Value::Bool(_, flag) => flag.to_string(),
        Value::Num(_, Num::F64(number)) => number.to_string(),
        Value::Num(_, number) => number.to_u128().map_or_else(
            || number.to_i128().map_or_else(String::new, |n| n.to_string()),
            |n| n.to_string(),
        ),
        Value::Array(_, items) => {
            let items: Vec<_> = items.iter().map(literal).collect();
            format!("[{}]", items.join(", "))
        }
        _ => String::new(),
    }
}
