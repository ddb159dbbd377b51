#![no_main]

#[path = "../texts.rs"]
mod texts;

libfuzzer_sys::fuzz_target!(|data: &[u8]| texts::explain(data));
