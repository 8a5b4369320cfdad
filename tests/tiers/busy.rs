//! Callers that wait for another process hold up no other caller, whoever decides.

use guard_tests::{World, rounds};

use super::{in_each_tier, python, world};

/// Opens that wait, program starts, and opens that do not wait, all at once.
#[test]
fn waiting_callers_do_not_delay_others() {
    let make = || -> World {
        let world = world(r#""@/work/**": "rw-""#, r#""@/work/shut""#);
        world.write("work/shut", "");
        world.write("work/d/file", "text");
        world
    };
    let source = format!(
        r#"
import threading, subprocess, sys
MANY, TIMES = {}, {}
names = [f"work/d/p{{n}}" for n in range(MANY)]
for name in names: os.mkfifo(name)
read = []
def reader(name):
    with open(name) as file: read.append(file.read())
def starter():
    for _ in range(10):
        if subprocess.run(["/usr/bin/true"]).returncode: print("not started")
def opener(n):
    for turn in range(TIMES):
        if text("work/d/file") != "text": print("not read")
        put(f"work/d/new{{n}}", "x")
        os.unlink(f"work/d/new{{n}}")
        try:
            text("work/shut"); print("opened")
        except PermissionError: pass
waiting = [threading.Thread(target=reader, args=(name,)) for name in names]
for thread in waiting: thread.start()
others = [threading.Thread(target=starter) for _ in range(3)] + [threading.Thread(target=opener, args=(n,)) for n in range(4)]
for thread in others: thread.start()
for thread in others: thread.join()
print(len(read), "read before anybody wrote")
for name in names: put(name, name)
for thread in waiting: thread.join()
print(sorted(read) == sorted(names))
"#,
        rounds(60, 500),
        rounds(50, 2000)
    );
    in_each_tier(make, |world, tiers| {
        let ended = python(world, &source);
        assert_eq!(ended.stdout, "0 read before anybody wrote\nTrue\n", "{tiers}: {}", ended.stderr);
    });
}
