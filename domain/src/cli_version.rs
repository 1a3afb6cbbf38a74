//! The version that a command-line client states in `x-service-cli-version` (part 9, rule 4).

use semver::Version;

use crate::{Error, ErrorCode, Result};

/// The header that carries it.
pub const HEADER: &str = "x-service-cli-version";
/// Most characters of a version that is looked at.
const VERSION_CHARS_MAX: usize = 64;

/// A semantic version, `1.4.0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CliVersion(Version);

impl CliVersion {
    /// Reads a version after semver.org 2.0.0.
    ///
    /// # Errors
    /// `invalid_request` for anything else, numbers beyond 64 bits included.
    pub fn parse(text: &str) -> Result<Self> {
        let short = text.len() <= VERSION_CHARS_MAX;
        let version = if short { Version::parse(text.trim()).ok() } else { None };
        version
            .map(Self)
            .ok_or_else(|| Error::invalid(format!("{HEADER}: must be a version such as 1.4.0")))
    }

    /// Checks what a client states against the oldest version that is served. A caller that
    /// states nothing opts out; a malformed header is refused whether or not there is a minimum.
    ///
    /// # Errors
    /// `invalid_request`; `cli_upgrade_required` with `version` and `min_version` in `details`.
    pub fn check(stated: Option<&str>, minimum: Option<&Self>) -> Result<()> {
        let Some(stated) = stated else { return Ok(()) };
        let stated = Self::parse(stated)?;
        match minimum {
            Some(minimum) if stated < *minimum => Err(Error::new(
                ErrorCode::CliUpgradeRequired,
                format!("client version {} is below the minimum {}", stated.0, minimum.0),
            )
            .with_details(serde_json::json!({
                "version": stated.0.to_string(), "min_version": minimum.0.to_string(),
            }))),
            _ => Ok(()),
        }
    }
}
