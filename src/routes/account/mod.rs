//! The account of a signed-in human: who it is, what it consented to, its sessions, its end.

pub mod delete;
pub mod marketing_consent;
pub mod profile;
pub mod sessions;
pub mod signup_source;
