//! Black-box tests through HTTP, one binary. Each module tells what it looks at; `harness` starts
//! servers and reads answers.

#![expect(unreachable_pub, reason = "the modules of a binary are its own affair")]

mod canaries;
mod config;
mod coverage;
mod crash;
mod docs;
mod errors;
mod generators;
mod harness;
mod http;
mod load;
mod lost_files;
mod mail;
mod matrix;
mod model;
mod operator;
mod ops;
mod outage;
mod outbound;
mod pages;
mod process;
mod process_signals;
mod routes;
mod schemas;
mod scripts;
mod secrets;
mod sharing;
mod site;
mod tidy;
mod transfer_crash;
mod usage;
mod visitors;
