//! The `rookery-faults` binary: the campaign, as `rookery-faults serve` the server it
//! breaks, and as `rookery-faults crowd` a crowd of clients.

use std::process::ExitCode;

use rookery_faults::crowd::members;

// As in the server's own binary, which this one stands in for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("serve") => rookery_faults::serve::run(),
        Some(members::NAME) => members::run(),
        _ => rookery_faults::cli::run(),
    }
}
