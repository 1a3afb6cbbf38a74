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
    if codings(headers, CONTENT_ENCODING).any(|coding| !coding.eq_ignore_ascii_case("identity")) {
        return Err(Error::invalid(
            "Content-Encoding: a body must be sent as it is, not compressed",
        ));
    }
    let mut transfer = codings(headers, TRANSFER_ENCODING);
    let (first, second) = (transfer.next(), transfer.next());
    if first.into_iter().chain(second).any(|coding| !coding.eq_ignore_ascii_case("chunked")) {
        return Err(Error::invalid(
            "Transfer-Encoding: chunked is the only one that is understood",
        ));
    }
    // RFC 9112, 6.1.
    if second.is_some() {
        return Err(Error::invalid("Transfer-Encoding: a body is in chunks once"));
    }
    Ok(())
}

/// The codings that the header names.
fn codings(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("unreadable"));
    let codings = lines.flat_map(|line| line.split(',')).map(str::trim);
    codings.filter(|coding| !coding.is_empty())
}
