//! Rules about the sources themselves, which no compiler checks.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Most lines of one source file.
const LINES_MAX: usize = 500;
/// Most columns of a comment.
const COMMENT_COLUMNS_MAX: usize = 112;

struct Source {
    path: PathBuf,
    text: String,
}

/// Every Rust source of the workspace.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push(Source { path: path.strip_prefix(root).unwrap().to_path_buf(), text });
            }
        }
    }
    assert!(found.len() > 50, "the sources were found");
    found
}

/// Every document of the repository that is written by hand for people.
fn documents(root: &Path) -> Vec<PathBuf> {
    let folder = |name: &str| fs::read_dir(root.join(name)).unwrap();
    let files = [".", "docs", "docs/decisions"].into_iter().flat_map(folder);
    let paths = files.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

fn is_in(source: &Source, folder: &str) -> bool {
    source.path.starts_with(folder)
}

#[track_caller]
fn none(offenders: Vec<String>, rule: &str) {
    assert!(offenders.is_empty(), "{rule}:\n{}", offenders.join("\n"));
}

#[test]
fn every_module_opens_with_what_it_is_for() {
    let sources = sources();
    let silent = sources.iter().filter(|source| !source.text.starts_with("//!"));
    none(silent.map(|s| s.path.display().to_string()).collect(), "begin with `//!`");
}

#[test]
fn every_source_that_a_document_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = sources();
    let is_there = |name: &str| sources.iter().any(|source| source.path.ends_with(name));
    let mut lost = Vec::new();
    let mut named = 0;
    for document in documents(root) {
        let text = fs::read_to_string(&document).unwrap();
        let document = document.strip_prefix(root).unwrap().display();
        // What stands between back-ticks is every second piece.
        for name in text.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs")) {
            named += 1;
            if !is_there(name) {
                lost.push(format!("{document}: {name}"));
            }
        }
    }
    assert!(named > 50, "the documents name sources: {named}");
    none(lost, "a document names sources that are there");
}

#[test]
fn no_file_is_longer_than_a_reader_can_hold() {
    let sources = sources();
    let long = sources.iter().filter(|source| source.text.lines().count() > LINES_MAX);
    none(long.map(|s| s.path.display().to_string()).collect(), "at most 500 lines");
}

#[test]
fn no_comment_is_wider_than_a_page() {
    let mut offenders = Vec::new();
    for source in sources() {
        for (number, line) in source.text.lines().enumerate() {
            if line.trim_start().starts_with("//") && line.chars().count() > COMMENT_COLUMNS_MAX {
                offenders.push(format!("{}:{}", source.path.display(), number + 1));
            }
        }
    }
    none(offenders, "at most 112 columns");
}

#[test]
fn nothing_is_left_to_do() {
    let markers = ["todo!(", "unimplemented!(", concat!("TO", "DO"), concat!("FIX", "ME")];
    let mut offenders = Vec::new();
    for source in sources().iter().filter(|source| !source.path.ends_with("tidy.rs")) {
        for (number, line) in source.text.lines().enumerate() {
            if markers.iter().any(|marker| line.contains(marker)) {
                offenders.push(format!("{}:{}", source.path.display(), number + 1));
            }
        }
    }
    none(offenders, "no half-done work");
}

#[test]
fn sql_lives_in_storage_only() {
    let words = ["sqlx", "rusqlite", "insert into ", "delete from "];
    // The words of a statement, in this order.
    let pairs = [("\"select ", " from "), ("\"update ", " set ")];
    let mut offenders = Vec::new();
    for source in sources() {
        let is_exempt = is_in(&source, "storage") || is_in(&source, "testkit");
        if is_exempt || source.path.ends_with("tidy.rs") {
            continue;
        }
        let code = source.text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            let line = line.to_lowercase();
            let has_pair = pairs.iter().any(|(first, then)| {
                line.split_once(first).is_some_and(|(_, rest)| rest.contains(then))
            });
            if has_pair || words.iter().any(|word| line.contains(word)) {
                offenders.push(format!("{}: {}", source.path.display(), line.trim()));
            }
        }
    }
    none(offenders, "SQL is storage's");
}

