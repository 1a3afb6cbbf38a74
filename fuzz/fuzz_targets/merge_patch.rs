//! Feeds libFuzzer's inputs to `properties::merge_patch`.

#![no_main]

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each binary runs one of them")]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    properties::merge_patch(data);
});
