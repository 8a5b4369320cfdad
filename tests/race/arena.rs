//! The arena of the races: its policies, its attackers, and how long they try.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use guard_tests::{Arena, Ended, LOADER, ended, lacks_floor, layers_off, without_layers};

/// Held by one race at a time: the machine has two cores, and an attacker needs both.
pub static ALONE: Mutex<()> = Mutex::new(());

/// How long and how often an attacker tries.
#[derive(Clone, Copy)]
pub struct Effort {
    /// The time limit in seconds.
    seconds: f64,
    /// The most attempts; 0 means as many as it can.
    attempts: u64,
}

/// Attempts of an attacker if no time is given.
const ATTEMPTS: u64 = 2000;
/// Attempts of one that starts a program in each: they take thirty times as long, and half as many win without layers.
const ATTEMPTS_TO_START: u64 = 500;
/// The time limit for a number of attempts, in seconds.
const PATIENCE: f64 = 60.0;
/// Seconds from which a race counts as a long one.
const LONG: f64 = 60.0;
/// Rounds of one second that an attacker gets against the build without layers, and the most it gets against
/// the whole guard.
pub const ROUNDS: usize = 30;

impl Effort {
    /// Returns the effort of a race: a number of attempts, or GUARD_RACE_SECONDS.
    pub fn usual() -> Effort {
        Effort::of_attempts(ATTEMPTS)
    }

    /// Returns the usual effort of an attacker in this mode.
    fn of_mode(mode: &str) -> Effort {
        let starts = matches!(
            mode,
            "argv" | "copy" | "copy-grown" | "exec" | "exec-symlink" | "interpreter" | "loader"
        );
        Effort::of_attempts(if starts { ATTEMPTS_TO_START } else { ATTEMPTS })
    }

    fn of_attempts(attempts: u64) -> Effort {
        match given() {
            Some(seconds) => Effort { seconds, attempts: 0 },
            None => Effort { seconds: PATIENCE, attempts },
        }
    }

    /// Returns half of the usual effort.
    pub fn half() -> Effort {
        let Effort { seconds, attempts } = Effort::usual();
        Effort { seconds: if attempts == 0 { seconds / 2.0 } else { seconds }, attempts: attempts / 2 }
    }

    /// Returns the effort of a round: a second, with fewer attempts in the first rounds, since those are
    /// mostly enough.
    pub fn of_round(round: usize) -> Effort {
        Effort { seconds: 1.0, attempts: if round < 8 { 250 << round } else { 0 } }
    }

    /// Returns the effort of an attacker that goes on until it is ended, or its time is over.
    pub fn until_ended() -> Effort {
        Effort { seconds: PATIENCE, attempts: 0 }
    }

    /// Returns the attacker's arguments after its mode, for the arena with this root.
    pub fn arguments(self, root: &Path, flipper: &str) -> Vec<String> {
        let Effort { seconds, attempts } = self;
        [&seconds.to_string(), &*root.to_string_lossy(), flipper, LOADER, &attempts.to_string()]
            .map(str::to_owned)
            .to_vec()
    }
}

/// Returns the attempts below which the attacker hardly ran.
pub fn enough() -> u64 {
    if given().is_some_and(|seconds| seconds >= LONG) { 10_001 } else { 100 }
}

fn given() -> Option<f64> {
    std::env::var("GUARD_RACE_SECONDS").ok()?.parse().ok()
}

/// A policy under which calls continue in the kernel where the floor covers them.
pub const POLICY: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
    "network": {"connect": {"deny": ["127.0.0.2"]}},
    "permissions": {"filesystem": {"rules": {SYSTEM,
        "@": "r--", "@/work/**": "rw-", "@/work/sock": "rw-", "@/only/**": "r--", "@/okay/**": "r-x", "@/hide/**": "r--"},
        "default": "---"}}}"#;

