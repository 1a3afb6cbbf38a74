//! The load generator's arithmetic and formats, without a server. That its scenarios run against a
//! real one is shown by the service's own black-box tests.

mod client;
mod compare;
mod report;
mod result;
mod schedule;
mod single;
mod stats;
mod suite;
