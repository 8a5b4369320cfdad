//! One attack: a program that tries to reach what the policy closes. It runs natively, where it must succeed,
//! and under the guard.
//!
//! The program finds an [`Arena`] around it, as `$R`: it may write `work/`, its current directory, and read
//! `$O` (`only/file`); it may not touch `$S` (`shut/file`), and may read but not run `$P` (`hide/prog`). The
//! verdict does not rest on what the program reports but on what is there afterwards: the secret in its
//! output or in a file, a change below the closed directories and the home, the mark that `$P` leaves. A
//! server or process outside of the tree writes below `shut/` when the attack reached it.

use std::any::Any;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use guard_tests::{Arena, Ended, behind, ended, has, layers_off, program_text};

use super::native;

/// What is set up outside of the tree for an attack; dropping it takes it down.
pub type Outside = Box<dyn Any>;

/// The policy of most attacks: the system's programs may run, nothing of the arena outside of `tools/` may.
pub const POLICY: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
    "permissions": {"filesystem": {"rules": {SYSTEM,
        "@": "r--", "@/work/**": "rw-", "@/only/**": "r--", "@/tools/**": "r-x", "@/hide/**": "r--"},
        "default": "---"}}}"#;

/// Like [`POLICY`], but what is built in `work/` may run.
pub const BUILDING: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
    "permissions": {"filesystem": {"rules": {SYSTEM,
        "@": "r--", "@/work/**": "rwx", "@/only/**": "r--", "@/tools/**": "r-x", "@/hide/**": "r--", "@/hide/prog": "r--"},
        "default": "---"}}}"#;

/// The beginning of every Python attack.
const PRELUDE: &str = "
import ctypes, os, struct, sys
R, S, O, P = (os.environ[name] for name in 'RSOP')
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *args):
    'A system call by its number on x86_64; bytes are pointers, integers longs.'
    number, args = native(number, args)
    args = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    result = libc.syscall(ctypes.c_long(number), *args)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def tell(data):
    os.write(1, data)
def parent(process):
    return int(open('/proc/%d/stat' % process).read().rsplit(') ', 1)[1].split()[1])
def guards():
    'The processes of the guard above this one. Natively there are none: nothing is done to others.'
    process = os.getppid()
    while process > 1:
        if open('/proc/%d/comm' % process).read().strip() in ('openclaw-guard', 'guard', 'guard-layers'): yield process
        process = parent(process)
MAIN = os.getpid()
def linger():
    'Until the parent is gone.'
    import time
    while os.getppid() == MAIN: time.sleep(.01)
def array(*items):
    return (ctypes.c_char_p * (len(items) + 1))(*items, None)
";

/// The beginning of bash attacks: `sleeps` waits until a child has become sleep(1).
const SHELL: &str =
    "sleeps() { for i in {1..3000}; do [[ $(< /proc/$1/comm) != sleep ]] || return 0; sleep .02; done; }; ";

enum Program {
    Sh(&'static str),
    Python(&'static str),
    C { source: &'static str, mode: &'static str },
}

/// Whether an attack works without the guard.
enum Natively {
    Succeeds,
    /// The kernel itself refuses it here, for this reason.
    Fails(&'static str),
    /// It succeeds where this function returns true.
    If(fn() -> bool),
    /// It does not run natively.
    NotTried,
}

/// Where an attack runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Guarded,
    Native,
}

impl Side {
    fn start(self, arena: &Arena) -> Command {
        let mut command = match self {
            Side::Guarded => arena.world.command(),
            Side::Native => return arena.world.native_command(),
        };
        command.arg("--");
        command
    }
}

/// An attack and what it needs around it.
pub struct Attack {
    program: Program,
    policy: &'static str,
    prepare: Vec<fn(&Arena) -> Outside>,
    natively: Natively,
    needs: &'static [&'static str],
    through: Option<&'static str>,
}

/// An attack by bash.
pub fn sh(text: &'static str) -> Attack {
    Attack::by(Program::Sh(text))
}

/// An attack by Python, after the prelude above.
pub fn python(text: &'static str) -> Attack {
    Attack::by(Program::Python(text))
}

/// An attack by `tests/attackers/SOURCE.c`, which gets the mode as its argument.
pub fn c(source: &'static str, mode: &'static str) -> Attack {
    Attack::by(Program::C { source, mode })
}

impl Attack {
    fn by(program: Program) -> Attack {
        Attack {
            program,
            policy: POLICY,
            prepare: Vec::new(),
            natively: Natively::Succeeds,
            needs: &[],
            through: None,
        }
    }

    /// Sets the policy, in the form that [`guard_tests::World::policy`] takes.
    pub fn under(mut self, policy: &'static str) -> Attack {
        self.policy = policy;
        self
    }

    /// Adds a preparation: it changes the arena or starts something outside of the tree.
    pub fn with(mut self, prepare: fn(&Arena) -> Outside) -> Attack {
        self.prepare.push(prepare);
        self
    }

    /// Marks an attack that fails without the guard too, because the kernel refuses it here. It still runs
    /// natively: another kernel might allow it.
    pub fn natively_refused(mut self, why: &'static str) -> Attack {
        self.natively = Natively::Fails(why);
        self
    }

    /// Runs the attack only under the whole guard: neither natively nor with a layer off.
    pub fn only_guarded(mut self, _why: &'static str) -> Attack {
        self.natively = Natively::NotTried;
        self
    }

    /// Marks an attack that succeeds natively only where the machine has a certain feature.
    pub fn natively_if(mut self, is_there: fn() -> bool) -> Attack {
        self.natively = Natively::If(is_there);
        self
    }

