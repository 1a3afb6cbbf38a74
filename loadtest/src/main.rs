//! The `rookery-load` binary: reads the command line and runs it.

use std::process::ExitCode;

fn main() -> ExitCode {
    rookery_load::command::main()
}
