//! Custom domains of an app (part 4.2): binding, showing, removing.

pub mod bind;
pub mod read;
pub mod record;
pub mod remove;

use rookery_domain::{Error, ErrorCode, Result};

use crate::{domains::CustomDomains, state::State};

/// What the settings say of custom domains.
///
/// # Errors
/// `custom_domains_not_enabled` when they say nothing.
fn enabled(state: &State) -> Result<&CustomDomains> {
    state.custom_domains.as_ref().ok_or_else(|| {
        let message = "this service has no edge provider for custom domains";
        Error::new(ErrorCode::CustomDomainsNotEnabled, message)
    })
}

/// The app has no custom domain, or not this one.
fn not_found(message: &str) -> Error {
    Error::new(ErrorCode::DomainNotFound, message)
}
