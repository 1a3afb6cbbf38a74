//! Where settings come from: the compiled defaults, a file, the environment. The defaults are also
//! the list of what exists and of which type it is.

use std::{
    fs,
    io::ErrorKind,
    net::IpAddr,
    path::{Path, PathBuf},
};

use figment::{
    Figment, Metadata, Profile, Provider,
    error::{Actual, Kind},
    providers::{Format as _, Toml},
    value::{Dict, Map, Value},
};
use ipnet::{IpNet, Ipv4Net};
use serde::{Deserialize as _, Deserializer, de::Error as _};

use super::{
    ConfigError, DEFAULTS,
    environment::{Environment, Variables, wanted},
};

/// The settings file that is read where it exists and none is named.
const DEFAULT_FILE: &str = "rookery.toml";

/// Bits before the IPv4 address in an IPv6 address that is one of IPv4 (`::ffff:192.0.2.1`).
const MAPPED_PREFIX_LEN: u8 = 96;

/// The layers, not yet extracted. The file is read once: it may be a pipe.
pub(super) fn figment(
    file: Option<&Path>,
    environment: &Environment,
) -> Result<Figment, ConfigError> {
    let mut figment = defaults();
    let variables = Variables::read(environment, &figment)?;
    if let Some(file) = SettingsFile::read(file, environment)? {
        figment = figment.merge(file);
    }
    Ok(figment.merge(variables))
}

fn defaults() -> Figment {
    Figment::from(Toml::string(DEFAULTS))
}

/// The layer of the file.
struct SettingsFile {
    path: PathBuf,
    text: String,
}

impl SettingsFile {
    /// Whatever has the name of one is it: a folder (Docker makes one where what it is to mount is
    /// missing) or a link that leads nowhere does not mean that nobody wanted any.
    fn read(file: Option<&Path>, environment: &Environment) -> Result<Option<Self>, ConfigError> {
        let path = match file.or_else(|| environment.settings_file()) {
            Some(named) => named,
            None if Path::new(DEFAULT_FILE).symlink_metadata().is_ok() => Path::new(DEFAULT_FILE),
            None => return Ok(None),
        };
        let text = fs::read_to_string(path).map_err(|error| {
            let why = match error.kind() {
                ErrorKind::NotFound if path.is_symlink() => "a link that leads nowhere".to_owned(),
                ErrorKind::NotFound => "not found".to_owned(),
                ErrorKind::IsADirectory => "a folder".to_owned(),
                ErrorKind::InvalidData => "not UTF-8".to_owned(),
                _ => error.to_string(),
            };
            ConfigError(format!("settings file {}: {why}", path.display()))
        })?;
        Ok(Some(Self { path: path.to_owned(), text }))
    }
}

impl Provider for SettingsFile {
    fn metadata(&self) -> Metadata {
        Metadata::from("TOML file", self.path.as_path())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Toml::string(&self.text).data()
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
        Kind::InvalidType(actual, expected) | Kind::InvalidValue(actual, expected) => {
            let expected = match (defaults().find_value(&path), actual) {
                (Ok(Value::String(..)), Actual::Str(_)) => expected,
                (Ok(like), _) => wanted(&like),
                // One of a list, and lists are of texts.
                (Err(_), _) => "text",
            };
            format!("expected {expected}")
        }
        Kind::UnknownVariant(_, known) => format!("expected one of {}", known.join(", ")),
        Kind::Message(text) => without_quotation(text),
        other => other.to_string(),
    };
    explained(&path, &what, error.metadata.as_ref())
}

/// The line of what is wrong with the setting at `path`, which `metadata` tells the source of.
pub(super) fn explained(path: &str, what: &str, metadata: Option<&Metadata>) -> ConfigError {
    let source = metadata.map_or_else(String::new, |metadata| match &metadata.source {
        Some(file) => format!(" (in {file})"),
        None => {
            let keys: Vec<_> = path.split('.').collect();
            format!(" (in {}: {})", metadata.name, metadata.interpolate(&Profile::Default, &keys))
        }
    });
    let subject = if path.is_empty() { "settings" } else { path };
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
