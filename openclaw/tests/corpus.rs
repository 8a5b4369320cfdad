//! Replays what the fuzzer has found, one corpus after another.
#![allow(missing_docs)]

#[path = "../../fuzz/targets.rs"]
mod targets;

use std::path::Path;

#[test]
fn corpora_are_replayed() {
    // The tests may have been copied to where an ordinary user can read them.
    let beside = std::env::var_os("GUARD_TESTS").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let corpora = Path::new(&beside).join("../fuzz/corpus");
    for (name, target) in targets::TARGETS {
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
