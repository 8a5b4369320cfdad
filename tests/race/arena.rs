//! Where attackers and guard meet.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use guard_tests::{Ended, World, ended, sources, without_layers};

/// The machine has two cores: an attacker needs both.
pub static ALONE: Mutex<()> = Mutex::new(());

/// Attempts below this say that the attacker hardly ran.
pub const ENOUGH: u64 = 100;
/// How often an attacker may try for a second each against the build without layers.
const ROUNDS: usize = 30;

fn seconds() -> f64 {
    let given = std::env::var("GUARD_RACE_SECONDS").unwrap_or_default();
    given.parse().unwrap_or(2.0)
}

/// A fresh world with the attacker and its programs built in it.
pub struct Arena {
    pub world: World,
}

/// A policy under which calls go on in the kernel where the floor covers them.
pub const POLICY: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
    "permissions": {"filesystem": {"rules": {SYSTEM,
        "@": "r--", "@/work/**": "rw-", "@/work/sock": "rw-", "@/only/**": "r--", "@/okay/**": "r-x", "@/hide/**": "r--"},
        "default": "---"}}}"#;

/// One under which reading is not held at all.
pub const PLAIN: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
    "permissions": {"base": false, "filesystem": {"rules": {"/usr/**": "r-x", "/etc/**": "r--", "/dev/null": "rw-",
        "@/work/**": "rw-", "@/only/**": "r--", "@/okay/**": "r-x", "@/hide/**": "r--"},
        "default": "---"}}}"#;

impl Arena {
    pub fn new() -> Arena {
        Arena::under(POLICY)
    }

    pub fn under(policy: &str) -> Arena {
        let world = World::bare().policy(policy);
        for (name, text) in
            [("work/file", "harmless"), ("shut/file", "TOPSECRET"), ("shut/gone", "x"), ("only/file", "kept")]
        {
            world.write(name, text);
        }
        fs::create_dir(world.root().join("shut/dir")).expect("a directory");
        world.write("okay/script", format!("#!{}/work/prog\n", world.root().display()));
        let arena = Arena { world };
        arena.build("flip", "okay/flip", &["-pthread"]);
        arena.build("show", "okay/show", &[]);
        arena.build("marker", "hide/prog", &["-nostdlib", "-static-pie", "-fPIE"]);
        let loader = format!("-Wl,--dynamic-linker={}/work/prog", arena.root().display());
        arena.build("show", "okay/loaded", &[&loader]);
        fs::copy("/bin/true", arena.root().join("okay/prog")).expect("a copy");
        let script = arena.root().join("okay/script");
        fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("a mode");
        arena
    }

    pub fn root(&self) -> PathBuf {
        self.world.root()
    }

