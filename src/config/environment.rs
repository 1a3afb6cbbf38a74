//! Settings in the environment: by their own names, and by those of the source documents. A variable
//! that fits no setting, or no setting's type, is found by its own name.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::Path,
};

use figment::{
    Figment, Metadata, Profile, Provider,
    value::{Dict, Map, Num, Value},
};

use super::ConfigError;

/// The prefix of settings in the environment; also the separator between section and key.
const PREFIX: &str = "ROOKERY__";
/// What is written for it by mistake.
const NEAR_PREFIX: &str = "ROOKERY_";
/// The variable that names the settings file.
const FILE_VARIABLE: &str = "ROOKERY_CONFIG";

/// The source documents' own names, which work as they are.
const DOCUMENTED_NAMES: &[(&str, &str)] = &[
    ("REGISTRATION_MODE", "registration.mode"),
    ("MAX_APPS_PER_ACCOUNT", "limits.max_apps_per_account"),
    ("MAX_DOMAINS_PER_ACCOUNT", "limits.max_domains_per_account"),
    ("MAX_ROWS_PER_ACCOUNT", "limits.max_rows_per_account"),
    ("MAX_ROWS_PER_APP", "limits.max_rows_per_app"),
    ("MAX_STORAGE_BYTES_PER_APP", "limits.max_storage_bytes_per_app"),
    ("MAX_COLLECTIONS_PER_APP", "limits.max_collections_per_app"),
    ("MAX_EMBEDS", "limits.max_embeds"),
    ("MAX_EXTERNAL_HOSTS", "limits.max_external_hosts"),
    ("MAX_MANIFEST_BYTES", "limits.max_manifest_bytes"),
    ("MAX_SCHEMA_BYTES", "limits.max_schema_bytes"),
    ("MAX_EVENT_DATA_BYTES", "limits.max_event_data_bytes"),
    ("NOTIFY_EXTERNAL_ENABLED", "limits.notify_external_enabled"),
    ("COMMUNITY_REVIEW_OPERATOR_EMAILS", "community.review_operator_emails"),
    ("SMTP_URL", "mail.smtp_url"),
    // OpenTelemetry's own names.
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "traces.endpoint"),
    ("OTEL_EXPORTER_OTLP_HEADERS", "traces.headers"),
];

/// Variables that are written as a setting's near miss and are none: the token of `rookery ops`, and the
/// key that the demo has a shell keep and `rookery-load` reads.
const OTHER_NAMES: &[&str] = &["ROOKERY_OPS_TOKEN", "ROOKERY_KEY"];

/// The source documents' names for settings of parts that this build does not have.
const UNBUILT_NAMES: &[&str] = &[
    "INGEST_MAX_BODY_BYTES",
    "MAX_ARTIFACT_BYTES",
    "MAX_ATTACHMENTS_PER_ACCOUNT",
    "MAX_TASTE_BYTES",
];

/// The process's environment, or a test's.
#[derive(Debug, Clone, Default)]
pub struct Environment(BTreeMap<String, OsString>);

impl Environment {
    /// The environment of this process; variables whose names are not UTF-8 are none of ours.
    #[must_use]
    pub fn of_process() -> Self {
        let named = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value));
        Self(std::env::vars_os().filter_map(named).collect())
    }

    /// The settings file that it names.
    pub(super) fn settings_file(&self) -> Option<&Path> {
        self.0.get(FILE_VARIABLE).filter(|path| !path.is_empty()).map(Path::new)
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let text =
            |(name, value): (N, V)| (name.into(), OsString::from(Into::<String>::into(value)));
        Self(pairs.into_iter().map(text).collect())
    }
}

/// The variables that are set and do nothing, because this build has not what they are for.
pub(crate) fn without_effect(environment: &Environment) -> Vec<&'static str> {
    UNBUILT_NAMES.iter().copied().filter(|name| environment.0.contains_key(*name)).collect()
}

/// The layer of the environment.
pub(super) struct Variables {
    values: Dict,
    /// The variable that set each setting, by its path.
    names: BTreeMap<String, String>,
}

