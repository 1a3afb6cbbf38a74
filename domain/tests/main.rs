//! Tests of the pure rules, one binary. Each module mirrors the module it tests.

mod access;
mod challenge;
mod ids;
mod json;
mod patch;
mod query;
mod secret;
mod slug;
mod unique;
