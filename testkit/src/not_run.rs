//! The list of what could not run. One `cargo test` runs many test binaries; all are children of
//! one cargo process, so its id names the list, and the last binary prints it.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write as _},
    os::unix::process::parent_id,
    path::PathBuf,
};

/// Whether a missing package is a failure: in CI, and wherever `ROOKERY_REQUIRE_ALL` is set.
#[must_use]
pub fn all_required() -> bool {
    ["CI", "ROOKERY_REQUIRE_ALL"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0"))
}

/// Records that `what` could not run because the Debian package `package` is missing.
///
/// # Panics
/// Where everything is required ([`all_required`]).
pub fn not_run(what: &str, package: &str) {
    assert!(!all_required(), "{what}: the package {package} is missing, and everything must run");
    let line = format!("{what}: needs the package {package} (tests/run installs it)\n");
    let recorded = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(list())
        .and_then(|mut file| file.write_all(line.as_bytes()));
    if recorded.is_err() {
        // Then at least here, past the harness, which shows captured output of failures only.
        let _ = write!(io::stderr(), "not run: {line}");
    }
}

/// Prints what this `cargo test` could not run, and forgets it.
pub fn print_summary() {
    let list = list();
    let Ok(text) = fs::read_to_string(&list) else { return };
    // A list that stays behind is only read again by a cargo process with the same id.
    let _ = fs::remove_file(&list);
    let lines: BTreeSet<&str> = text.lines().collect();
    let mut err = io::stderr().lock();
    let _ = writeln!(err, "\nNOT RUN, for want of a package:");
    for line in lines {
        let _ = writeln!(err, "  {line}");
    }
}

fn list() -> PathBuf {
    std::env::temp_dir().join(format!("rookery-not-run-{}", parent_id()))
}
