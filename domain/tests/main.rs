//! Tests of the pure rules, one binary. Each module mirrors the module it tests.

mod advisory;
mod compat;
mod ids;
mod manifest;
mod schema;
