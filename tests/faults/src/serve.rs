//! The server that the campaign breaks, in this binary: the product's own command line.

use std::process::ExitCode;

/// Runs the server as `rookery serve` does.
#[must_use]
pub fn run() -> ExitCode {
    rookery::cli::run()
}
