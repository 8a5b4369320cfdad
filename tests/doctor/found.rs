//! The findings of `doctor --json`.

use std::process::Command;

use guard_tests::{Ended, World, ended, number, program_text};
use serde_json::Value;

/// All findings, with the exit status and the raw result.
#[derive(Debug)]
pub struct Found {
    pub status: i32,
    pub all: Vec<Value>,
    pub raw: Ended,
}

impl Found {
    /// Runs doctor in a world.
    pub fn of(world: &World) -> Found {
        Found::with(world, |_| {})
    }

    /// Runs doctor with a command that `change` adjusts before it starts.
    pub fn with(world: &World, change: impl FnOnce(&mut Command)) -> Found {
        let mut command = world.command();
        command.args(["doctor", "--json"]);
        change(&mut command);
        Found::read(ended(&mut command))
    }

    /// Runs doctor under a seccomp filter that answers some calls with an errno, as a container's does.
    pub fn behind(world: &World, rules: &[Rule]) -> Found {
        Found::behind_command(world.command(), rules)
    }

    /// Runs doctor under such a filter, for a guard with options.
    pub fn behind_command(guard: Command, rules: &[Rule]) -> Found {
        let mut command = behind(guard, rules);
        Found::read(ended(command.args(["doctor", "--json"])))
    }

    pub fn read(raw: Ended) -> Found {
        let all = serde_json::from_str(&raw.stdout);
        let all = all.unwrap_or_else(|error| panic!("{error}: {raw:?}"));
        Found { status: raw.status, all, raw }
    }

    /// Returns all findings of a name.
    pub fn named(&self, name: &str) -> Vec<&Value> {
        self.all.iter().filter(|one| one["name"] == name).collect()
    }

    /// Returns whether a finding of this name is in this state and contains this text.
    pub fn is(&self, state: &str, name: &str, text: &str) -> bool {
        let is_it = |one: &&Value| {
            one["state"] == state && one["text"].as_str().is_some_and(|found| found.contains(text))
        };
        self.named(name).iter().any(is_it)
    }

    /// Asserts that there is such a finding, and that its fix contains `fix`.
    #[track_caller]
    pub fn must(&self, state: &str, name: &str, text: &str, fix: &str) -> &Found {
        let says = |one: &&Value, key: &str, part: &str| {
            part.is_empty() || one[key].as_str().is_some_and(|found| found.contains(part))
        };
        let is_it = |one: &&&Value| one["state"] == state && says(one, "text", text) && says(one, "fix", fix);
        assert!(
            self.named(name).iter().any(|one| is_it(&one)),
            "{state} {name} {text:?} {fix:?} is not in {:#?}",
            self.named(name)
        );
        assert!(state != "problem" || self.status == 1, "a problem is status 1");
        self
    }
}

/// A call that is refused: its number, an argument that has these bits, and the errno.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    pub number: i64,
    pub argument: Option<(usize, u32)>,
    pub errno: i32,
}

/// Refuses every call of this number.
pub fn refused(number: i64, errno: i32) -> Rule {
    Rule { number, argument: None, errno }
}

/// Returns the guard's command under a filter; without rules, under one that has a listener.
pub fn behind(guard: Command, rules: &[Rule]) -> Command {
    const SCRIPT: &str = concat!(
        r#"
import ctypes, json, os, struct, sys
rules = json.loads(sys.argv[1])
step = lambda code, jt, jf, k: struct.pack("HBBI", code, jt, jf, k)
code = b""
for number, at, bits, errno in rules:
    answer = step(6, 0, 0, 0x50000 | errno)
    test = b"" if at is None else step(32, 0, 0, 16 + 8 * at) + step(84, 0, 0, bits) + step(21, 0, 1, bits)
    code += step(32, 0, 0, 0) + step(21, 0, len(test + answer) // 8, number) + test + answer
code += step(6, 0, 0, 0x7fff0000)
text = ctypes.create_string_buffer(code, len(code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(text)), 16)
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
listener = libc.syscall("#,
        number!(seccomp),
        r#", 1, 0 if rules else 8, program)
assert listener >= 0, os.strerror(ctypes.get_errno())
if not rules: os.set_inheritable(listener, True)
os.execv(sys.argv[2], sys.argv[2:])
"#
    );
    let rules: Vec<_> = rules
        .iter()
        .map(|rule| {
            let (at, bits) = rule.argument.unzip();
            serde_json::json!([rule.number, at, bits, rule.errno])
        })
        .collect();
    let rules = serde_json::to_string(&rules).expect("numbers");
    guard_tests::behind(&[&program_text("python3"), "-c", SCRIPT, &rules], &guard)
}

/// Returns a world that allows everything, with `rest` at the end of its policy.
pub fn open(rest: &str) -> World {
    World::bare().policy(&format!(
        r#"{{"version": 1, "exec": {{"security": "full", "ask": "off"}},
            "permissions": {{"persistence": false, "filesystem": {{"rules": {{"/**": "rwx"}}}}}}{rest}}}"#
    ))
}
