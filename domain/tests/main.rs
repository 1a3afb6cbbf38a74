//! Tests of the pure rules, one binary. Each module mirrors the module it tests.

mod access;
mod advisory;
mod budget;
mod challenge;
mod compat;
mod domains;
mod edge;
mod error;
mod fuzz;
mod idempotency;
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
mod time;
mod trace;
mod transfers;
mod typescript;
mod unique;
