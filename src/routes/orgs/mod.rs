//! `/v1/orgs`: organizations, as their members and admins see them.

pub mod create;
pub mod get;
pub mod list;
pub mod record;
pub mod update;
