//! `rookery-load`: measures a Rookery server the way its users meet it, through HTTP.
//!
//! The rooms: [`client`] is a small HTTP/1.1 client whose cost is known; [`load`] sends requests by
//! a schedule and records what came of them; [`stats`] is the arithmetic, free of clocks and
//! sockets; [`scenarios`] say what is asked of the server; [`result`] is what a run leaves behind,
//! [`report`] its pictures, [`compare`] the judgement between two of them. [`target`], [`server`],
//! [`enroll`] and [`api`] get a run onto a server and off it again.
//!
//! Nothing here knows the server's insides: no crate of it but `rookery-domain`, and of that the
//! ids.

pub mod api;
pub mod cli;
pub mod client;
pub mod command;
pub mod compare;
pub mod context;
pub mod enroll;
pub mod failure;
pub mod load;
pub mod machine;
pub mod report;
pub mod result;
pub mod scenarios;
pub mod server;
pub mod stats;
pub mod suite;
pub mod target;
pub mod view;
