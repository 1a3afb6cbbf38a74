//! What Rookery knows when it starts again: SQLite on a laptop, PostgreSQL where one machine ends.
//!
//! All SQL is here: migrations, the cold path (one literal for both databases), and the hot path
//! (the group-commit writer and loading an app), written by hand for each database. What is not
//! here: rules, actors, reply ports. Outcomes are reported to an opaque [`commit::Ticket`].

mod codec;
pub mod commit;
pub mod db;
pub mod error;
pub mod faults;
pub mod feed;
pub mod idempotency;
pub mod load;
pub mod trash;
pub mod writer;

pub use db::{DatabaseUrl, Db, StorageOptions};
pub use error::StorageError;
pub use writer::{Writer, WriterOptions};
