//! The operator's listener: figures, lists, actions, readiness, and who may ask.

mod access;
mod actions;
mod browser;
mod figures;
mod metrics;
mod pages;

mod readiness;
mod screen;
mod terminal;
