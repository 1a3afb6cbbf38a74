//! The settings: what they are, where they come from, and whether they fit together.
//!
//! `config/default.toml` documents every one of them and is compiled in; a file and the
//! environment override it. What a setting *does* is decided by the room that reads it.

mod check;
mod sections;
mod show;
mod source;

use std::path::Path;

pub use sections::{
    Apps, AppsMode, Community, Config, Feed, Log, LogFormat, Mail, Meters, Ops, RateLimit,
    Registration, RegistrationMode, Server, Storage, Traces,
};
pub use source::Environment;

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
    let figment = source::figment(file, environment)?;
    let config: Config = figment.extract().map_err(|error| source::explain(&error))?;
    check::check(&config)?;
    Ok(config)
}

/// What is in force, as TOML, one line per setting with its origin; secrets masked.
///
/// # Errors
/// As [`load`].
pub fn describe(file: Option<&Path>, environment: &Environment) -> Result<String, ConfigError> {
    load(file, environment)?;
    Ok(show::describe(&source::figment(file, environment)?))
}
