//! Who may take an app that is offered to an address.

use crate::{Error, ErrorCode, Result};

/// What is said of an offer that is somebody else's, or does not exist.
#[must_use]
pub fn no_such_offer() -> Error {
    Error::new(ErrorCode::NotFound, "no such offer")
}

/// Checks that an account is the one that was named: `named` and `address` are in normal form.
/// Whoever only claims the address learns no more than that it has to be proven.
///
/// # Errors
/// `not_found` for anybody else; `email_not_verified` for the address unproven.
pub fn check_addressee(named: &str, address: Option<&str>, verified: bool) -> Result<()> {
    match address {
        Some(address) if address == named && verified => Ok(()),
        Some(address) if address == named => Err(Error::new(
            ErrorCode::EmailNotVerified,
            "the offer is to an address that this account has not verified",
        )),
        _ => Err(no_such_offer()),
    }
}
