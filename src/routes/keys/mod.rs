//! An agent's own keys.

pub mod create;
pub mod delete;
pub mod list;
pub mod record;
