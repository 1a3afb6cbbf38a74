//! The SDK file as it is served.

use std::{collections::BTreeSet, fs, io::Write as _, path::Path};

use flate2::{Compression, write::GzEncoder};
use rookery::pages::sdk::{SDK_GZIP_BYTES_MAX, SDK_JS, as_served};

#[test]
fn the_sdk_stays_below_its_compressed_size() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(SDK_JS.as_bytes()).unwrap();
    let size = encoder.finish().unwrap().len();
    assert!(size < SDK_GZIP_BYTES_MAX, "{size} bytes compressed");
}

#[test]
fn every_part_of_the_sdk_is_served_in_the_order_of_its_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk");
    let parts: BTreeSet<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "js"))
        .collect();
    let joined: String = parts.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    assert!(SDK_JS.contains(&as_served(&joined)));
    assert!(!SDK_JS.contains("\n//") && SDK_JS.lines().count() > 400);
    for line in SDK_JS.lines() {
        assert!(
            line.matches('`').count() % 2 == 0,
            "a text over lines keeps its indentation: {line}"
        );
    }
}

#[test]
fn the_sdk_uses_no_eval_and_names_no_other_host() {
    for forbidden in ["eval(", "new Function", "http://", "https://", "import("] {
        assert!(!SDK_JS.contains(forbidden), "{forbidden}");
    }
}
