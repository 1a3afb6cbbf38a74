//! What Rookery knows when it starts again: SQLite on a laptop, PostgreSQL where one machine ends.
//!
//! All SQL is here: migrations, the cold path (one literal for both databases), and the hot path
//! (the group-commit writer and loading an app), written by hand for each database. What is not
//! here: rules, actors, reply ports. Outcomes are reported to an opaque [`commit::Ticket`].

pub mod commit;
pub mod db;
pub mod error;

pub use db::{DatabaseUrl, Db, StorageOptions};
pub use error::StorageError;
