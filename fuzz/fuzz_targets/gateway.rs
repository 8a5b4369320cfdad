#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| openclaw_guard::fuzzing::gateway(data));
