#![no_main]

use std::sync::Arc;

use emberscope_log::archive::Archive;
use emberscope_log::input::{Memory, read_head};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(archive) = Archive::open(Arc::new(Memory::new("fuzz.zip", data))) else { return };
    for entry in archive.entries().iter().take(20) {
        if let Ok(input) = archive.open_entry(entry, entry.name.clone()) {
            let _ = read_head(&input, 64 * 1024);
        }
    }
});
