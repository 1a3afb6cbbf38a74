//! Tests of the pure rules, one binary. Each module mirrors the module it tests.

mod access;
mod budget;
mod challenge;
mod edge;
mod error;
mod ids;
mod json;
mod patch;
mod query;
mod retention;
mod secret;
mod slug;
mod unique;
