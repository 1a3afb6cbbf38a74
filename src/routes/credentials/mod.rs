//! Service credentials of an app: making, listing, pausing, rotating and revoking them. What one
//! may do with rows is decided with everybody's rows (`collections`).

pub mod create;
pub mod list;
pub mod pause;
pub mod record;
pub mod revoke;
pub mod rotate;
