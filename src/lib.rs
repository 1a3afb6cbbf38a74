//! The server.

#![warn(missing_docs)]

pub mod pages;
