//! Members of an app: humans whom its owner let in, each with a custom role of the manifest or
//! without one. What a role opens is said by the permission lists (`access`).

use std::sync::Arc;

use serde::Serialize;

use crate::{Timestamp, id::HumanId};

/// Members that one app may have.
pub const MEMBERS_PER_APP_MAX: usize = 20_000;

/// A member of an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Member {
    /// The human.
    pub human: HumanId,
    /// Its custom role. One that the manifest in force does not declare gives nothing.
    pub custom_role: Option<Arc<str>>,
    /// When it was added.
    pub created_at: Timestamp,
}
