//! Safe bins, run for real: they filter their input, and open no file that an argument names.

use guard_tests::World;

#[test]
fn safe_bins_filter_input_and_open_no_file() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "allowlist", "ask": "off"},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rw-"}, "default": "---"}}}"#,
    );
    world.write("work/f", "b,2\na,1\nc,3\n");
    let ended = world.sh("head -n 2 < f | tr a-z A-Z | cut -d, -f1; wc -l < f; tail -n1 < f | uniq -c");
    assert_eq!(
        ended.stdout.split_whitespace().collect::<Vec<_>>(),
        ["B", "A", "3", "1", "c,3"],
        "{}",
        ended.stderr
    );
    for line in [
        "head f",
        "wc --files0-from=f",
        "tail -f",
        "sort < f",
        "cut -f1 f",
        "tr -x a b",
        "awk 1 < f",
        "cat f",
    ] {
        let ended = world.sh(line);
        assert_eq!((ended.stdout.as_str(), ended.status), ("", 126), "{line}: {}", ended.stderr);
        let is_one = ["head", "wc", "tail", "cut", "tr"].iter().any(|name| line.starts_with(name));
        let why = if is_one { "is a safe bin, but not with these arguments" } else { "not in the allowlist" };
        assert!(ended.stderr.contains(why), "{line}: {}", ended.stderr);
    }
    // The shell expands the line first: what counts is what the program gets.
    let ended = world.sh("FILE=f; head -n 1 $FILE; LINES_=1; head -n $LINES_ < f");
    assert_eq!(ended.stdout, "b,2\n", "{}", ended.stderr);
}
