//! Counts the supervisor's system calls for each call that it judges: the cost of a call, whatever the
//! machine.
//!
//! strace is attached only to the supervisor, never to guarded processes.

use std::process::{Command, Stdio};

use guard_tests::{World, descendants, has, has_floor, is_root, program_text, skip, until};

use super::world;

/// Repetitions of a step; everything else that the supervisor does meanwhile is less.
const TIMES: usize = 1000;

/// Calls of threads that wake up by the clock.
const IDLE: [&str; 2] = ["clock_nanosleep", "restart_syscall"];

/// Returns the process with the most threads.
fn supervisor(world_pid: u32) -> u32 {
    let threads = |pid: &u32| std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    descendants(world_pid).into_iter().max_by_key(threads).expect("a process")
}

/// Returns how many calls the supervisor makes on average for each `step` in Python.
fn counted(tiers: &str, step: &str) -> usize {
    let mut world: World = world(r#""@/work/**": "rw-""#, "");
    world.set_tiers(tiers);
    world.write("work/f", "text");
    let root = world.root();
    let program = format!(
        r#"
import os, time
root = {root:?}
def wait(name):
    while not os.path.exists(root + name): time.sleep(0.02)
path, close, open, unlink = root + "/work/f", os.close, os.open, os.unlink
made = root + "/work/made"
print("ready", flush=True)
wait("/go")
for _ in range({TIMES}):
    {step}
print("done", flush=True)
wait("/end")
"#
    );
    let held = world.start(&[&program_text("python3"), "-I", "-S", "-B", "-c", &program]);
    until("the start", || held.stdout().contains("ready"));
    let supervisor = supervisor(held.pid());
    let summary = root.join("summary");
    let mut strace = Command::new(program_text("strace"))
        .args(["-qq", "-c", "-f", "-p", &supervisor.to_string(), "-o"])
        .arg(&summary)
        .stderr(Stdio::null())
        .spawn()
        .expect("strace");
    let is_traced =
        |status: String| status.lines().any(|line| line == format!("TracerPid:\t{}", strace.id()));
    until("all threads are traced", || {
        let tasks = std::fs::read_dir(format!("/proc/{supervisor}/task")).expect("threads");
        tasks.flatten().all(|task| std::fs::read_to_string(task.path().join("status")).is_ok_and(is_traced))
    });
    world.write("go", "");
    until("the end of it", || held.stdout().contains("done"));
    guard_tests::ended(Command::new("kill").args(["-INT", &strace.id().to_string()]));
    strace.wait().expect("strace ends");
    world.write("end", "");
    let ended = held.end();
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let summary = std::fs::read_to_string(summary).expect("a summary");
    // Columns: % time, seconds, usecs/call, calls, errors if there are any, the name.
    let calls: Vec<(&str, usize)> = summary
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            Some((*words.last()?, words.get(3)?.parse().ok()?))
        })
        .filter(|(name, _)| *name != "total" && !IDLE.contains(name))
        .collect();
    let total: usize = calls.iter().map(|(_, count)| count).sum();
    println!("{tiers}: {step}: {:.2}: {calls:?}", total as f64 / TIMES as f64);
    total / TIMES
}

#[test]
fn a_call_costs_no_more_system_calls_than_it_did() {
    if !is_root() || !has(&["strace"]) {
        return skip("only root traces the supervisor, with strace");
    }
    // Upper limits: a change that makes a call cheaper lowers the number here. A build for tests also checks
    // each descriptor that it closes (fcntl).
    // Of a file that lies on no disk, the supervisor asks for the kind of its file system, too (fstatfs).
    let is_on_disk =
        rustix::fs::major(rustix::fs::stat(std::env::temp_dir()).expect("a directory").st_dev) != 0;
    for (tiers, step, on_disk, looks) in [
        // One of them looks for a device, which root may open.
        ("broker,floored", "close(open(path, 0))", 5, 0),
        ("broker,floored", "close(open('f', 0))", 6, 0),
        ("broker,floored", "close(open(made, os.O_CREAT | os.O_WRONLY)); unlink(made)", 8, 0),
        // One of them looks for a FIFO, which could wait.
        ("broker", "close(open(path, 0))", 9, 1),
        // In this line and the next, two find out whether the directory's mount is still attached (statx, poll).
        ("broker", "close(open('f', 0))", 16, 1),
        ("broker", "close(open(made, os.O_CREAT | os.O_WRONLY)); unlink(made)", 35, 2),
        ("broker,kernel", "close(open(path, 0))", 0, 0),
    ] {
        // Without a floor, the broker makes each call.
        if tiers != "broker" && !has_floor() {
            continue;
        }
        let most = if is_on_disk { on_disk } else { on_disk + looks };
        let count = counted(tiers, step);
        assert!(count <= most, "{tiers}: {step}: {count} system calls, more than {most}");
    }
}
