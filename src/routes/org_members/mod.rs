//! `/v1/orgs/:id/members`: who is in an organization.

pub mod add;
pub mod list;
pub mod record;
pub mod remove;
pub mod update;
