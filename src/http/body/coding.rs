//! Codings of a request's body. None is undone here, so a body in one is refused before it is read
//! as something that it is not.

use http::{
    HeaderMap,
    header::{CONTENT_ENCODING, HeaderName, TRANSFER_ENCODING},
};
use rookery_domain::{Error, Result};

/// Refuses a body that is coded otherwise than in chunks.
///
/// # Errors
/// `invalid_request`, naming the header.
pub fn require_none(headers: &HeaderMap) -> Result<()> {
    if is_other(headers, CONTENT_ENCODING, "identity") {
        return Err(Error::invalid(
            "Content-Encoding: a body must be sent as it is, not compressed",
        ));
    }
    if is_other(headers, TRANSFER_ENCODING, "chunked") {
        return Err(Error::invalid(
            "Transfer-Encoding: chunked is the only one that is understood",
        ));
    }
    Ok(())
}

/// Whether the header names a coding that is not `known`.
fn is_other(headers: &HeaderMap, name: HeaderName, known: &str) -> bool {
    let lines = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("unreadable"));
    let mut codings = lines.flat_map(|line| line.split(',')).map(str::trim);
    codings.any(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(known))
}
