//! Tests of the pure rules, one binary. Each module mirrors the module it tests.

mod access;
mod advisory;
mod budget;
mod challenge;
mod compat;
mod edge;
mod error;
mod ids;
mod json;
mod manifest;
mod meters;
mod patch;
mod public_net;
mod query;
mod retention;
mod schema;
mod secret;
mod slug;
mod trace;
mod transfers;
mod unique;
