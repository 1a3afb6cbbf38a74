//! `x-service-cli-version` (part 9 of the source documents): a command-line client that is too
//! old is told to upgrade. A caller without the header is not checked.

use http::HeaderMap;
use rookery_domain::{Error, ErrorCode};
use semver::Version;

/// The header.
pub const HEADER: &str = "x-service-cli-version";

/// Refuses a client below `min`, and a header that is no version.
///
/// # Errors
/// `cli_upgrade_required`, `invalid_request`.
pub fn check(headers: &HeaderMap, min: Option<&Version>) -> Result<(), Error> {
    let mut sent = headers.get_all(HEADER).iter();
    let Some(value) = sent.next() else { return Ok(()) };
    if sent.next().is_some() {
        return Err(Error::invalid(format!("{HEADER}: is there more than once")));
    }
    let version = value.to_str().ok().and_then(|text| Version::parse(text.trim()).ok());
    let Some(version) = version else {
        return Err(Error::invalid(format!("{HEADER}: must be a version such as 1.4.0")));
    };
    match min {
        Some(min) if version < *min => {
            let message = format!("client version {version} is below the minimum {min}");
            let details = serde_json::json!({
                "version": version.to_string(), "min_version": min.to_string()
            });
            Err(Error::new(ErrorCode::CliUpgradeRequired, message).with_details(details))
        }
        _ => Ok(()),
    }
}
