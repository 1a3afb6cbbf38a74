//! `/v1/apps/:id/transfer`: the offer of an app's ownership, as the owner sees it.

pub mod create;
pub mod get;
pub mod record;
pub mod withdraw;
