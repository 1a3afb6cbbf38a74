//! The operator's listener: figures, lists, actions, readiness, and who may ask. And traces, which
//! operators follow elsewhere.

mod access;
mod actions;
mod browser;
mod collector;
mod figures;
mod inputs;
pub(crate) mod metrics;
mod pages;
mod problems;
mod readiness;
mod screen;
mod terminal;
mod traces;