    /// Starts the guard from a line of bash that hands something down: open descriptors, variables or a
    /// directory. The line ends with `"$@"`, which is the guard.
    pub fn through(mut self, line: &'static str) -> Attack {
        self.through = Some(line);
        self
    }

    /// Skips the attack where one of these programs is missing.
    pub fn needs(mut self, programs: &'static [&'static str]) -> Attack {
        self.needs = programs;
        self
    }

    fn command(&self, arena: &Arena, mut command: Command) -> Command {
        let root = arena.root();
        for (name, path) in [("R", ""), ("S", "shut/file"), ("O", "only/file"), ("P", "hide/prog")] {
            command.env(name, root.join(path));
        }
        match self.program {
            Program::Sh(text) if text.contains("sleeps ") => {
                command.args([&*program_text("bash"), "-c", &format!("{SHELL}{}", native::loader(text))])
            }
            Program::Sh(text) => command.args([&*program_text("bash"), "-c", &*native::loader(text)]),
            Program::Python(text) => {
                let text = format!("{}{PRELUDE}{}", native::numbers(), native::loader(text));
                command.args([&*program_text("python3"), "-I", "-B", "-c", &text])
            }
            Program::C { mode, .. } => {
                let number = mode.parse().ok().and_then(native::number).map(|number| number.to_string());
                command.arg(root.join("tools/attack")).arg(number.as_deref().unwrap_or(mode))
            }
        };
        match self.through {
            Some(line) => handed_down(line, &command),
            None => command,
        }
    }

    /// Runs the attack in a fresh arena. Returns its effect, if any, and how it ended.
    fn run(&self, side: Side) -> (Option<String>, Ended) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let secret = format!("TOPSECRET-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let arena = Arena::under(self.policy, &secret);
        if let Program::C { source, .. } = self.program {
            arena.build(source, "tools/attack", &["-pthread"]);
        }
        let outside: Vec<Outside> = self.prepare.iter().map(|prepare| prepare(&arena)).collect();
        let before = arena.state();
        let ended = ended(&mut self.command(&arena, side.start(&arena)));
        if side == Side::Guarded && layers_off().is_none() {
            // An attack that the guard does not even start would prove nothing.
            let is_start =
                |line: &serde_json::Value| line["operation"] == "exec" && line["verdict"] == "allow";
            assert!(arena.world.audit().iter().any(is_start), "never started: {}", ended.stderr);
        }
        // What is outside leaves its mark before the drop returns.
        drop(outside);
        let after = arena.state();
        let has = |text: &[u8]| text.windows(secret.len()).any(|window| window == secret.as_bytes());
        let effect = if has(ended.stdout.as_bytes()) || has(ended.stderr.as_bytes()) {
            Some("read what it may not".to_owned())
        } else if let Some(path) = find(&arena.root().join("work"), &has) {
            Some(format!("copied what it may not read to {path}"))
        } else if before != after {
            let differs = |(path, entry): &(&std::path::PathBuf, _)| before.get(*path) != Some(*entry);
            let changed = after.iter().find(differs).map(|(path, _)| path);
            let gone = before.keys().find(|path| !after.contains_key(*path));
            Some(format!("changed or ran what it may not: {:?}", changed.or(gone)))
        } else {
            None
        };
        (effect, ended)
    }
}

/// Wraps a command in a line of bash.
fn handed_down(line: &str, command: &Command) -> Command {
    let mut shell = behind(&[&program_text("bash"), "-c", line, "bash"], command);
    shell.stdin(Stdio::null());
    shell
}

/// Finds the first file below a directory whose content or path satisfies `is_it`.
fn find(directory: &Path, is_it: &impl Fn(&[u8]) -> bool) -> Option<String> {
    for entry in fs::read_dir(directory).ok()?.flatten() {
        let path = entry.path();
        let kind = entry.file_type().ok()?;
        let found = if kind.is_dir() {
            find(&path, is_it)
        } else {
            let has = kind.is_file() && fs::read(&path).is_ok_and(|text| is_it(&text));
            (has || is_it(path.as_os_str().as_bytes())).then(|| path.display().to_string())
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Runs the attack under the guard and, to show that it works, natively. Returns how the guarded run ended,
/// or None if it cannot run here.
///
/// # Panics
/// When the attack succeeds under the guard, or fails natively for no known reason: such a test proves
/// nothing.
pub fn attempt(attack: &Attack) -> Option<Ended> {
    let needs_whole_guard = matches!(attack.natively, Natively::NotTried);
    if !has(attack.needs) || needs_whole_guard && layers_off().is_some() {
        return None;
    }
    let (effect, guarded) = attack.run(Side::Guarded);
    let output = format!("stdout: {}\nstderr: {}", guarded.stdout, guarded.stderr);
    assert_eq!(effect, None, "it got through\n{output}");
    if layers_off().is_some() || needs_whole_guard {
        return Some(guarded);
    }
    let (effect, native) = attack.run(Side::Native);
    let refused = match attack.natively {
        Natively::Succeeds | Natively::NotTried => None,
        Natively::Fails(why) => Some(why),
        Natively::If(is_there) => (!is_there()).then_some("the machine lacks what it needs"),
    };
    match (effect, refused) {
        (Some(_), None) | (None, Some(_)) => {}
        (None, None) => {
            panic!("does not succeed without the guard either: {}\n{}", native.stdout, native.stderr)
        }
        (Some(effect), Some(why)) => panic!("succeeds without the guard, {effect}; but: {why}"),
    }
    Some(guarded)
}

/// Defines a test for each attack.
macro_rules! attacks {
    ($($(#[$doc:meta])* $name:ident => $attack:expr;)*) => {
        $($(#[$doc])* #[test] fn $name() { let _ = $crate::attempt::attempt(&$attack); })*
    };
}
pub(crate) use attacks;