    fn build(&self, source: &str, target: &str, flags: &[&str]) {
        let target = self.root().join(target);
        fs::create_dir_all(target.parent().expect("a directory")).expect("directories");
        let program = built(source, flags);
        fs::write(&target, &*program).expect("a program");
        fs::set_permissions(target, fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    /// Runs the attacker; returns its attempts and leaks.
    fn attack(&self, mut guard: Command, mode: &str, seconds: f64, flipper: &str) -> (u64, u64) {
        let root = self.root();
        let attacker = root.join("okay/flip");
        guard.current_dir(&root).args(["-q", "--"]).arg(&attacker);
        guard.args([mode, &seconds.to_string()]).arg(&root).args([flipper, "/lib64/ld-linux-x86-64.so.2"]);
        let Ended { stdout, stderr, status } = ended(&mut guard);
        let words: Vec<&str> = stdout.split_whitespace().collect();
        let ["attempts", attempts, "leaks", leaks] = words[..] else {
            panic!("{mode}: status {status}, {stdout:?}, {stderr}");
        };
        (attempts.parse().expect("a number"), leaks.parse().expect("a number"))
    }

    /// Runs the attacker under the guard.
    pub fn run(&self, mode: &str, seconds: f64, flipper: &str) -> (u64, u64) {
        self.attack(self.world.command(), mode, seconds, flipper)
    }

    /// Everything below the closed directories, and whether a mark was left.
    fn state(&self) -> BTreeMap<PathBuf, (u32, i64, Option<String>)> {
        let mut state = BTreeMap::new();
        for name in ["shut", "only", "hide"] {
            collect(&self.root().join(name), &mut state);
        }
        let mark = self.root().join("work/escaped");
        if mark.exists() {
            state.insert(mark, (0, 0, None));
        }
        state
    }
}

/// An attacker's program; each is compiled once.
fn built(source: &str, flags: &[&str]) -> Arc<Vec<u8>> {
    static BUILT: Mutex<BTreeMap<String, Arc<Vec<u8>>>> = Mutex::new(BTreeMap::new());
    let mut all = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let program = all.entry(format!("{source} {flags:?}")).or_insert_with(|| {
        let place = World::bare();
        let source = sources().join("attackers").join(source).with_extension("c");
        let target = place.root().join("program");
        let built =
            ended(Command::new("cc").args(["-O2", "-w"]).args(flags).arg(source).arg("-o").arg(&target));
        assert_eq!(built.status, 0, "{}", built.stderr);
        Arc::new(fs::read(target).expect("a program"))
    });
    Arc::clone(program)
}

fn collect(directory: &Path, state: &mut BTreeMap<PathBuf, (u32, i64, Option<String>)>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        let meta = fs::symlink_metadata(&path).expect("an entry");
        let text = if meta.is_file() { fs::read_to_string(&path).ok() } else { None };
        state.insert(path, (meta.mode(), meta.mtime(), text));
    }
}

/// Runs one attacker under the guard and without its layers, each time in a fresh arena that `prepare` has seen. `won`
/// sees other effects than leaks and changed files.
pub fn race_prepared(
    mode: &str,
    flipper: &str,
    prepare: impl Fn(&Arena),
    won: impl Fn(&Arena) -> Option<String>,
) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let arena = Arena::new();
    prepare(&arena);
    let before = arena.state();
    let (attempts, leaks) = arena.attack(arena.world.command(), mode, seconds(), flipper);
    assert_eq!(leaks, 0, "{mode}: read what it may not");
    assert_eq!(before, arena.state(), "{mode}: changed what it may not, or ran what it may not");
    if let Some(effect) = won(&arena) {
        panic!("{mode}: {effect}");
    }
    assert!(attempts >= ENOUGH, "{mode}: only {attempts} attempts");

    let round = wins(
        mode,
        flipper,
        "broker,verify,floor",
        |arena| {
            prepare(arena);
            arena.world.command_of(&without_layers())
        },
        won,
    );
    println!("{mode} ({flipper}): {attempts} attempts held; wins in round {round} without the layers");
}

/// In which round the attacker wins while these layers are off.
fn wins(
    mode: &str,
    flipper: &str,
    off: &str,
    guard: impl Fn(&Arena) -> Command,
    won: impl Fn(&Arena) -> Option<String>,
) -> usize {
    for round in 1..=ROUNDS {
        let arena = Arena::new();
        let mut command = guard(&arena);
        let before = arena.state();
        command.env("GUARD_TEST_LAYERS_OFF", off);
        let (_, leaks) = arena.attack(command, mode, 1.0, flipper);
        if leaks > 0 || before != arena.state() || won(&arena).is_some() {
            return round;
        }
    }
    panic!("{mode}: does not win without {off} either, so it shows nothing");
}

/// The same over the floor alone: where calls go on in the kernel and where they are not held nothing comes of it, and
/// without Landlock the very same guard loses.
pub fn race_over_the_floor(mode: &str, flipper: &str) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut held = Vec::new();
    for (policy, tiers) in [(POLICY, "broker,floored"), (PLAIN, "broker,floored,kernel")] {
        let mut arena = Arena::under(policy);
        arena.world.set_tiers(tiers);
        let before = arena.state();
        let (attempts, leaks) = arena.attack(arena.world.command(), mode, seconds() / 2.0, flipper);
        assert_eq!(leaks, 0, "{mode}, {tiers}: read what it may not");
        assert_eq!(before, arena.state(), "{mode}, {tiers}: changed what it may not");
        assert!(attempts >= ENOUGH, "{mode}, {tiers}: only {attempts} attempts");
        held.push(attempts);
    }
    let round = wins(mode, flipper, "domain", |arena| arena.world.command_of(&without_layers()), |_| None);
    println!("{mode} ({flipper}): {held:?} attempts held; wins in round {round} without Landlock");
}

/// The same for attackers whose effect is a leak or a changed file.
pub fn race(mode: &str, flipper: &str) {
    race_prepared(mode, flipper, |_| (), |_| None);
}
