//! What every request has in common: the boundary it passes, and the extractors that handlers
//! name in their signatures. No route is here.

pub mod accept;
pub mod auth;
pub mod body;
pub mod body_budget;
pub mod body_drain;
pub mod cli_version;
pub mod client;
pub mod coding;
pub mod conditional;
pub mod cookie;
pub mod country;
pub mod csrf;
pub mod edge;
pub mod figures;
pub mod headers;
pub mod idempotency;
pub mod idp_cookie;
pub mod loopback;
pub mod metering;
mod operators;
mod origin;
pub mod paging;
pub mod params;
pub mod participant_cookie;
pub mod prefetch;
pub mod rate_limit;
pub mod refused;
pub mod reply;
pub mod request_id;
pub mod request_log;
pub mod route_table;
pub mod session_cookie;
pub mod sign_in_cookie;
pub mod strict;
mod undeclared_proxy;
pub mod waiters;
