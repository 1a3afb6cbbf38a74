//! The `rookery` binary.
fn main() {}
