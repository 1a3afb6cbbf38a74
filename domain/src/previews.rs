//! Preview tokens: a private app shown to whoever has one, for reading and counting only.

use crate::{Principal, Timestamp, id::PreviewId, secret::SecretHash, time::DAY_S};

/// Preview tokens of one app that are neither revoked nor expired.
pub const PREVIEWS_PER_APP_MAX: usize = 1_000;
/// Seconds that a preview is good for when its maker does not say: a week.
pub const PREVIEW_TTL_S_DEFAULT: i64 = 7 * DAY_S;
/// Most seconds that a preview may be good for.
pub const PREVIEW_TTL_S_MAX: i64 = 90 * DAY_S;

/// A preview token.
#[derive(Clone, PartialEq, Eq)]
pub struct Preview {
    /// Its id.
    pub id: PreviewId,
    /// SHA-256 of the token.
    pub hash: SecretHash,
    /// From when on it opens nothing.
    pub expires_at: Timestamp,
    /// Who made it.
    pub created_by: Principal,
    /// When.
    pub created_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl Preview {
    /// Whether it opens anything now.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at > now
    }
}

crate::shown!(Preview: id);
