//! Agents as they see themselves: being claimed.

pub mod claim;
pub mod record;
