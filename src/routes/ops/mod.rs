//! The operator's listener: what the service's operator sees of it while it runs, and may do to it.

pub mod act;
pub mod app;
pub mod close;
pub mod document;
pub mod hot;
pub mod operator;
pub mod overview;
pub mod pages;
pub mod restarts;
pub mod tree;
pub mod views;
