//! More questions than an operator could answer.

use std::fs;

use guard_tests::{World, rounds, until};
use serde_json::Value;

use crate::world::{path, world_with};

/// Opens files of `else/`, each in its own thread, and prints how each went.
const OPENER: &str = r#"
import sys, threading
def look(name):
    try:
        text = open(sys.argv[1] + '/' + name).read()
    except PermissionError:
        text = 'no'
    print(name + ' ' + text + '\n', end='', flush=True)
threads = [threading.Thread(target=look, args=(str(n),)) for n in range(int(sys.argv[2]))]
threading.stack_size(262144)
for thread in threads: thread.start()
for thread in threads: thread.join()
"#;

/// Returns the resident memory of a process in KiB.
fn resident(pid: &Value) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the guard");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn files(world: &World, count: usize) {
    for number in 0..count {
        world.write(format!("else/{number}"), "yes");
    }
}

#[test]
fn hundreds_are_answered_in_any_order() {
    let count = rounds(100, 500);
    let world = world_with(600_000, r#", "approvals": {"maxPending": 600}"#);
    files(&world, count);
    world.write("work/opener.py", OPENER);
    let held = world.start(&["/usr/bin/python3", "opener.py", &path(&world, "else"), &count.to_string()]);
    let mut pending = world.wait_for(count);
    // Any order will do, as long as it is the same in every run.
    pending.sort_by_key(|asked| asked["id"].as_str().map(str::to_owned));
    let mut expected = Vec::new();
    for (index, asked) in pending.iter().enumerate() {
        let (decision, answer) = if index % 2 == 0 { ("allow-once", "yes") } else { ("deny", "no") };
        assert_eq!(world.resolve(asked, decision).status, 0);
        let path = asked["resolvedPath"].as_str().expect("a path");
        expected.push(format!("{} {answer}", path.rsplit('/').next().expect("a name")));
    }
    let ended = held.end();
    let mut lines: Vec<&str> = ended.stdout.lines().collect();
    lines.sort_unstable();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[test]
fn a_flood_is_refused_and_costs_no_memory() {
    let count = rounds(5_000, 100_000);
    let world = world_with(600_000, "");
    files(&world, 16);
    let flood = format!(
        r#"
import time
begin, refused = time.monotonic(), 0
for n in range({count}):
    try:
        open('{}/flood%d' % n, 'w')
    except PermissionError:
        refused += 1
print('flood', refused, file=open('flooded', 'w'))
print('flood of', {count}, 'in', round(time.monotonic() - begin, 1), 's', flush=True)
"#,
        path(&world, "else")
    );
    world.write("work/flood.py", flood);
    // Each is a command, and has a card of its own.
    let line = format!(
        "for n in {{0..15}}; do echo \" $(cat {}/$n)\" & done
        until [ -e go ]; do sleep 0.05; done; /usr/bin/python3 flood.py; wait",
        path(&world, "else")
    );
    let begin = std::time::Instant::now();
    let held = world.start(&["bash", "-c", &line]);
    let pending = world.wait_for(16);
    let before = resident(&pending[0]["guard"]);
    world.write("work/go", "");
    until("the flood is over", || world.read("work/flooded").is_some_and(|text| text.ends_with('\n')));
    let after = resident(&pending[0]["guard"]);
    assert!(after < before + 64 * 1024, "{before} KiB became {after} KiB");
    assert_eq!(world.read("work/flooded").as_deref(), Some(&*format!("flood {count}\n")));
    // The flood has changed nothing about the questions that already waited.
    assert_eq!(world.pending(), pending);
    // One line for each question, a burst of 100, then one per 0.1 s, each with a count of those left out.
    let most = 16 + 100 + 2 * 10 * (begin.elapsed().as_secs() as usize + 1);
    let lines = held.stderr().lines().count();
    assert!(lines < most && most < count, "{lines} lines for the operator");
    for asked in &pending {
        assert_eq!(world.resolve(asked, "allow-once").status, 0);
    }
    let ended = held.end();
    assert_eq!(ended.stdout.matches(" yes").count(), 16, "{}", ended.stdout);
    // The figure that `make soak` is for.
    println!("{}", ended.stdout.lines().find(|line| line.starts_with("flood")).unwrap_or_default());
}
