//! The server: HTTP in front of the rooms that decide and remember.
//!
//! Here are the router, the extractors, one small module per route, pages and sign-in. What is not
//! here: rules (`rookery-domain`), SQL (`rookery-storage`), actors (`rookery-actors`).

pub mod boot;
pub mod cli;
mod closing;
pub mod config;
pub mod demo;
pub mod domains;
pub mod error;
pub mod gcra;
pub mod http;
pub mod idp;
pub mod log;
pub mod mail;
mod notice_rates;
mod notices;
pub mod openapi;
pub mod operator;
pub mod ops;
pub mod outbound;
pub mod pages;
mod percent;
pub mod push;
pub mod router;
pub mod routes;
pub mod screenshot;
pub mod server;
pub mod siteverify;
pub mod state;
mod task;
pub mod terminal;
mod threads;
pub mod traces;

pub use server::{Hooks, Server, start};