impl Variables {
    pub(super) fn read(environment: &Environment, defaults: &Figment) -> Result<Self, ConfigError> {
        let (mut values, mut names) = (Dict::new(), BTreeMap::new());
        if let Some(error) = environment.0.keys().find_map(|name| near_miss(name, defaults)) {
            return Err(error);
        }
        // The documented names first, so that the longer, more specific spelling wins.
        let documented = DOCUMENTED_NAMES.iter().filter_map(|(name, path)| {
            environment.0.get(*name).map(|value| (*name, (*path).to_owned(), value))
        });
        let prefixed = environment.0.iter().filter_map(|(name, value)| {
            let path = name.strip_prefix(PREFIX)?.to_ascii_lowercase().replace("__", ".");
            Some((name.as_str(), path, value))
        });
        for (name, path, text) in documented.chain(prefixed) {
            let like = defaults.find_value(&path).ok().filter(|value| value.as_dict().is_none());
            let like = like.ok_or_else(|| ConfigError(format!("{name}: no such setting")))?;
            let text = utf8(name, &path, text)?;
            let value = parse_as(&like, text)
                .ok_or_else(|| ConfigError(format!("{name}: expected {}", wanted(&like))))?;
            insert(&mut values, &path, value);
            names.insert(path, name.to_owned());
        }
        Ok(Self { values, names })
    }
}

impl Provider for Variables {
    fn metadata(&self) -> Metadata {
        let names = self.names.clone();
        Metadata::named("environment").interpolater(move |_: &Profile, keys: &[&str]| {
            names
                .get(&keys.join("."))
                .cloned()
                .unwrap_or_else(|| format!("{PREFIX}{}", keys.join("__").to_ascii_uppercase()))
        })
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Map::from([(Profile::Default, self.values.clone())]))
    }
}

/// Refuses what somebody wrote for a setting: with one underscore for two, or without its section.
/// Other variables that begin so are left alone: Kubernetes sets some for a service called rookery.
fn near_miss(name: &str, defaults: &Figment) -> Option<ConfigError> {
    let rest = name.strip_prefix(NEAR_PREFIX).filter(|rest| !rest.starts_with('_'))?;
    if OTHER_NAMES.contains(&name) {
        return None;
    }
    let words = |text: &str| text.to_ascii_lowercase().replace("__", "_");
    let written = words(rest);
    let root = defaults.find_value("").ok()?.into_dict()?;
    let meant: Vec<_> = root
        .iter()
        .flat_map(|(section, value)| match value {
            Value::Dict(_, keys) => {
                keys.keys().map(|key| (key, format!("{section}__{key}"))).collect()
            }
            _ => vec![(section, section.clone())],
        })
        .filter(|(key, name)| **key == written || words(name) == written)
        .map(|(_, name)| format!("{PREFIX}{}", name.to_ascii_uppercase()))
        .collect();
    let hint = match meant.as_slice() {
        [] if !rest.contains("__") => return None,
        [] => String::new(),
        names => format!(": {}", names.join(" or ")),
    };
    Some(ConfigError(format!("{name}: settings begin with {PREFIX} (two underscores){hint}")))
}

/// A value as text. What would stand for its other bytes may fit where it must not: in a path it names
/// another file.
fn utf8<'a>(name: &str, path: &str, value: &'a OsStr) -> Result<&'a str, ConfigError> {
    let refused = || ConfigError(format!("{path}: expected UTF-8 (in environment: {name})"));
    value.to_str().ok_or_else(refused)
}

/// Reads `text` as a value of the same type as the default.
fn parse_as(like: &Value, text: &str) -> Option<Value> {
    let text = text.trim();
    Some(match like {
        Value::Bool(..) => match text {
            "true" | "1" => Value::from(true),
            "false" | "0" => Value::from(false),
            _ => return None,
        },
        Value::Num(_, Num::F32(_) | Num::F64(_)) => Value::from(text.parse::<f64>().ok()?),
        Value::Num(..) => Value::from(text.parse::<u64>().ok()?),
        Value::Array(..) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Value::from(items.map(Value::from).collect::<Vec<_>>())
        }
        _ => Value::from(text),
    })
}

/// What a value of the same type as the default is called.
pub(super) fn wanted(like: &Value) -> &'static str {
    match like {
        Value::Dict(..) => "a section",
        Value::Bool(..) => "true or false",
        Value::Num(..) => "a whole number, 0 or more",
        Value::Array(..) => "a list",
        _ => "text",
    }
}

fn insert(dict: &mut Dict, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            dict.insert(path.to_owned(), value);
        }
        Some((section, rest)) => {
            let entry = dict.entry(section.to_owned()).or_insert_with(|| Value::from(Dict::new()));
            if let Value::Dict(_, inner) = entry {
                insert(inner, rest, value);
            }
        }
    }
}
