//! Black-box tests through HTTP, one binary. Each module tells what it looks at; `harness` starts
//! servers and reads answers.

#![expect(unreachable_pub, reason = "the modules of a binary are its own affair")]

mod config;
mod crash;
mod docs;
mod errors;
mod harness;
mod http;
mod load;
mod operator;
mod ops;
mod outbound;
mod pages;
mod process;
mod routes;
mod secrets;
mod site;
mod tidy;
mod transfer_crash;
mod usage;
mod visitors;
