//! The record of a preview token.

use rookery_domain::{Principal, Timestamp, id::PreviewId, previews::Preview};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    http::idempotency::ShownOnce,
    openapi::{ids, shapes::PrincipalRecord},
};

/// A preview token.
#[derive(Clone, Serialize, ToSchema)]
pub struct PreviewBody {
    /// Its id.
    #[schema(value_type = ids::PreviewId)]
    id: PreviewId,
    /// When it ends.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    /// Who made it.
    #[schema(value_type = PrincipalRecord)]
    created_by: Principal,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The token, in the one answer that makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// The address that opens the app with it; shown with the token only.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

impl PreviewBody {
    /// The record, without the token.
    #[must_use]
    pub fn of(preview: &Preview) -> Self {
        let Preview { id, expires_at, created_by, created_at, .. } = *preview;
        Self { id, expires_at, created_by, created_at, token: None, url: None }
    }

    /// The record with its token, and the address that opens the app with it.
    #[must_use]
    pub fn with_token(self, token: String, url: String) -> Self {
        Self { token: Some(token), url: Some(url), ..self }
    }
}

impl ShownOnce for PreviewBody {
    fn without_secrets(self) -> Self {
        Self { token: None, url: None, ..self }
    }
}
