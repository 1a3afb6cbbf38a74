//! Apps as their visitors meet them: pages, the ways in, the participant API. Requests go to the
//! server with the `Host` of an app, as a browser sends them.

mod access;
mod authorize;
pub mod browser;
mod feed;
mod fresh;
mod limits;
mod packed;
mod page;
mod path_mode;
mod rows;
mod session;
mod share;
mod siteverify;
mod waking;
mod world;
