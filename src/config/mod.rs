//! The settings: what they are, where they come from, and whether they fit together.
//!
//! `config/default.toml` documents every one of them and is compiled in; a file and the
//! environment override it. What a setting *does* is decided by the room that reads it.

mod bounds;
mod check;
mod environment;
mod sections;
mod show;
mod source;

use std::path::Path;

use figment::Figment;

pub use environment::Environment;
pub(crate) use environment::without_effect;
pub use sections::{
    Apps, AppsMode, Challenge, Community, Config, Domains, Feed, Log, LogFormat, Mail, Meters, Ops,
    RateLimit, Registration, RegistrationMode, Screenshot, Server, Storage, Traces,
};

/// The documented defaults, as they are compiled in.
pub const DEFAULTS: &str = include_str!("../../config/default.toml");

/// Why the settings stop the start: one line that names the setting and where it came from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub(crate) String);

/// Reads the settings: defaults, then `file` (or `ROOKERY_CONFIG`, or `./rookery.toml`), then the
/// environment.
///
/// # Errors
/// [`ConfigError`] for an unknown, malformed or contradictory setting.
pub fn load(file: Option<&Path>, environment: &Environment) -> Result<Config, ConfigError> {
    extract(&source::figment(file, environment)?)
}

fn extract(figment: &Figment) -> Result<Config, ConfigError> {
    bounds::check(figment)?;
    let config: Config = figment.extract().map_err(|error| source::explain(&error))?;
    check::check(&config)?;
    Ok(config)
}

/// As [`load`], and what is in force as TOML, one line per setting with its origin; secrets masked.
/// Above it what is set and does nothing.
///
/// # Errors
/// As [`load`].
pub fn describe(
    file: Option<&Path>,
    environment: &Environment,
) -> Result<(Config, String), ConfigError> {
    let figment = source::figment(file, environment)?;
    let config = extract(&figment)?;
    let idle = without_effect(environment).into_iter();
    let idle: String = idle.map(|name| format!("# {name} is set: {NO_EFFECT}\n")).collect();
    Ok((config, idle + &show::describe(&figment)))
}

/// What is to be said of [`without_effect`].
pub(crate) const NO_EFFECT: &str = "this build has nothing that it is for";
