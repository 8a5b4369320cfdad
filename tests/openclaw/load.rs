//! Many guards at one gateway, all answered by one operator.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::time::Duration;

use guard_tests::gateway::{Client, Gateway, Identity, Login, Release, gateway};
use guard_tests::{World, descendants};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::world::{approver, eventually, path, world_with};

for_each_release! { fifty_guards_with_four_questions_each }

const GUARDS: usize = 50;
const EACH: usize = 4;
/// The most memory that a process of a guard may use, in KiB, beside the pages of its program's file: a build for tests
/// has several times as many of these.
const MEMORY: u64 = 25 * 1024;

/// Reads files, each in its own thread, and prints when each read ended, on a clock that all processes share.
const OPENER: &str = r"
import os, sys, threading, time
def look(name):
    open(sys.argv[1] + '/' + name).read()
    at = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    os.write(1, b'%s %d\n' % (name.encode(), at))
threads = [threading.Thread(target=look, args=(name,)) for name in sys.argv[2:]]
for thread in threads: thread.start()
for thread in threads: thread.join()
while not os.path.exists('done'): time.sleep(0.5)
";

fn now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).expect("below a second"))
}

fn fifty_guards_with_four_questions_each(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let app = approver(&gateway);
    let alone = plain(&gateway, &app);

    let worlds: Vec<World> = (0..GUARDS).map(|number| guard_world(&gateway, number)).collect();
    let held: Vec<_> = worlds
        .iter()
        .enumerate()
        .map(|(number, world)| {
            let mut argv = vec!["/usr/bin/python3".to_owned(), "opener.py".to_owned(), path(world, "else")];
            argv.extend(names(number));
            world.start(&argv)
        })
        .collect();
    let all: Vec<String> = (0..GUARDS).flat_map(names).collect();
    let mut cards = HashMap::new();
    eventually("all are asked for", || {
        for card in app.pending() {
            let command = card["request"]["command"].as_str().expect("a command");
            let path = command.split(' ').nth(1).expect("a path");
            cards.insert(path.rsplit('/').next().expect("a name").to_owned(), card.clone());
        }
        all.iter().all(|name| cards.contains_key(name))
    });
    let begun: HashMap<&String, Duration> =
        all.iter().map(|name| (name, answer(&app, &cards[name]))).collect();
    eventually("all have gone on", || held.iter().all(|held| held.stdout().matches('\n').count() == EACH));
    let memory: Vec<Memory> = held.iter().map(|held| memory(held.pid())).collect();
    for world in &worlds {
        world.write("work/done", "");
    }

    let mut delays = Vec::new();
    for held in held {
        let ended = held.end();
        for line in ended.stdout.lines() {
            let (name, at) = line.split_once(' ').expect("a name and a time");
            let at = Duration::from_nanos(at.parse().expect("a time"));
            delays.push(at.checked_sub(begun[&name.to_owned()]).expect("it went on after the answer"));
        }
        assert_eq!(ended.status, 0, "{}", ended.stderr);
    }
    assert_eq!(delays.len(), GUARDS * EACH);
    assert!(app.pending().is_empty(), "a card stays");
    let largest = memory.iter().map(|memory| memory.largest).max().expect("guards");
    assert!((1..=MEMORY).contains(&largest), "{largest} KiB");
    report(release, &alone, &delays, &memory);
}

/// Returns a guard's world, whose files have names that no other world has.
fn guard_world(gateway: &Gateway, number: usize) -> World {
    let world = world_with(gateway, r#"["gateway"]"#, 600_000);
    world.write("work/opener.py", OPENER);
    for name in names(number) {
        world.write(format!("else/{name}"), "yes");
    }
    world
}

fn names(number: usize) -> impl Iterator<Item = String> {
    (0..EACH).map(move |each| format!("q{number}-{each}"))
}

/// Allows a card's call, and returns when the answer was sent.
fn answer(app: &Client, card: &Value) -> Duration {
    let begun = now();
    app.resolve(card, "allow-once").expect("to answer");
    begun
}

/// Measures the delays without a guard: as many connections ask and wait. Returns the time from each answer
/// until the connection receives it.
fn plain(gateway: &Gateway, app: &Client) -> Vec<Duration> {
    let login = || Login { identity: Some(Identity::new()), ..Login::guard_like(gateway.token()) };
    let clients: Vec<Client> =
        (0..GUARDS).map(|_| Client::connect(gateway.port(), &login()).expect("to be let in")).collect();
    let mut asked = Vec::new();
    for client in &clients {
        for _ in 0..EACH {
            let id = Client::nonce();
            let params = json!({"id": id, "command": "plain", "twoPhase": true, "timeoutMs": 600_000});
            let card = client.call("exec.approval.request", params).expect("to be taken");
            asked.push((client, card, client.begin("exec.approval.waitDecision", json!({"id": id}))));
        }
    }
    asked
        .into_iter()
        .map(|(client, card, waits)| {
            let begun = now();
            let resolves =
                app.begin("exec.approval.resolve", json!({"id": card["id"], "decision": "allow-once"}));
            assert_eq!(client.reply(&waits).expect("an answer")["decision"], "allow-once");
            let delay = now() - begun;
            app.reply(&resolves).expect("to answer");
            delay
        })
        .collect()
}

/// The memory of a guard's processes, in KiB.
struct Memory {
    /// The highest peak of one of them (VmHWM), without what it has of files (RssFile).
    largest: u64,
    /// The current sum, with shared pages divided among their users (Pss).
    shared: u64,
}

fn memory(pid: u32) -> Memory {
    let exe = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let own = exe(pid);
    let mut all = Memory { largest: 0, shared: 0 };
    for process in descendants(pid) {
        if own.is_some() && exe(process) == own {
            let own = kib(process, "status", "VmHWM:").saturating_sub(kib(process, "status", "RssFile:"));
            all.largest = all.largest.max(own);
            all.shared += kib(process, "smaps_rollup", "Pss:");
        }
    }
    all
}

fn kib(pid: u32, file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Writes the figures to stderr directly, since the test harness captures what `eprint` writes.
fn report(release: Release, alone: &[Duration], delays: &[Duration], memory: &[Memory]) {
    let at = |delays: &[Duration], share: usize| {
        let mut sorted = delays.to_vec();
        sorted.sort_unstable();
        sorted[(sorted.len() * share).div_ceil(100) - 1].as_secs_f64() * 1000.0
    };
    let largest = memory.iter().map(|memory| memory.largest).max().unwrap_or_default();
    let shared = memory.iter().map(|memory| memory.shared).max().unwrap_or_default();
    let text = format!(
        "gateway {}: {GUARDS} guards, {} questions: from resolve to going on p50 {:.1} ms, p99 {:.1} ms; to a client \
         without a guard p50 {:.1} ms, p99 {:.1} ms; memory of a guard: {largest} KiB the largest process (VmHWM without RssFile), \
         {shared} KiB together (Pss)\n",
        release.version(),
        delays.len(),
        at(delays, 50),
        at(delays, 99),
        at(alone, 50),
        at(alone, 99),
    );
    // If stderr is closed, there is nowhere to report it.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
