//! One small module per route: extract, one call, typed answer.

pub mod docs;
pub mod health;
