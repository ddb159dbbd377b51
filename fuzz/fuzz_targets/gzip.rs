#![no_main]

mod shared;

use emberscope_log::codec::Codec;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| shared::check(data, Codec::Gzip));
