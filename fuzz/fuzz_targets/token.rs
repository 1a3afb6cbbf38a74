//! Feeds libFuzzer's inputs to `properties::token`.

#![no_main]

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each binary runs one of them")]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    properties::token(data);
});
