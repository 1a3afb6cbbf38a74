//! The hot path: group commit, loading, the stored feed, the trash, and what idempotency keys
//! replay. Each test runs on both databases unless it needs something that only one of them has.

mod access;
mod commit;
mod faults;
mod feed;
mod handover;
pub(crate) mod kit;
mod load;
mod log;
mod trash;
