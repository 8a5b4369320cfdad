#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| guard_oracles::calls(data));
