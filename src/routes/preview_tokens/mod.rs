//! Preview tokens of a private app: making, listing and revoking them. Opening one is a visitor's
//! (`visitor`).

pub mod create;
pub mod list;
pub mod record;
pub mod revoke;
