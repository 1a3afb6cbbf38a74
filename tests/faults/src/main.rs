//! The `rookery-faults` binary: the campaign, and as `rookery-faults serve` the server it breaks.

use std::process::ExitCode;

// As in the server's own binary, which this one stands in for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("serve") => rookery_faults::serve::run(),
        _ => rookery_faults::cli::run(),
    }
}
