//! Custom domains of an app (part 4.2): binding, showing, removing.

pub mod bind;
pub mod read;
pub mod record;
pub mod remove;

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request::Parts;
use rookery_domain::{Error, ErrorCode};

use crate::{domains::CustomDomains, error::ApiError, state::AppState};

/// What to do where there is no domain to be looked at.
const NONE_BOUND: &str = "Bind one with POST /v1/apps/:id/domain; without one the app is at its own address, the `url` of its record.";

/// What the settings say of custom domains; `custom_domains_not_enabled` when they say nothing,
/// whatever the request asks for.
pub struct Enabled(Arc<CustomDomains>);

impl FromRequestParts<AppState> for Enabled {
    type Rejection = ApiError;

    async fn from_request_parts(_: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let custom = state.custom_domains.clone().ok_or_else(|| {
            let message = "this service has no edge provider for custom domains";
            Error::new(ErrorCode::CustomDomainsNotEnabled, message)
        })?;
        Ok(Self(custom))
    }
}

/// The app has no custom domain at all.
fn none_bound() -> Error {
    Error::new(ErrorCode::DomainNotFound, "this app has no custom domain").with_hint(NONE_BOUND)
}
