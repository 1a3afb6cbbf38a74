//! Tests of storage, one binary. What both databases must do is in `contract`, written once and
//! run on each; what only one of them has is in a module of its own.

mod addresses;
mod between;
mod contract;
mod hidden;
mod keyed_locks;
mod meanwhile;
mod migrations;
mod offload;
mod plans;
mod postgres_only;
mod replaced;
mod restores;
mod sqlite_only;
mod statements;
mod support;
mod writer;
