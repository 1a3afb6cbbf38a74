//! One small module per route: extract, one call, typed answer.

pub mod agents;
pub mod auth;
pub mod claim_codes;
pub mod collections;
pub mod device;
pub mod docs;
pub mod feed;
pub mod health;
pub mod keys;
pub mod page;
pub mod register;
pub mod self_agents;
pub mod site;
pub mod visitor;