/// A policy whose floor lets the forbidden program start: only the check after the exec stops it.
pub const ROOTS: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off", "roots": ["/usr", "/lib", "/lib64", "@"]},
    "permissions": {"filesystem": {"rules": {SYSTEM,
        "@": "r--", "@/work/**": "rw-", "@/only/**": "r--", "@/okay/**": "r-x", "@/hide/**": "r--"},
        "default": "---"}}}"#;

/// A policy that withholds a program by name, and lets the tree run what it makes.
pub const COPIED: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
    "permissions": {"filesystem": {"rules": {SYSTEM,
        "@/work/**": "rwx", "@/only/**": "r--", "@/okay/**": "r-x", "@/hide/prog": "r--", "@/hide/**": "r-x"},
        "default": "---"}}}"#;

/// A policy under which opening to read is not held at all.
pub const PLAIN: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
    "permissions": {"base": false, "filesystem": {"rules": {"/usr/**": "r-x", "/etc/**": "r--", "/dev/null": "rw-",
        "@/work/**": "rw-", "@/only/**": "r--", "@/okay/**": "r-x", "@/hide/**": "r--"},
        "default": "---"}}}"#;

/// Returns an arena with the attacker and its programs.
pub fn arena() -> Arena {
    arena_under(POLICY)
}

/// Returns such an arena under another policy.
pub fn arena_under(policy: &str) -> Arena {
    let arena = Arena::under(policy, "TOPSECRET");
    arena.world.write("okay/script", format!("#!{}/work/prog\n", arena.root().display()));
    arena.build("flip", "okay/flip", &["-pthread"]);
    arena.build("show", "okay/show", &[]);
    fs::copy("/bin/true", arena.root().join("okay/prog")).expect("a copy");
    let script = arena.root().join("okay/script");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("a mode");
    arena
}

/// Builds `okay/loaded`, whose loader is `work/prog`.
pub fn build_loaded(arena: &Arena) {
    let loader = format!("-Wl,--dynamic-linker={}/work/prog", arena.root().display());
    arena.build("show", "okay/loaded", &[&loader]);
}

/// Runs the attacker. Returns its attempts and leaks.
fn attack(arena: &Arena, mut guard: Command, mode: &str, effort: Effort, flipper: &str) -> (u64, u64) {
    let root = arena.root();
    if mode == "loader" {
        build_loaded(arena);
    }
    let attacker = root.join("okay/flip");
    guard.current_dir(&root).args(["-q", "--"]).arg(&attacker);
    guard.arg(mode).args(effort.arguments(&root, flipper));
    let Ended { stdout, stderr, status } = ended(&mut guard);
    let words: Vec<&str> = stdout.split_whitespace().collect();
    let ["attempts", attempts, "leaks", leaks] = words[..] else {
        panic!("{mode}: status {status}, {stdout:?}, {stderr}");
    };
    (attempts.parse().expect("a number"), leaks.parse().expect("a number"))
}

/// Attacks under the guard until there were enough attempts: on a busy machine an attacker gets little time.
fn attack_enough(arena: &Arena, mode: &str, effort: Effort, flipper: &str) -> (u64, u64) {
    let (mut attempts, mut leaks) = (0, 0);
    for _ in 0..ROUNDS {
        let more = attack(arena, arena.world.command(), mode, effort, flipper);
        attempts += more.0;
        leaks += more.1;
        if attempts >= enough() || leaks > 0 {
            return (attempts, leaks);
        }
    }
    panic!("{mode}: only {attempts} attempts");
}

/// Runs the attacker under the guard, a second at a time, until a program is killed for this reason.
pub fn until_killed(arena: &Arena, mode: &str, flipper: &str, why: &str) {
    let is_so =
        |line: &serde_json::Value| line["because"]["text"].as_str().is_some_and(|text| text.contains(why));
    for round in 0..ROUNDS {
        attack(arena, arena.world.command(), mode, Effort::of_round(round), flipper);
        if arena.world.audit().iter().any(is_so) {
            return;
        }
    }
    panic!("no program was killed: {}", arena.world.audit().len());
}

