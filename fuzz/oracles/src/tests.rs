//! Replays the fuzzer's corpora.

use std::path::Path;

use super::TARGETS;

#[test]
fn corpora_are_replayed() {
    // The tests may have been copied to a directory that an ordinary user can read.
    let copied = std::env::var_os("GUARD_TESTS").map(|tests| Path::new(&tests).join("../fuzz/corpus"));
    let corpora = copied.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus"));
    for (name, target) in TARGETS {
        let dir = corpora.join(name);
        let inputs: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(inputs.len() > 4, "{name}: the corpus is missing");
        for input in &inputs {
            let data = std::fs::read(input).unwrap();
            let replay = std::panic::catch_unwind(|| target(&data));
            assert!(replay.is_ok(), "{name}: {}", input.display());
        }
        println!("{name}: {0} of {0} replayed", inputs.len());
    }
}
