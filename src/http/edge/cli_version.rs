//! `x-service-cli-version` (part 9 of the source documents), out of a request's head. What the
//! version has to be is the domain's.

use http::HeaderMap;
use rookery_domain::{
    Error,
    cli_version::{CliVersion, HEADER},
};

use crate::http::single_header::SingleHeader;

/// Refuses a client below `min`, and a header that is no version.
///
/// # Errors
/// `cli_upgrade_required`, `invalid_request`.
pub(super) fn check(headers: &HeaderMap, min: Option<&CliVersion>) -> Result<(), Error> {
    match SingleHeader::of(headers, HEADER) {
        SingleHeader::Absent => Ok(()),
        // What is not text is no version either.
        SingleHeader::Once(value) => {
            CliVersion::check(Some(value.to_str().unwrap_or_default()), min)
        }
        SingleHeader::Repeated => Err(Error::invalid(format!("{HEADER}: is there more than once"))),
    }
}
