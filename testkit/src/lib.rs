//! What the tests of several crates need from the machine they run on: a temporary PostgreSQL
//! cluster, and an honest list of what could not run for want of a package. No test is here, and
//! nothing of this is part of the product.

mod cluster;
mod not_run;

pub use cluster::{Cluster, Database, postgres};
pub use not_run::{all_required, not_run, print_summary};
