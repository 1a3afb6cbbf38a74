//! Following an app: who waits, and what a caller may see of each event.

pub(crate) mod hub;
