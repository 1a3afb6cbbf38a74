//! Claim codes of a signed-in human.

pub mod create;
