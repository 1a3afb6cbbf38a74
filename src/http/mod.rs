//! What every request has in common: the boundary it passes (`edge`), and the extractors that
//! handlers name in their signatures. No route is here.

pub mod accept;
pub mod auth;
pub mod body;
pub mod client;
pub mod conditional;
pub mod cookie;
pub mod csrf;
pub mod edge;
pub mod host;
pub mod idempotency;
pub mod loopback;
pub mod paging;
pub mod params;
pub mod pieces;
pub mod prefetch;
pub mod reply;
pub mod single_header;
