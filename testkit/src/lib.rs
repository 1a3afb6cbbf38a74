//! What the tests of several crates need: a temporary PostgreSQL cluster, an honest list of what
//! could not run because a package is missing, and a bounded wait. No test is here, and nothing of
//! this is part of the product.

mod cluster;
mod not_run;
mod until;

pub use cluster::{Cluster, Database, Held, postgres};
pub use not_run::{all_required, not_run, print_summary};
pub use until::{until, until_async};
