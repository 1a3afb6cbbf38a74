//! The pure rules of Rookery.
//!
//! Here is every decision that needs no disk and no network: ids, the error table, the manifest
//! and its compatibility gate, who may do what to which row, queries, budgets, secrets. What is
//! *not* here: tokio, sqlx, axum, and any I/O at all. Time and randomness come in as arguments, with
//! two exceptions: a new [`id`] reads the clock and draws at random, and [`time::Clock`] is the
//! clock that callers read and pass on.

pub mod access;
pub mod advisory;
pub mod agent_name;
mod all;
pub mod app;
pub mod budget;
pub mod challenge;
pub mod cli_version;
pub mod compat;
pub mod credentials;
mod dns_name;
pub mod domains;
pub mod email;
pub mod error;
pub mod event;
pub mod expiry;
pub mod field_patch;
pub mod grants;
pub mod human_name;
pub mod id;
pub mod idempotency;
pub mod if_match;
pub mod json;
pub mod limits;
pub mod manifest;
pub mod members;
pub mod meters;
pub mod network;
pub mod operator;
pub mod orgs;
pub mod patch;
pub mod pointer;
pub mod previews;
pub mod principal;
pub mod public_net;
pub mod query;
pub mod redirect;
pub mod retention;
pub mod row;
pub mod row_key;
pub mod schema;
pub mod sealed;
pub mod secret;
mod shown;
pub mod slug;
pub mod text;
pub mod time;
pub mod timezone;
pub mod trace;
pub mod transfers;
pub mod typescript;
pub mod unique;

pub use error::{Error, ErrorCode, Result};
pub use principal::{Principal, PrincipalKind};
pub use time::Timestamp;