#[test]
fn routes_ask_the_rooms_and_not_the_database() {
    let sources = sources();
    let asks = |source: &&Source| is_in(source, "src/routes") && source.text.contains("rooms.db");
    let asking = sources.iter().filter(asks).map(|source| source.path.display().to_string());
    none(asking.collect(), "storage is asked by the room that owns what is asked for");
}

#[test]
fn ractor_lives_in_actors_only() {
    let mut offenders = Vec::new();
    for source in sources() {
        let allowed = is_in(&source, "actors") || source.path.ends_with("tidy.rs");
        let uses = source
            .text
            .lines()
            .any(|line| !line.trim_start().starts_with("//") && line.contains("ractor::"));
        if uses && !allowed {
            offenders.push(source.path.display().to_string());
        }
    }
    none(offenders, "ractor is the runtime's");
}

#[test]
fn code_that_no_compiler_checks_is_in_one_module() {
    // The lint denies it everywhere else, as long as nobody lifts the lint.
    let home = Path::new("storage/src/vfs/mod.rs");
    let lint = concat!("unsafe", "_code");
    let sources = sources();
    let lifted = sources.iter().filter(|source| source.text.contains(lint));
    let found: Vec<_> = lifted.map(|source| source.path.as_path()).collect();
    assert_eq!(found, [home], "decision 9 names the one module with `unsafe`");
}

#[test]
fn the_rules_read_neither_disk_nor_network_nor_clock() {
    let reads = [
        "std::fs",
        "std::net",
        "SystemTime::now",
        "Instant::now",
        "Timestamp::now",
        "Zoned::now",
        "now_v7",
        "rand::rng",
        "rand::random",
        "OsRng",
        "std::env",
        "std::process",
    ];
    let exempt = [
        // New ids, and the clock that callers read and pass on.
        ("domain/src/id.rs", "now_v7"),
        ("domain/src/time.rs", "Timestamp::now"),
        ("domain/src/time.rs", "Instant::now"),
        // Addresses as values: which of them are public.
        ("domain/src/public_net.rs", "std::net"),
    ];
    let mut offenders = Vec::new();
    let mut excused = 0;
    for source in sources().iter().filter(|source| is_in(source, "domain/src")) {
        let code = source.text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for read in code.flat_map(|line| reads.iter().filter(move |read| line.contains(**read))) {
            if exempt.iter().any(|(path, what)| source.path.ends_with(path) && what == read) {
                excused += 1;
            } else {
                offenders.push(format!("{}: {read}", source.path.display()));
            }
        }
    }
    none(offenders, "time and randomness come into `domain` as arguments, and no I/O at all");
    assert_eq!(excused, exempt.len(), "no exemption is out of date");
}

#[test]
fn dependencies_point_one_way() {
    let forbidden = [
        ("domain", &["rookery-storage", "rookery-actors", "tokio", "sqlx", "axum", "ractor"][..]),
        ("storage", &["rookery-actors", "axum", "ractor"][..]),
        ("actors", &["axum", "sqlx", "rusqlite"][..]),
        ("loadtest", &["rookery-storage", "rookery-actors", "rookery", "axum", "sqlx"][..]),
        (".", &["ractor", "sqlx", "rusqlite"][..]),
    ];
    let mut offenders = Vec::new();
    for (room, others) in forbidden {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(room).join("Cargo.toml");
        let manifest = fs::read_to_string(&path).unwrap();
        let dependencies = manifest.split("\n[dependencies]").nth(1).expect("dependencies");
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        for line in dependencies.lines() {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if others.contains(&name) {
                offenders.push(format!("{room} depends on {name}"));
            }
        }
    }
    none(offenders, "domain <- storage <- actors <- src");
}

#[test]
fn tests_stay_out_of_the_crates_they_test() {
    let marker = concat!("#[cfg(", "test)]");
    let inside = sources();
    let inside = inside.iter().filter(|source| source.text.contains(marker));
    none(inside.map(|s| s.path.display().to_string()).collect(), "tests live in tests/");
}
