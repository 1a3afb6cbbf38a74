//! The manifest (part 2.2): what an app declares, parsed and checked.
//!
//! [`model`] is what the rest of the house works with. What is not here: whether a new manifest
//! may replace an old one (`compat`), and who may do what under it (`access`).

pub mod model;

pub use model::*;
