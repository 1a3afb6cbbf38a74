//! Scripts of the repository, run beside stand-ins for the programs that they call.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

/// Writes a program, of the shell.
fn program(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_fault_campaign_has_schemathesis_wherever_it_is_to_run() {
    let root = tempfile::tempdir().unwrap();
    let [programs, tool] = ["programs", "target/schemathesis/bin"].map(|it| root.path().join(it));
    program(
        &programs.join("cargo"),
        "arguments=\"$* \"; echo \"${SCHEMATHESIS:+with }${arguments#*-- }\"",
    );
    program(&programs.join("python3"), "exit 1");
    program(&tool.join("schemathesis"), "exit 1");
    let script = root.path().join("tests/faults/run");
    fs::create_dir_all(script.parent().unwrap()).unwrap();
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/run"), &script).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    for (arguments, runs) in [
        ("", "with"),
        ("all", "with"),
        ("--scale 0.1", "with --scale 0.1"),
        ("--scale 0.1 all --postgres", "with --scale 0.1 --postgres"),
        ("--postgres", "with --postgres"),
        ("kill schemathesis", "with kill schemathesis"),
        ("--scale 0.1 kill", "--scale 0.1 kill"),
        ("kill --server-bin all", "--server-bin all kill"),
        ("--help", "--help"),
    ] {
        let mut command = Command::new(&script);
        command.args(arguments.split_whitespace()).env("PATH", &path).env_remove("SCHEMATHESIS");
        let out = command.output().unwrap();
        let trouble = String::from_utf8(out.stderr).unwrap();
        assert!(out.status.success(), "{arguments}: {trouble}");
        assert_eq!(String::from_utf8(out.stdout).unwrap().trim(), runs, "{arguments}");
    }
}
