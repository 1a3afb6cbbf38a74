//! Tests of the pure rules, one binary. Each module mirrors the module it tests.

mod ids;