/// Runs one attacker under the guard and without its layers, each time in a fresh arena that `prepare` has
/// prepared. `won` detects effects other than leaks and changed files.
pub fn race_prepared(
    mode: &str,
    flipper: &str,
    prepare: impl Fn(&Arena),
    won: impl Fn(&Arena) -> Option<String>,
) {
    contest(POLICY, "broker,verify,floor", mode, flipper, prepare, won);
}

/// Races for programs that the floor lets start: they run if only the check after the exec is off.
pub fn race_below_the_roots(mode: &str, flipper: &str) {
    contest(ROOTS, "verify", mode, flipper, |_| (), |_| None);
}

/// Races for a file that comes to hold a withheld program after it was judged. In time, that happens.
pub fn race_of_copies(mode: &str) {
    contest(COPIED, "verify", mode, "process", |_| (), |_| None);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let arena = arena_under(COPIED);
    until_killed(&arena, mode, "process", "the program's content changed");
}

fn contest(
    policy: &str,
    off: &str,
    mode: &str,
    flipper: &str,
    prepare: impl Fn(&Arena),
    won: impl Fn(&Arena) -> Option<String>,
) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let arena = arena_under(policy);
    prepare(&arena);
    let before = arena.state();
    let (attempts, leaks) = attack_enough(&arena, mode, Effort::of_mode(mode), flipper);
    assert_eq!(leaks, 0, "{mode}: read what it may not");
    assert_eq!(before, arena.state(), "{mode}: changed what it may not, or ran what it may not");
    if let Some(effect) = won(&arena) {
        panic!("{mode}: {effect}");
    }
    if layers_off().is_some() {
        return;
    }
    let round = wins(
        policy,
        mode,
        flipper,
        off,
        |arena| {
            prepare(arena);
            arena.world.command_of(&without_layers())
        },
        won,
    );
    println!("{mode} ({flipper}): {attempts} attempts held; wins in round {round} without {off}");
}

/// Returns the round in which the attacker wins while these layers are off.
fn wins(
    policy: &str,
    mode: &str,
    flipper: &str,
    off: &str,
    guard: impl Fn(&Arena) -> Command,
    won: impl Fn(&Arena) -> Option<String>,
) -> usize {
    for round in 0..ROUNDS {
        let arena = arena_under(policy);
        let mut command = guard(&arena);
        let before = arena.state();
        command.env("GUARD_TEST_LAYERS_OFF", off);
        let (_, leaks) = attack(&arena, command, mode, Effort::of_round(round), flipper);
        if leaks > 0 || before != arena.state() || won(&arena).is_some() {
            return round;
        }
    }
    panic!("{mode}: does not win without {off} either, so it shows nothing");
}

/// Races over the floor alone: nothing leaks where calls continue in the kernel or are not held, and the same
/// guard without Landlock loses.
pub fn race_over_the_floor(mode: &str, flipper: &str) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut held = Vec::new();
    // With persistence the kernel is left no writes.
    let written =
        |policy: &str| policy.replacen("\"permissions\": {", "\"permissions\": {\"persistence\": false, ", 1);
    for (policy, tiers) in [(POLICY, "broker,floored"), (PLAIN, "broker,floored,kernel")] {
        let mut arena = arena_under(&written(policy));
        arena.world.set_tiers(tiers);
        let before = arena.state();
        let (attempts, leaks) = attack_enough(&arena, mode, Effort::half(), flipper);
        assert_eq!(leaks, 0, "{mode}, {tiers}: read what it may not");
        assert_eq!(before, arena.state(), "{mode}, {tiers}: changed what it may not");
        held.push(attempts);
    }
    if layers_off().is_some() {
        return;
    }
    if lacks_floor() {
        return;
    }
    let round = wins(
        &written(POLICY),
        mode,
        flipper,
        "domain",
        |arena| arena.world.command_of(&without_layers()),
        |_| None,
    );
    println!("{mode} ({flipper}): {held:?} attempts held; wins in round {round} without Landlock");
}

/// Races an attacker whose effect is a leak or a changed file.
pub fn race(mode: &str, flipper: &str) {
    race_prepared(mode, flipper, |_| (), |_| None);
}
