//! Where settings come from: the compiled defaults, a file, the environment. The defaults are also
//! the list of what exists and of which type it is, so a variable that fits none of them is found
//! by its own name.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    path::{Path, PathBuf},
};

use figment::{
    Figment, Metadata, Profile, Provider,
    error::Kind,
    providers::{Format as _, Toml},
    value::{Dict, Map, Num, Value},
};
use ipnet::{IpNet, Ipv4Net};
use serde::{Deserialize as _, Deserializer, de::Error as _};

use super::{ConfigError, DEFAULTS};

/// The prefix of settings in the environment; also the separator between section and key.
const PREFIX: &str = "ROOKERY__";
/// What is written for it by mistake.
const NEAR_PREFIX: &str = "ROOKERY_";
/// The variable that names the settings file.
const FILE_VARIABLE: &str = "ROOKERY_CONFIG";
/// The settings file that is read where it exists and none is named.
const DEFAULT_FILE: &str = "rookery.toml";

/// Bits before the IPv4 address in an IPv6 address that is one of IPv4 (`::ffff:192.0.2.1`).
const MAPPED_PREFIX_LEN: u8 = 96;

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

/// The source documents' names for settings of parts that this build does not have.
const UNBUILT_NAMES: &[&str] = &[
    "INGEST_MAX_BODY_BYTES",
    "MAX_ARTIFACT_BYTES",
    "MAX_ATTACHMENTS_PER_ACCOUNT",
    "MAX_TASTE_BYTES",
];

/// The process's environment, or a test's.
#[derive(Debug, Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The environment of this process; variables that are not UTF-8 are none of ours.
    #[must_use]
    pub fn of_process() -> Self {
        // A value that is no text must not be passed over: what stands in its place is refused, or
        // fits nothing.
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
        };
        Self(std::env::vars_os().filter_map(text).collect())
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// The variables that are set and do nothing, because this build has not what they are for.
pub(crate) fn without_effect(environment: &Environment) -> Vec<&'static str> {
    UNBUILT_NAMES.iter().copied().filter(|name| environment.0.contains_key(*name)).collect()
}

/// The layers, not yet extracted.
pub(super) fn figment(
    file: Option<&Path>,
    environment: &Environment,
) -> Result<Figment, ConfigError> {
    let defaults = Figment::from(Toml::string(DEFAULTS));
    let variables = Variables::read(environment, &defaults)?;
    let mut figment = defaults;
    if let Some(path) = settings_file(file, environment)? {
        figment = figment.merge(Toml::file_exact(path));
    }
    Ok(figment.merge(variables))
}

fn settings_file(
    file: Option<&Path>,
    environment: &Environment,
) -> Result<Option<PathBuf>, ConfigError> {
    let named = file.map(Path::to_path_buf).or_else(|| {
        environment.0.get(FILE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
    });
    match named {
        Some(path) if path.is_file() => Ok(Some(path)),
        Some(path) => Err(ConfigError(format!("settings file {}: not found", path.display()))),
        None => Ok(Some(PathBuf::from(DEFAULT_FILE)).filter(|path| path.is_file())),
    }
}

/// The layer of the environment.
struct Variables {
    values: Dict,
    /// The variable that set each setting, by its path.
    names: BTreeMap<String, String>,
}

impl Variables {
    fn read(environment: &Environment, defaults: &Figment) -> Result<Self, ConfigError> {
        let (mut values, mut names) = (Dict::new(), BTreeMap::new());
        let near_miss = environment.0.keys().find(|name| {
            let rest = name.strip_prefix(NEAR_PREFIX);
            rest.is_some_and(|rest| !rest.starts_with('_') && rest.contains("__"))
        });
        if let Some(name) = near_miss {
            let why = format!("{name}: settings begin with {PREFIX} (two underscores)");
            return Err(ConfigError(why));
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

fn wanted(like: &Value) -> &'static str {
    match like {
        Value::Bool(..) => "true or false",
        Value::Num(..) => "a whole number, 0 or more",
        Value::Array(..) => "a list with commas",
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

/// One line: the setting, its source, what is wrong. Never the value of a secret, which figment
/// would quote.
pub(super) fn explain(error: &figment::Error) -> ConfigError {
    let mut path = error.path.join(".");
    let what = match &error.kind {
        Kind::UnknownField(name, _) => {
            if !path.is_empty() && !path.ends_with(name.as_str()) {
                path.push('.');
            }
            if !path.ends_with(name.as_str()) {
                path.push_str(name);
            }
            "no such setting".to_owned()
        }
        Kind::InvalidType(_, expected) | Kind::InvalidValue(_, expected) => {
            format!("expected {expected}")
        }
        Kind::UnknownVariant(_, known) => format!("expected one of {}", known.join(", ")),
        Kind::Message(text) => without_quotation(text),
        other => other.to_string(),
    };
    let source =
        error.metadata.as_ref().map_or_else(String::new, |metadata| match &metadata.source {
            Some(file) => format!(" (in {file})"),
            None => {
                let keys: Vec<_> = path.split('.').collect();
                format!(
                    " (in {}: {})",
                    metadata.name,
                    metadata.interpolate(&Profile::Default, &keys)
                )
            }
        });
    let subject = if path.is_empty() { "settings" } else { path.as_str() };
    ConfigError(format!("{subject}: {what}{source}").replace('\n', " "))
}

/// What a parser says, without the line of the file that it shows: that may hold a secret.
fn without_quotation(text: &str) -> String {
    let is_said = |line: &&str| {
        let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        !line.is_empty() && !line.starts_with('|')
    };
    text.lines().filter(is_said).collect::<Vec<_>>().join(": ")
}

/// Networks in CIDR notation; a bare address is a network of one. Those of IPv4 addresses that are
/// written as IPv6 are IPv4, as their peers are told by.
pub(super) fn networks<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<IpNet>, D::Error> {
    let parse = |text: &String| {
        let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        let network = network
            .map_err(|_| D::Error::custom(format!("`{text}` is no address and no network")))?;
        let IpNet::V6(mapped) = network else { return Ok(network) };
        let Some(address) = mapped.addr().to_ipv4_mapped() else { return Ok(network) };
        let prefix = mapped.prefix_len().checked_sub(MAPPED_PREFIX_LEN);
        let v4 = prefix.and_then(|prefix| Ipv4Net::new(address, prefix).ok());
        v4.map(IpNet::V4).ok_or_else(|| {
            let least = format!("it needs a prefix of {MAPPED_PREFIX_LEN} to 128");
            D::Error::custom(format!(
                "`{text}` is a network of IPv4 addresses written as IPv6: {least}"
            ))
        })
    };
    Vec::<String>::deserialize(input)?.iter().map(parse).collect()
}
