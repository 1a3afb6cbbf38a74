//! Preview tokens of a private app: making and revoking them. Opening one is a visitor's
//! (`visitor`).

pub mod create;
pub mod revoke;
