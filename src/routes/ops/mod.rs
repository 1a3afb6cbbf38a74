//! The operator's listener: what the service's operator may do to it while it runs.

pub mod close;
