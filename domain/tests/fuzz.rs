//! The fuzz targets on a stable toolchain: every input of their corpus, and mutations of them by a
//! fixed seed, so that each run tries the same. Coverage-guided runs are `cargo fuzz`'s.

#[path = "../../fuzz/properties.rs"]
mod properties;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};

/// Changes of one input at most.
const CHANGES_MAX: usize = 6;
/// Bytes of an input at most.
const BYTES_MAX: usize = 8 << 10;
/// Pieces that mean something to a parser.
const PIECES: [&[u8]; 18] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b",",
    b":",
    b"null",
    b"1e309",
    b"-0",
    b"\\u0000",
    b"\\ud800",
    b"\n",
    b"\xf0\x9f\x90\xa6",
    b"\xff",
    b"$ref",
    b"{\"not\":",
    b"18446744073709551616",
];

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

fn mutated(corpus: &[Vec<u8>], rng: &mut StdRng) -> Vec<u8> {
    let mut input = corpus.choose(rng).unwrap().clone();
    for _ in 0..rng.random_range(1..=CHANGES_MAX) {
        let at = rng.random_range(0..=input.len());
        let end = rng.random_range(at..=input.len().min(at + 32));
        match rng.random_range(0..6) {
            0 if at < input.len() => input[at] ^= 1 << rng.random_range(0..8),
            1 => drop(input.drain(at..end)),
            2 => {
                let piece = PIECES.choose(rng).unwrap();
                input.splice(at..at, piece.iter().copied());
            }
            3 => {
                let twice = input[at..end].to_vec();
                input.splice(at..at, twice);
            }
            4 => {
                // The head of one, the tail of another.
                let other = corpus.choose(rng).unwrap();
                let from = rng.random_range(0..=other.len());
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            _ => input.insert(at, rng.random()),
        }
        input.truncate(BYTES_MAX);
    }
    input
}

fn replay(target: &str, property: fn(&[u8]) -> bool, mutations: usize) {
    let corpus = corpus(target);
    let mut rng = StdRng::seed_from_u64(0x5eed);
    let mutations: Vec<_> = (0..mutations).map(|_| mutated(&corpus, &mut rng)).collect();
    let read = |inputs: &[Vec<u8>]| {
        let is_read = |input: &&Vec<u8>| {
            let held = catch_unwind(AssertUnwindSafe(|| property(input)));
            held.unwrap_or_else(|_| {
                panic!("{target} fails for {:?}", String::from_utf8_lossy(input))
            })
        };
        inputs.iter().filter(is_read).count()
    };
    assert!(read(&corpus) > 0, "the corpus of {target} reaches nothing");
    assert!(read(&mutations) < mutations.len(), "no mutation of {target} is refused");
}

#[test]
fn no_bytes_break_the_manifest() {
    replay("manifest", properties::manifest, 3_000);
}

#[test]
fn no_bytes_break_a_filter_or_a_sort() {
    replay("filter", properties::filter, 10_000);
}

#[test]
fn no_bytes_pass_for_a_cursor() {
    replay("cursor", properties::cursor, 5_000);
}

#[test]
fn no_bytes_pass_for_a_token() {
    replay("token", properties::token, 10_000);
}

#[test]
fn no_bytes_break_a_merge_patch() {
    replay("merge_patch", properties::merge_patch, 10_000);
}
